"""The schedule of fragment shaders: which fragment computes which elements of a kernel's result, and in what order.

A result is stored in texels of four elements, and a fragment writes texels at its own coordinates only: one of each
layer of the result's texture. So it computes a tile of neighbouring elements, `tile` along the last axis but one, by
four along the last. Speed follows the number of texels fetched per multiplication (software rasterisers and GPUs alike:
a fetch costs as much as 4 to 16 of them), and a tile shares its fetches: for 8 pixels, a 3x3 convolution fetches 0.06
texels per multiplication, for one pixel 0.31.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from ..choices import DEFAULT, Choices
from ..errors import InternalError
from ..ir.affine import affine, flat_offset
from ..ir.construct import all_of
from ..ir.facts import Facts, range_of_sum
from ..ir.forms import Contraction, Transform
from ..ir.nest import Reduction, match_nest, match_reduction
from ..ir.nodes import Binary, Buffer, Const, Expr, For, If, Kernel, Load, LoopKind, Scope, Seq, Stmt, Store, Var
from ..ir.rewrite import free_vars, rewrite, rewrite_statements, substitute, walk
from ..ir.simplify import simplify_expr, simplify_stmt
from ..target import TEXEL, TEXTURE_SIZE
from .expand_entries import expand_entries
from .invert_store import invert_store, unfold
from .rules.fragment_reduction import schedule_fragment_reduction
from .rules.fragment_transform import schedule_fragment_transform
from .rules.long_sums import block_products, block_sums
from .rules.roles import SUMS, find_roles
from .rules.transform import transform_loops
from .steps import hoist_guards, sink

PART = 2
"""Extent of memory along a dimension, over that of a result, from which on fragments of other elements compute nothing;
below it a condition takes longer."""

Replacements = Mapping[Buffer, tuple[Buffer, int]]
"""For each parameter its replacement, and the tile of its pixels.

An image has its last axis rounded up to texels and the one before to whole tiles; the padding is never used. A tile of
0 means a flat texture: one dimension, rounded up to texels.
"""


@dataclass(frozen=True, slots=True)
class Element:
    """The element of the result that an iteration of `grid` (x first) and of the `tiles` inside a fragment computes:
    its indices in memory, where extents are rounded up, and in the result itself."""

    grid: tuple[Var, ...]
    tiles: tuple[Var, ...]
    stored: tuple[Expr, ...]
    indices: tuple[Expr, ...]


def schedule_fragment(
    kernel: Kernel, replacements: Replacements, bands: int = 1, choices: Choices | None = DEFAULT
) -> Kernel:
    """A naive kernel becomes loops over a grid of fragments, around a tile; parameters are those of `replacements`.

    The rows of an image are computed in `bands` side by side. Without `choices` a fragment computes the texels of its
    tile one after the other, element by element: the simplest schedule, for a device that computes another one wrongly.
    """
    replaced = {old: new for old, (new, _) in replacements.items()}
    tile = replacements[kernel.params[-1]][1]
    if not kernel.params[-1].size or (kernel.body == Seq(()) and not kernel.row):
        return _empty_result(kernel, replaced)
    loops, inner = _peel(kernel.body)
    store = _store(inner, kernel)
    out = replaced[kernel.params[-1]]
    element = _image(out, tile, bands) if tile else _line(store.buffer)
    at = invert_store(store, loops, element.indices, kernel.name)
    live = _live(store, loops, at, element)
    if kernel.row:
        live = [*_in_part(store, loops, at, element), *live]
    inner = _redirect(substitute(inner, at), kernel, replacements, element)
    if choices is None:
        inner = _one_by_one(expand_entries(inner), element.tiles)
    else:
        inner = _transform(kernel, inner, at, element.tiles) or _tiled(expand_entries(inner), element.tiles, choices)
    inner = block_products(inner) if _is_contraction(kernel) else block_sums(inner)
    inner, grid = (_only_live(inner, live), element.grid) if tile else _in_rows(inner, element.grid[0], live)
    for v in grid:
        inner = For(v, inner, LoopKind.BLOCK)
    params = tuple(replaced.get(p, p) for p in kernel.params)
    return replace(kernel, params=params, body=simplify_stmt(inner), forms=())


def _transform(kernel: Kernel, inner: Stmt, at: dict[Var, Expr], tiles: tuple[Var, ...]) -> Stmt | None:
    """`inner`, if it is the body of a linear transform whose texels a fragment can share."""
    if not isinstance(kernel.forms[-1], Transform):
        return None
    loops = transform_loops(match_reduction(kernel.body))
    return None if loops is None else schedule_fragment_transform(match_reduction(inner), loops, at, tiles)


def _tiled(inner: Stmt, tiles: tuple[Var, ...], choices: Choices) -> Stmt:
    nest = match_nest(inner)
    if isinstance(nest, Reduction):
        inner = schedule_fragment_reduction(inner, nest, tiles, choices)
    for v in reversed(tiles):
        inner = For(v, inner)
    for v in tiles:
        inner = sink(inner, v)
    return hoist_guards(_tag(inner, tiles))


def _one_by_one(inner: Stmt, tiles: tuple[Var, ...]) -> Stmt:
    """Texels are unrolled around the loops of a reduction, their elements inside."""
    *pixels, lane = tiles
    inner = sink(For(lane, inner, LoopKind.UNROLL), lane)
    for v in reversed(pixels):
        inner = For(v, inner, LoopKind.UNROLL)
    return hoist_guards(inner)


def _is_contraction(kernel: Kernel) -> bool:
    form, nest = kernel.forms[-1], match_nest(kernel.body)
    if not isinstance(form, Contraction) or form.sum not in SUMS or not isinstance(nest, Reduction):
        return False
    return find_roles(nest) is not None


def _empty_result(kernel: Kernel, replaced: Mapping[Buffer, Buffer]) -> Kernel:
    """For a result without elements one texel is written, the smallest draw."""
    out = replaced[kernel.params[-1]]
    zero = Const(0.0 if out.dtype.is_float else 0, out.dtype)
    lane = Var("lane", TEXEL)
    body = For(lane, Store(out, (lane,), zero), LoopKind.VECTOR)
    return replace(kernel, params=tuple(replaced.get(p, p) for p in kernel.params), body=body, forms=())


def _peel(stmt: Stmt) -> tuple[list[Var], Stmt]:
    loops: list[Var] = []
    while isinstance(stmt, For) and stmt.parallel:
        loops.append(stmt.var)
        stmt = stmt.body
    return loops, stmt


def _store(inner: Stmt, kernel: Kernel) -> Store:
    stores = [n for n in walk(inner) if isinstance(n, Store) and n.buffer.scope is Scope.GLOBAL]
    if len(stores) != 1 or kernel.outputs != 1:
        raise InternalError(f"kernel {kernel.name}: {len(stores)} nests or results; a fragment shader takes one")
    return stores[0]


def _image(out: Buffer, tile: int, bands: int) -> Element:
    """For an image: all axes but the last two are one dimension of the grid. With a single row, bands are of channel
    groups instead."""
    *outer, width, last = (1, *out.shape) if len(out.shape) == 1 else out.shape
    rows, groups = prod(outer), last // TEXEL
    x, y, z = Var("x", width // tile), Var("y", -(-rows // bands)), Var("z", groups if rows > 1 else groups // bands)
    band, pixel, lane = Var("band", bands), Var("pixel", tile), Var("lane", TEXEL)
    row, group = (band * y.extent + y, z) if rows > 1 else (y, band * z.extent + z)
    place = (*unfold(row, tuple(outer)), x * tile + pixel, group * TEXEL + lane)
    indices = place[len(place) - len(out.shape) :]
    return Element((x, y, z, band), (pixel, lane), indices, indices)


def _line(old: Buffer) -> Element:
    """For a flat texture, with one variable of the grid for all texels."""
    texel, lane = Var("texel", max(1, -(-old.size // TEXEL))), Var("lane", TEXEL)
    at = texel * TEXEL + lane
    return Element((texel,), (lane,), (at,), unfold(at, old.shape))


def _in_rows(stmt: Stmt, texel: Var, live: Sequence[Binary]) -> tuple[Stmt, tuple[Var, ...]]:
    """for texel < 3000: S(texel)   ->   for y < 2: for x < 2048: if 2048*y + x < 3000: S(2048*y + x)

    The statement, and the variables of its grid. Layers of a texture beyond the first are unrolled. What must hold of a
    `live` texel joins the condition: a fragment has one, and discards where it is false.
    """
    rows = -(-texel.extent // TEXTURE_SIZE)
    layers = -(-rows // TEXTURE_SIZE)
    x, y, layer = Var("x", min(texel.extent, TEXTURE_SIZE)), Var("y", min(rows, TEXTURE_SIZE)), Var("layer", layers)
    at = (layer * TEXTURE_SIZE + y) * TEXTURE_SIZE + x
    padded = layers * y.extent * x.extent > texel.extent
    stmt = _only_live(stmt, [Binary("<", texel, Const(texel.extent)), *live] if padded else live)
    stmt = substitute(stmt, {texel: at})
    return (For(layer, stmt, LoopKind.UNROLL) if layers > 1 else substitute(stmt, {layer: Const(0)})), (x, y)


def _in_part(store: Store, loops: Sequence[Var], at: Mapping[Var, Expr], element: Element) -> list[Binary]:
    """Conditions that hold for every fragment of which an element is stored, where a kernel stores one row of an axis,
    or some from one on."""
    first: dict[Var, Expr] = {v: Const(0) for v in element.tiles}
    conditions: list[Binary] = []
    for index, here, extent in zip(store.indices, element.indices, store.buffer.shape, strict=True):
        moving = free_vars(index) & set(loops)
        if not moving and extent > 1:
            conditions.append(Binary("==", substitute(here, first), index))
        for v in moving:
            if affine(index) != affine(v):
                place = simplify_expr(substitute(at[v], first))
                conditions.append(Binary("<=", Const(0), place))
                if v.length is None:
                    conditions.append(Binary("<", place, Const(v.extent)))
    return conditions


def _live(store: Store, loops: Sequence[Var], at: Mapping[Var, Expr], element: Element) -> list[Binary]:
    """Conditions that hold for every fragment of which an element is part of the result, in dimensions that are longer
    in memory: a run decides how much there is of them, or this kernel has a part, as one row where others have many."""
    first: dict[Var, Expr] = {v: Const(0) for v in element.tiles}
    conditions: list[Binary] = []
    stride = store.buffer.size
    whole = True
    for extent, index, here in zip(store.buffer.shape, store.indices, element.indices, strict=True):
        stride //= max(extent, 1)
        # A texel of a flat texture may be of several rows: then its first element is not the least in this dimension.
        exact = len(element.tiles) > 1 or whole or (extent * stride) % TEXEL == 0
        whole = whole and extent == 1
        if not exact:
            continue
        moving = [v for v in loops if v in free_vars(index)]
        if not moving and extent > 1:
            conditions.append(Binary("==", simplify_expr(substitute(here, first)), index))
        for v in moving:
            few = index == v and PART * v.extent <= extent
            if v.length is not None or few:
                end = Const(v.extent) if v.length is None else v.length
                conditions.append(Binary("<", simplify_expr(substitute(at[v], first)), end))
    return conditions


def _only_live(stmt: Stmt, live: Sequence[Binary]) -> Stmt:
    return If(all_of(*live), stmt) if live else stmt


def _redirect(inner: Stmt, kernel: Kernel, replacements: Replacements, element: Element) -> Stmt:
    """Accesses go to the parameters' replacements."""
    inner = rewrite(inner, lambda n: _read(n, replacements) if isinstance(n, Load) else None)
    out = kernel.params[-1]
    new = replacements[out][0]

    def rule(n: object) -> Stmt | None:
        return Store(new, element.stored, n.value) if isinstance(n, Store) and n.buffer is out else None

    return simplify_stmt(rewrite_statements(inner, rule))


def _read(x: Load, replacements: Replacements) -> Expr | None:
    """Each index is clamped unless it is proved to be in bounds under the guard of the load, for the elements by which
    the result was rounded up, too: they do not exist, so what is fetched for them is not used."""
    if x.buffer not in replacements:
        return None
    new, tile = replacements[x.buffer]
    facts = Facts({}).assuming(() if x.guard is None else (x.guard,))
    if not tile:
        offset = flat_offset(x.buffer.shape, x.indices)
        interval = range_of_sum(offset)
        if interval is not None and interval[0] >= 0 and interval[1] < new.size:
            return Load(new, (offset.to_expr(),), x.guard)
    indices = list(x.indices)
    for d, (index, extent) in enumerate(zip(x.indices, x.buffer.shape, strict=True)):
        low, high = facts.index(index)
        if low < 0:
            index = Binary("max", index, Const(0))
        if high >= (new.shape[d] if tile else extent):
            index = Binary("min", index, Const(extent - 1))
        indices[d] = index
    return Load(new, tuple(indices) if tile else (flat_offset(x.buffer.shape, tuple(indices)).to_expr(),), x.guard)


def _tag(stmt: Stmt, tiles: tuple[Var, ...]) -> Stmt:
    """Tiles are unrolled, the elements of a texel are a vector."""

    def rule(n: object) -> Stmt | None:
        if isinstance(n, For) and n.var in tiles:
            return replace(n, kind=LoopKind.VECTOR if n.var is tiles[-1] else LoopKind.UNROLL)
        return None

    return rewrite_statements(stmt, rule)
