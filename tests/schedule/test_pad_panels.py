"""Panels of many matrices lie so that equal places of all of them share no cache set."""

from __future__ import annotations

from math import prod

import pytest
from webnn_compile.costs import CPU_COSTS
from webnn_compile.dtypes import F32
from webnn_compile.ir.layout import Block, Layout
from webnn_compile.schedule.rules.pad_panels import pad_panels


def panels(matrices: int, columns: int, rows: int) -> Layout:
    shape = (matrices, columns, rows)
    return Layout(shape, (0, 1, 2), ((0, 0),) * 3, (1, 1, 1), (Block(1, 8, 8),))


def blocks(matrices: int, columns: int, rows: int, together: int, width: int) -> Layout:
    """So many rows of all panels stand together."""
    shape = (matrices, columns, rows)
    inner = (Block(2, together, together), Block(1, width, width))
    return Layout(shape, (0, 2, 1), ((0, 0),) * 3, (1, 1, 1), inner)


def sets(layout: Layout, matrices: int) -> int:
    """How many different lines of a cache's first way equal places of the matrices fall on."""
    distance = prod(layout.physical_shape) * F32.bytes // matrices
    return len({i * distance % CPU_COSTS.set_period // 64 for i in range(matrices)})


@pytest.mark.parametrize("rows", [64, 96, 128, 256, 512, 1024])
@pytest.mark.parametrize("columns", [64, 96, 128, 256, 512, 1024])
def test_matrices_fall_on_as_many_sets_as_they_need(columns: int, rows: int) -> None:
    layout = pad_panels(panels(36, columns, rows), 36, 2, F32, CPU_COSTS)
    assert sets(layout, 36) >= CPU_COSTS.set_period // CPU_COSTS.free_distance
    assert prod(layout.physical_shape) <= 1.15 * 36 * columns * rows
    assert layout.shape == (36, columns, rows)


@pytest.mark.parametrize("rows", [512, 768, 1024])
@pytest.mark.parametrize("columns", [64, 96, 512])
def test_blocks_get_room(columns: int, rows: int) -> None:
    layout = pad_panels(blocks(36, columns, rows, 256, 8), 36, 2, F32, CPU_COSTS)
    assert sets(layout, 36) >= CPU_COSTS.set_period // CPU_COSTS.free_distance
    assert prod(layout.physical_shape) <= 1.15 * 36 * columns * rows
    assert layout.blocks[0].size == 256
    assert layout.extent(2) == rows


def test_the_best_there_is() -> None:
    """Eight blocks of rows never lie at odd distances; a panel more still serves four times as many sets."""
    layout = blocks(36, 512, 512, 64, 32)
    assert sets(layout, 36) == 1
    assert sets(pad_panels(layout, 36, 2, F32, CPU_COSTS), 36) == 4


def test_what_lies_well_stays() -> None:
    layout = panels(36, 40, 33)
    assert pad_panels(layout, 36, 2, F32, CPU_COSTS) is layout


def test_few_matrices_stay() -> None:
    layout = panels(CPU_COSTS.ways, 512, 512)
    assert pad_panels(layout, CPU_COSTS.ways, 2, F32, CPU_COSTS) is layout
