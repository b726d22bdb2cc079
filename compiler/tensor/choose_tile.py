"""Whether Winograd's algorithm pays for a convolution, and by which tiles: an estimate of what each way costs."""

from __future__ import annotations

from math import ceil, prod

from ..dtypes import F32
from .match_convolution import Convolution
from .tensor import Tensor
from .winograd_matrices import TILES, OutputTile

LANES = 4
TILE = 6
"""Rows of the register tile that computes products."""
OVERHEAD = 4
"""Steps of the sum that starting and storing a register tile take the time of."""
TRANSFORM = 1.1
"""Vector operations for each element of a window and each of its rows and columns: its transform and the result's."""
BYTES = 2.7
"""Bytes of weights that memory gives a core, beside another one, while that does one vector operation: 20 GB/s at 7.5
operations a nanosecond. They are fetched ahead, while others are multiplied."""
GAIN = 0.8
"""What an estimate must be below, relative to the direct convolution's."""


def choose_tile(t: Tensor, conv: Convolution, _alike: int) -> OutputTile | None:
    """The tiles of F(m x k, 3 x 3), None where the direct convolution is as good."""
    if conv.weights.shape[2:] != (3, 3) or min(conv.weights.shape[:2]) < 2 * LANES:
        return None
    best = min(TILES, key=lambda tile: _by_tiles(t, conv, tile))
    return best if _by_tiles(t, conv, best) < GAIN * _direct(t, conv) else None


def _direct(t: Tensor, conv: Convolution) -> float:
    """In vector operations, as all estimates are."""
    batch, filters, height, width = t.shape
    depth = 9 * conv.x.shape[1]
    return _products(1, batch * height * width, filters, depth)


def _by_tiles(t: Tensor, conv: Convolution, tile: OutputTile) -> float:
    batch, filters, height, width = t.shape
    channels, window = conv.x.shape[1], (tile[0] + 2, tile[1] + 2)
    planes, tiles = prod(window), batch * ceil(height / tile[0]) * ceil(width / tile[1])
    transforms = planes * sum(window) * TRANSFORM * tiles * (_vectors(channels) + _vectors(filters)) / 2
    return _products(planes, tiles, filters, channels) + transforms


def _products(count: int, rows: int, columns: int, depth: int) -> float:
    """Of matrices, their weights being read once: what takes longer, to multiply them or to bring the weights. Every
    register tile takes as long as a full one where its rows are too few to hide latencies."""
    work = max(rows, TILE // 2 * ceil(rows / TILE)) * _vectors(columns) * (depth + OVERHEAD)
    return count * max(work, depth * columns * F32.bytes / BYTES)


def _vectors(elements: int) -> int:
    return elements // LANES + elements % LANES
