"""Kernels spread over invocations compute what they did before; tiles, panels and grids are as meant."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_checks import assert_same, inputs_for, run_kernel
from nests import Nest, biased_product, matrix_product, padded_sum, pointwise, product_of_rows
from webnn_compile.errors import ScheduleError
from webnn_compile.ir.grid import find_grid
from webnn_compile.ir.lanes import Ramp
from webnn_compile.ir.nodes import For, If, Kernel, Load, LoopKind, Store
from webnn_compile.ir.rewrite import loads, walk
from webnn_compile.schedule.schedule_simt import schedule_simt
from webnn_compile.schedule.steps import extend, overlap, spread
from webnn_compile.simt.lower import TREE_PASSES
from webnn_compile.target import WEBGPU, GpuTarget

REASSOCIATED = 1e-5
SIZES = st.integers(1, 14)


def check(nest: Nest, target: GpuTarget = WEBGPU) -> Kernel:
    """Asserts that the schedule and every pass after it keep the meaning; returns the lowered kernel."""
    scheduled = schedule_simt(nest.kernel, target)
    assert_same(nest.kernel, scheduled, "schedule_simt", REASSOCIATED)
    inputs = inputs_for(nest.kernel)
    want = run_kernel(nest.kernel, inputs)
    lowered = scheduled
    for run in TREE_PASSES:
        lowered = run(lowered)
    got = run_kernel(lowered, inputs)
    for a, b in zip(want, got, strict=True):
        np.testing.assert_allclose(b.reshape(a.shape), a, rtol=REASSOCIATED, atol=REASSOCIATED)
    return lowered


@settings(max_examples=12)
@given(st.lists(SIZES, min_size=1, max_size=3))
def test_pointwise(extents: list[int]) -> None:
    check(pointwise(*extents))


@settings(max_examples=12)
@given(SIZES, SIZES, SIZES)
def test_matrix_product(rows: int, columns: int, depth: int) -> None:
    check(matrix_product(rows, columns, depth))
    check(biased_product(rows, columns, depth))


@settings(max_examples=12)
@given(st.integers(1, 9), st.integers(1, 4), st.integers(0, 2))
def test_reduction(extent: int, window: int, pad: int) -> None:
    check(padded_sum(extent + window, window, pad))


def test_a_product_is_a_tile_of_rows_by_vectors() -> None:
    lowered = check(matrix_product(64, 64, 4), GpuTarget("t", minimum_occupancy=1))
    grid = find_grid(lowered)
    assert grid.workgroup_size == (8, 8, 1)
    assert grid.workgroups == (1, 1, 1)
    written = [n for n in walk(grid.body) if isinstance(n, Store) and n.buffer is lowered.params[-1]]
    assert len(written) == 8 * 2
    assert all(isinstance(s.indices[0], Ramp) for s in written)
    assert not any(isinstance(n, If) for n in walk(grid.body))


@settings(max_examples=20)
@given(SIZES, SIZES, st.integers(8, 23))
def test_a_product_of_rows_by_rows(rows: int, columns: int, depth: int) -> None:
    check(product_of_rows(rows, columns, depth), GpuTarget("t", minimum_occupancy=1))


@pytest.mark.parametrize(("occupancy", "loads", "tile"), [(1, 8, 16), (8, 6, 8), (16, 4, 4), (17, 2, 1)])
def test_operands_that_lie_along_the_sum_are_loaded_for_a_tile_of_results(
    occupancy: int, loads: int, tile: int
) -> None:
    """Vectors, each once for all results of its row or column; tiles shrink until the device is busy."""
    lowered = check(product_of_rows(8, 8, 16), GpuTarget("t", minimum_occupancy=occupancy))
    (loop,) = (n for n in walk(lowered.body) if isinstance(n, For) and not n.parallel)
    sites = {(n.buffer, n.indices) for n in walk(loop) if isinstance(n, Load) and n.buffer in lowered.params}
    assert len(sites) == loads
    written = [n for n in walk(lowered.body) if isinstance(n, Store) and n.buffer is lowered.params[-1]]
    assert len(written) == tile


def test_tiles_shrink_until_the_device_is_busy() -> None:
    def invocations(occupancy: int) -> int:
        grid = find_grid(schedule_simt(matrix_product(64, 64, 8).kernel, GpuTarget("t", minimum_occupancy=occupancy)))
        return int(np.prod(grid.workgroups) * np.prod(grid.workgroup_size))

    assert invocations(1) == 64
    assert invocations(512) >= 512


def test_columns_that_fill_no_vector_are_not_stored() -> None:
    lowered = check(matrix_product(5, 7, 3))
    assert any(isinstance(n, If) for n in walk(lowered.body))
    assert all(x.guard is None for x in loads(lowered.body))


def test_spread_conditions_stand_where_threads_do_not_divide_the_loop() -> None:
    nest = pointwise(10, 8)
    body = spread(nest.body, [4, 8])
    assert_same(nest.kernel, Kernel("k", nest.kernel.params, body), "spread")
    assert sum(isinstance(n, If) for n in walk(body)) == 1
    assert [n.var.extent for n in walk(body) if isinstance(n, For)] == [3, 1, 4, 8]
    assert not any(isinstance(n, If) for n in walk(spread(pointwise(8, 8).body, [4, 8])))
    with pytest.raises(ScheduleError, match="spread: 2 outermost loops are parallel, 3 are needed"):
        spread(nest.body, [1, 1, 1])


@given(st.integers(1, 12), st.integers(0, 5))
def test_extend(extent: int, more: int) -> None:
    nest = pointwise(extent)
    body, var = extend(nest.body, nest["i"], extent + more)
    assert var.extent == extent + more
    assert_same(nest.kernel, Kernel("k", nest.kernel.params, body), "extend")


def test_extend_refuses_reductions() -> None:
    nest = matrix_product(2, 2, 3)
    with pytest.raises(ScheduleError, match="extend: it is a reduction"):
        extend(nest.body, nest["k"], 4)


@given(st.integers(1, 12), st.integers(1, 12))
def test_overlap(extent: int, size: int) -> None:
    nest = pointwise(extent)
    if size > extent:
        with pytest.raises(ScheduleError, match="shorter than"):
            overlap(nest.body, nest["i"], size)
        return
    body, (outer, inner) = overlap(nest.body, nest["i"], size)
    assert outer.extent * inner.extent < extent + size
    assert_same(nest.kernel, Kernel("k", nest.kernel.params, body), "overlap")


def test_blocks_stand_outside_threads() -> None:
    kernel = schedule_simt(pointwise(70, 8).kernel, WEBGPU)
    kinds = [n.kind for n in walk(kernel.body) if isinstance(n, For) and n.kind in (LoopKind.BLOCK, LoopKind.THREAD)]
    assert kinds == sorted(kinds, key=[LoopKind.BLOCK, LoopKind.THREAD].index)


def test_products_through_shared_memory() -> None:
    nest = biased_product(66, 64, 4)
    scheduled = schedule_simt(nest.kernel, GpuTarget("t", minimum_occupancy=1, shared_tiles=True))
    assert_same(nest.kernel, scheduled, "schedule_simt", REASSOCIATED)
    assert find_grid(scheduled).workgroup_size == (8, 8, 1)
    assert find_grid(scheduled).workgroups == (2, 1, 1)
    assert sum(b.size * 4 for b in find_grid(scheduled).shared) == 8192


def test_shared_memory_is_for_products_that_keep_a_device_busy() -> None:
    def tiles(rows: int, columns: int, occupancy: int) -> int:
        target = GpuTarget("t", minimum_occupancy=occupancy, shared_tiles=True)
        kernel = schedule_simt(matrix_product(rows, columns, 8).kernel, target)
        return len(find_grid(kernel).shared)

    assert tiles(256, 128, 512) == 2
    assert tiles(256, 128, 513) == 0
    assert tiles(63, 128, 1) == 0


def test_products_of_several_panels_are_in_vectors() -> None:
    """Columns beyond one panel: an invocation still reads whole vectors of the weights."""
    lowered = schedule_simt(matrix_product(8, 256, 4).kernel, GpuTarget("t", minimum_occupancy=1))
    for run in TREE_PASSES:
        lowered = run(lowered)
    weights = [x for x in loads(lowered.body) if x.buffer is lowered.params[1]]
    assert weights
    assert all(isinstance(x.indices[0], Ramp) for x in weights)
    stores = [n for n in walk(lowered.body) if isinstance(n, Store)]
    assert all(isinstance(n.indices[0], Ramp) for n in stores)
