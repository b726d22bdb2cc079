"""Whether Winograd's algorithm pays for a convolution on a CPU, and with which tiles: a cost model."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod

from ..choices import ordered
from ..costs import CpuCosts
from ..dtypes import F32
from ..target import GENERIC
from .match_convolution import Convolution
from .tensor import Tensor
from .use_winograd import Choice
from .winograd_matrices import TILES, OutputTile

LANES = GENERIC.lanes
"""Channels are counted in vectors of the narrowest target, so that all targets take the same tiles and weights."""


def choose_tile(costs: CpuCosts) -> Choice:
    """For each convolution the tiles of F(m x k, 3 x 3), by cost; None first if the direct convolution is as good."""

    def choose(t: Tensor, conv: Convolution, _alike: int) -> Sequence[OutputTile | None]:
        if conv.weights.extents[2:] != (3, 3):
            return [None]
        tiles = sorted(TILES, key=lambda tile: _by_tiles(t, conv, tile, costs))
        gains = _by_tiles(t, conv, tiles[0], costs) < costs.winograd_gain * _direct(t, conv, costs)
        pays = gains and min(conv.weights.extents[:2]) >= 2 * LANES
        return ordered(tiles[0] if pays else None, [None, *tiles])

    return choose


def gain(t: Tensor, conv: Convolution, tile: OutputTile, costs: CpuCosts) -> float:
    """How many times as fast `tile` is as the direct convolution."""
    return _direct(t, conv, costs) / _by_tiles(t, conv, tile, costs)


def _direct(t: Tensor, conv: Convolution, costs: CpuCosts) -> float:
    """In vector operations, as all estimates are."""
    batch, filters, height, width = t.extents
    depth = 9 * conv.x.extents[1]
    return _products(1, batch * height * width, filters, depth, costs)


def _by_tiles(t: Tensor, conv: Convolution, tile: OutputTile, costs: CpuCosts) -> float:
    batch, filters, height, width = t.extents
    channels, window = conv.x.extents[1], (tile[0] + 2, tile[1] + 2)
    matrices, tiles = prod(window), batch * ceil(height / tile[0]) * ceil(width / tile[1])
    transforms = matrices * sum(window) * costs.transform * tiles * (_vectors(channels) + _vectors(filters)) / 2
    return _products(matrices, tiles, filters, channels, costs) + transforms


def _products(count: int, rows: int, columns: int, depth: int, costs: CpuCosts) -> float:
    """The cost of products whose weights are read once: the larger of arithmetic and weight traffic. A register tile
    takes as long as a full one where its rows are too few to hide latencies."""
    tile = costs.product_rows
    work = max(rows, tile // 2 * ceil(rows / tile)) * _vectors(columns) * (depth + costs.product_overhead)
    return count * max(work, depth * columns * F32.bytes / costs.bytes_per_operation)


def _vectors(elements: int) -> int:
    return elements // LANES + elements % LANES
