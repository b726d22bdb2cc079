"""Whether Winograd's algorithm pays for a convolution, and by which tiles: an estimate of what each way costs."""

from __future__ import annotations

from math import ceil

from ..dtypes import F32
from .match_convolution import Convolution
from .tensor import Tensor
from .winograd_matrices import POINTS

LANES = 4
TILE = 6
"""Rows of the register tile that computes products."""
OVERHEAD = 4
"""Steps of the sum that starting and storing a register tile take the time of."""
TRANSFORM = {2: 150, 4: 460}
"""Vector operations on the windows and the results of one tile and one vector of channels, by m."""
BYTES = 5
"""Bytes of weights that arrive, each of them once in a run, while a core does one vector operation."""
GAIN = 0.8
"""What an estimate must be below, relative to the direct convolution's."""


def choose_tile(t: Tensor, conv: Convolution, _alike: int) -> int | None:
    """The tile's edge m of F(m x m, 3 x 3), None where the direct convolution is as good."""
    if conv.weights.shape[2:] != (3, 3) or min(conv.weights.shape[:2]) < 2 * LANES:
        return None
    best = min(POINTS, key=lambda m: _by_tiles(t, conv, m))
    return best if _by_tiles(t, conv, best) < GAIN * _direct(t, conv) else None


def _direct(t: Tensor, conv: Convolution) -> float:
    """In vector operations, as all estimates are."""
    batch, filters, height, width = t.shape
    depth = 9 * conv.x.shape[1]
    return _product(batch * height * width, filters, depth) + depth * filters * F32.bytes / BYTES


def _by_tiles(t: Tensor, conv: Convolution, m: int) -> float:
    batch, filters, height, width = t.shape
    channels, planes = conv.x.shape[1], (m + 2) ** 2
    tiles = batch * ceil(height / m) * ceil(width / m)
    products = planes * (_product(tiles, filters, channels) + channels * filters * F32.bytes / BYTES)
    return products + tiles * TRANSFORM[m] * (_vectors(channels) + _vectors(filters)) / 2


def _product(rows: int, columns: int, depth: int) -> float:
    """Of matrices: every register tile takes as long as a full one where its rows are too few to hide latencies."""
    return max(rows, TILE // 2 * ceil(rows / TILE)) * _vectors(columns) * (depth + OVERHEAD)


def _vectors(elements: int) -> int:
    return elements // LANES + elements % LANES
