"""Planes that are written at once lie so that equal places of them share few cache sets."""

from __future__ import annotations

import pytest
from webnn_compile.costs import CPU_COSTS
from webnn_compile.dtypes import F32
from webnn_compile.tensor.pad_matrices import STEP, pad_matrices


@pytest.mark.parametrize("columns", [16, 48, 64, 128, 256, 512])
@pytest.mark.parametrize("rows", [(1, 4, 4), (1, 7, 7), (2, 4, 4)], ids=str)
def test_planes_fall_on_as_many_sets_as_they_need(rows: tuple[int, ...], columns: int) -> None:
    layout = pad_matrices((6, 6, *rows, columns), F32, CPU_COSTS)
    *outer, width = layout.physical_shape
    assert outer == [6, 6, *rows]
    assert 0 <= width - columns <= 16 * STEP // F32.bytes
    assert width * F32.bytes % STEP == 0
    plane = rows[0] * rows[1] * rows[2] * width * F32.bytes
    assert len({i * plane % CPU_COSTS.set_period for i in range(36)}) >= CPU_COSTS.set_period // CPU_COSTS.free_distance


def test_planes_that_lie_well_stay() -> None:
    assert pad_matrices((6, 6, 1, 7, 7, 48), F32, CPU_COSTS).physical_shape == (6, 6, 1, 7, 7, 48)
