"""Tensors in textures: the placement of each, and the coordinates of its elements."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ..errors import InternalError
from ..ir.affine import affine, flat_offset
from ..ir.nodes import Buffer, Const, Expr, Kernel, Load, Stmt, Store
from ..ir.rewrite import rewrite
from ..program.device_program import Placement, Subdimension
from ..target import TEXEL, TEXTURE_SIZE

TILE = 8
"""Most neighbouring pixels that one fragment writes (MAX_DRAW_BUFFERS on nearly every device). With 4, models take a
fourth longer; on devices limited to 4 the runtime draws twice, each time half of the outputs."""

SHARED_FETCHES = 14
"""About the texels that a fragment fetches independent of its tile: weights, and the ends of a window's rows."""


def place_flat(elements: int) -> Placement:
    """A flat texture: elements in linear order."""
    texels = max(1, -(-elements // TEXEL))
    rows = -(-texels // TEXTURE_SIZE)
    return Placement(min(texels, TEXTURE_SIZE), min(rows, TEXTURE_SIZE), -(-rows // TEXTURE_SIZE))


def place_image(
    shape: tuple[int, ...], *, drawn: bool = False, partly: bool = False, multiple: int = 1
) -> Placement | None:
    """An image of the two last axes of a physical shape, channels side by side or one below the other; None where it
    does not fit, or has so few channels that texels would be mostly empty. A `drawn` one may be in bands, but not one
    that is drawn `partly`: with its channels below each other, the columns that are live stand together. Tiles are
    multiples of `multiple`."""
    if not shape or shape[-1] < TEXEL - 1 or not prod(shape):
        return None
    *outer, width, channels = (1, *shape) if len(shape) == 1 else shape
    tile = best_tile(width, multiple)
    columns, groups, rows = -(-width // tile), -(-channels // TEXEL), prod(outer)
    tall = Placement(columns, rows * groups, tile, tile, tall=True)
    if partly:
        drawn = False
        if columns <= TEXTURE_SIZE and rows * groups <= TEXTURE_SIZE:
            return tall
    height = best_height(columns, groups) if drawn and rows == 1 else 0
    if height and columns * groups // height <= TEXTURE_SIZE:
        bands = groups // height
        return Placement(columns * bands, height, tile, tile, tall=True, bands=bands)
    if columns * groups <= TEXTURE_SIZE and rows <= TEXTURE_SIZE:
        bands = best_bands(columns * groups, rows) if drawn and max(outer, default=1) == rows else 1
        return Placement(columns * groups * bands, -(-rows // bands), tile, tile, bands=bands)
    if drawn and (bands := least_bands(columns * groups, rows)):
        return Placement(columns * groups * bands, rows // bands, tile, tile, bands=bands)
    if columns <= TEXTURE_SIZE and rows * groups <= TEXTURE_SIZE:
        return tall
    if drawn and rows == 1 and (height := least_height(columns, groups)):
        bands = -(-groups // height)
        return Placement(columns * bands, height, tile, tile, tall=True, bands=bands)
    return None


def best_bands(width: int, rows: int) -> int:
    """The number of bands, side by side, of a small image's rows: software rasterisers assign squares of 64 texels to
    their threads, and shade squares of four. For GPUs it makes no difference."""
    if width * rows < 4 * 64:
        return 1
    fitting = [b for b in range(1, rows // 2 + 1) if -(-rows // b) >= 4 and -(-rows // b) * b <= rows * 1.15]
    return next((b for b in fitting if width * b >= 128), fitting[-1] if fitting else 1)


def least_bands(width: int, rows: int) -> int:
    """The fewest bands of equal height in which an image that is too high fits, 0 for none."""
    return next((b for b in range(2, TEXTURE_SIZE // width + 1) if rows % b == 0 and rows // b <= TEXTURE_SIZE), 0)


def best_height(columns: int, groups: int) -> int:
    """The number of channel groups, one below the other, of an image of one row, 0 for none: GPUs shade squares of two
    texels, software rasterisers of four. A power of two, so that readers compute a group by a shift."""
    fitting = [n for n in (64, 32, 16, 8, 4) if groups % n == 0]
    return next((n for n in fitting if columns * groups >= n * 128), fitting[-1] if fitting else 0)


def least_height(columns: int, groups: int) -> int:
    """Likewise, of an image that fits in no bands of equal height, such as a vocabulary's scores: 50,257 channels are
    12,565 groups, and the last band has some that are not used. 0 for none."""
    heights = [1 << n for n in range(6, TEXTURE_SIZE.bit_length())]
    return next((n for n in heights if columns * -(-groups // n) <= TEXTURE_SIZE), 0)


def best_tile(width: int, multiple: int = 1) -> int:
    """The tile with the fewest fetches of a row: large, but with little of the last tile wasted."""
    sizes = [t for t in range(min(TILE, max(width, multiple)), 0, -1) if t % multiple == 0]
    return min(sizes, key=lambda t: -(-width // t) * (t + SHARED_FETCHES))


def pad_to_texture(buffer: Buffer, place: Placement) -> Buffer:
    """The buffer padded to its texture: an image of whole tiles and texels, or a flat texture of whole texels."""
    if not place.tile:
        return replace(buffer, shape=(max(1, -(-buffer.size // TEXEL)) * TEXEL,), layout=None)
    *outer, width, channels = (1, *buffer.shape) if len(buffer.shape) == 1 else buffer.shape
    if place.bands > 1:
        outer = [n if n == 1 or prod(outer) > n else place.height * place.bands for n in outer]
    groups = place.height * place.bands if place.tall and place.bands > 1 else -(-channels // TEXEL)
    shape = (*outer, -(-width // place.tile) * place.tile, groups * TEXEL)
    return replace(buffer, shape=shape[-len(buffer.shape) :], layout=None)


def use_textures(kernel: Kernel, places: dict[Buffer, Placement]) -> Kernel:
    """x[h, w, c]   ->   x[layer, row, column, component], by the placements `places`"""
    textures = {b: replace(b, shape=(p.layers, p.height, p.width, TEXEL), layout=None) for b, p in places.items()}

    def rule(n: object) -> Expr | Stmt | None:
        match n:
            case Load(b, indices, guard) if b in textures:
                return Load(textures[b], coordinates(places[b], b.shape, indices), guard)
            case Store(b, indices, value) if b in textures:
                return Store(textures[b], coordinates(places[b], b.shape, indices), value)
        return None

    body = rewrite(kernel.body, rule)
    return replace(kernel, body=body, params=tuple(textures[p] for p in kernel.params))


def coordinates(place: Placement, shape: tuple[int, ...], indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Layer, row, column and component of an element."""
    if not place.tile:
        (e,) = indices
        layer = e // (TEXTURE_SIZE * TEXTURE_SIZE * TEXEL) if place.layers > 1 else Const(0)
        row = e // (TEXTURE_SIZE * TEXEL) % TEXTURE_SIZE if place.layers > 1 else e // (TEXTURE_SIZE * TEXEL)
        return _canonical(layer, row if place.height > 1 else Const(0), e // TEXEL % TEXTURE_SIZE, e % TEXEL)
    *outer, w, c = (Const(0), *indices) if len(indices) == 1 else indices
    row = flat_offset(shape[:-2], tuple(outer)).to_expr()
    group, column = c // TEXEL, w // place.tile
    columns, groups = -(-shape[-2] // place.tile) if len(shape) > 1 else 1, -(-shape[-1] // TEXEL)
    if place.tall:
        line = row * groups + group
        return _canonical(w % place.tile, line % place.height, line // place.height * columns + column, c % TEXEL)
    if place.bands > 1:
        group = row // place.height * groups + group
        row = row % place.height
    return _canonical(w % place.tile, row, group * columns + column, c % TEXEL)


def texel_order(shape: tuple[int, ...], place: Placement) -> tuple[Subdimension, ...] | None:
    """The order of an image's elements in memory, outermost first: layer, rows, groups of channels, columns, channels;
    the same for a tall image. None for a flat texture.

    For images without bands, or of one dimension of rows.
    """
    if not place.tile:
        return None
    c = len(shape) - 1
    lanes = Subdimension(c, 1, TEXEL)
    groups: tuple[Subdimension, ...] = (Subdimension(c, TEXEL, -(-shape[c] // TEXEL)),)
    if place.bands > 1 and place.tall:
        groups = Subdimension(c, TEXEL, place.height), Subdimension(c, TEXEL * place.height, place.bands)
    if not c:
        return *groups, lanes
    layer, columns = Subdimension(c - 1, 1, place.tile), Subdimension(c - 1, place.tile, -(-shape[c - 1] // place.tile))
    rows = tuple(Subdimension(d, 1, n) for d, n in enumerate(shape[:-2]))
    if place.bands > 1 and not place.tall:
        d, *others = [d for d, n in enumerate(shape[:-2]) if n > 1]
        if others:
            raise InternalError(f"texel_order: {place} has bands, and rows of several dimensions")
        rows = Subdimension(d, 1, place.height), Subdimension(d, place.height, place.bands)
    return layer, *rows, *groups, columns, lanes


def _canonical(*indices: Expr) -> tuple[Expr, ...]:
    return tuple(affine(i).to_expr() for i in indices)
