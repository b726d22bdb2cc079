"""Whether Winograd's algorithm pays for a convolution on a GPU, and with which tiles: a cost model.

The unit is a multiply-add. A kernel takes as long as its arithmetic and loads from caches, or as its memory traffic,
whichever is longer, plus its launch. Windows and products of F(4x4) are 2.25 times the image, its filters 4 times; of
F(2x2) 4 and 1.8 times, of F(4x2) 3 and 2.7. So F(4x4) wins where there are enough pixels; with few of them the filters'
bytes decide (of 512 x 512 channels at 7 x 7 pixels they take longer to read than the direct convolution to compute).

A page waits for every shader before its first result. Convolutions of the same shapes share their shaders, so all of
them together must amortise the time to compile these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, prod

from ..choices import ordered
from ..costs import GpuCosts
from ..dtypes import F32
from ..target import LANES
from .match_convolution import Convolution
from .tensor import Tensor
from .use_winograd import Choice
from .winograd_matrices import TILES, OutputTile

TAPS = 3


def choose_device_tile(costs: GpuCosts, order: tuple[int, ...], fits: Callable[[tuple[int, ...]], bool]) -> Choice:
    """For each convolution the tiles of F(m x k, 3 x 3), by cost; None first where the direct convolution is as good.
    `order` is that of the windows' dimensions; `fits`: whether a device can hold a tensor of a physical shape."""

    def choose(t: Tensor, conv: Convolution, alike: int) -> Sequence[OutputTile | None]:
        channels, filters = conv.x.extents[1], t.extents[1]
        if conv.weights.extents[2:] != (TAPS, TAPS):
            return [None]

        def can_hold(tile: OutputTile) -> bool:
            windows, products = ((*_window(tile), _tiles(t, tile), c) for c in (channels, filters))
            return fits(tuple(windows[d] for d in order)) and fits(products)

        tiles = sorted(filter(can_hold, TILES), key=lambda tile: _by_tiles(t, conv, tile, costs))
        if not tiles or min(channels, filters) < 2 * LANES:
            return [None, *tiles]
        direct, by_tiles = _direct(t, conv, costs), _by_tiles(t, conv, tiles[0], costs)
        saved = alike * costs.amortised_runs * (direct - by_tiles)
        pays = by_tiles < costs.winograd_gain * direct and saved > costs.winograd_shaders * costs.shader
        return ordered(tiles[0] if pays else None, [None, *tiles])

    return choose


def _tiles(t: Tensor, tile: OutputTile) -> int:
    batch, _, height, width = t.extents
    return batch * ceil(height / tile[0]) * ceil(width / tile[1])


def _window(tile: OutputTile) -> tuple[int, int]:
    return tile[0] + TAPS - 1, tile[1] + TAPS - 1


def _direct(t: Tensor, conv: Convolution, costs: GpuCosts) -> float:
    batch, filters, height, width = t.extents
    products = batch * height * width * filters * conv.x.extents[1] * TAPS**2
    return _kernel(products * _loading(width, TAPS, costs), _size(conv.x) + _size(conv.weights) + _size(t), costs)


def _by_tiles(t: Tensor, conv: Convolution, tile: OutputTile, costs: GpuCosts) -> float:
    channels, filters, window = conv.x.extents[1], t.extents[1], _window(tile)
    matrices, tiles = prod(window), _tiles(t, tile)
    windows, products = (matrices * tiles * c for c in (channels, filters))
    total = _kernel(
        windows * filters * _loading(tiles, 1, costs), windows + products + matrices * channels * filters, costs
    )
    for transformed, image in ((windows, conv.x), (products, t)):
        # An operation for each row or column of a window, and a load of four for each row of a tile or window.
        total += _kernel(transformed * sum(window) / 2 * (1 + costs.load / LANES), transformed + _size(image), costs)
    return total


def _loading(positions: int, taps: int, costs: GpuCosts) -> float:
    """The cost of one multiply-add with its share of loads. For `taps` of a row and four input channels, a register
    tile of positions by vectors of filters loads a run of positions and those weights once."""
    rows = min(positions, costs.rows)
    loads = rows + taps - 1 + taps * LANES * costs.vectors
    return 1 + costs.load * loads / (taps * LANES * LANES * rows * costs.vectors)


def _kernel(work: float, elements: int, costs: GpuCosts) -> float:
    return max(work, elements * F32.bytes * costs.byte) + costs.launch


def _size(t: Tensor) -> int:
    return t.buffer.size
