"""A workgroup for each of few long reductions: the same results by either way of adding up, whatever the subgroups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_checks import assert_close, assert_same, inputs_for, run_kernel
from nests import Nest, sum_of_columns, sum_of_rows
from webnn_compile.dtypes import F32, I32
from webnn_compile.errors import InternalError
from webnn_compile.ir.all_reduce import AllReduce, Among
from webnn_compile.ir.grid import find_grid
from webnn_compile.ir.interpret import Subgroups
from webnn_compile.ir.lanes import Ramp
from webnn_compile.ir.nodes import Alloc, Barrier, Buffer, For, If, Kernel, Load, LoopKind, Scope, Seq, Store, Var
from webnn_compile.ir.rewrite import loads, walk
from webnn_compile.ir.verify import verify_kernel
from webnn_compile.passes.flatten_indices import flatten_indices
from webnn_compile.passes.reduce_by_subgroups import reduce_by_subgroups
from webnn_compile.passes.reduce_by_tree import reduce_by_tree
from webnn_compile.schedule.schedule_simt import schedule_simt
from webnn_compile.simt.lower import SUBGROUP_PASSES, TREE_PASSES, lower
from webnn_compile.target import WEBGPU, GpuTarget
from webnn_compile.wgsl import WebGpu

SHORT = GpuTarget("short", long_reduction=2)
REASSOCIATED = 1e-5

SUBGROUPS: dict[str, Subgroups] = {
    "4": lambda i: i // 4,
    "32": lambda i: i // 32,
    "128": lambda _: 0,
    "of every third": lambda i: i % 3,
    "of two sizes": lambda i: max(0, i - 40) // 6,
}
"""More than hardware does: members of one need not be neighbours, nor their number a power of two."""


def check(nest: Nest, target: GpuTarget = SHORT, tolerance: float = REASSOCIATED) -> Kernel:
    """Asserts that the schedule and both ways of lowering keep the meaning; returns what was scheduled."""
    scheduled = schedule_simt(nest.kernel, target)
    assert_same(nest.kernel, scheduled, "schedule_simt", tolerance)
    inputs = inputs_for(nest.kernel)
    want = run_kernel(nest.kernel, inputs)
    ways = [(TREE_PASSES, SUBGROUPS["32"]), *((SUBGROUP_PASSES, s) for s in SUBGROUPS.values())]
    for passes, subgroups in ways:
        got = run_kernel(lower(scheduled, passes), inputs, subgroups)
        assert_close(want, [b.reshape(a.shape) for a, b in zip(want, got, strict=True)], tolerance)
    return scheduled


@settings(max_examples=6, deadline=None)
@given(st.integers(1, 3), st.integers(2, 255), st.sampled_from(["sum", "prod", "max", "min", "max_nan", "min_nan"]))
def test_rows(rows: int, length: int, op: str) -> None:
    scheduled = check(sum_of_rows(rows, length, op))
    assert find_grid(scheduled).workgroup_size == (16, 1, 1)
    assert find_grid(scheduled).workgroups == (rows, 1, 1)
    assert meetings(scheduled) == 1


@pytest.mark.parametrize("op", ["max", "max_nan", "min_nan"])
def test_extremes_by_subgroups(op: str) -> None:
    """Extremes that keep NaN, too, for which devices have no operation."""
    made = WebGpu().compile_kernel(sum_of_rows(2, 512, op).kernel, (None, None)).kernel
    assert f"subgroup{op[:3].capitalize()}(" in str(made.with_subgroups)


@pytest.mark.parametrize("length", [256, 260, 516])
def test_neighbours_read_neighbouring_vectors(length: int) -> None:
    lowered = lower(check(sum_of_rows(2, length), WEBGPU))
    (read,) = (x for x in loads(lowered.body) if x.buffer is lowered.params[0])
    assert isinstance(read.indices[-1], Ramp)


@pytest.mark.parametrize(
    ("rows", "length", "invocations"), [(1, 255, 16), (1, 256, 32), (1, 1030, 128), (40, 512, 32), (90, 256, 16)]
)
def test_workgroups_are_as_large_as_it_takes(rows: int, length: int, invocations: int) -> None:
    """To keep 1280 invocations occupancy, with eight elements each at least."""
    scheduled = check(sum_of_rows(rows, length), replace(WEBGPU, minimum_occupancy=1280))
    assert find_grid(scheduled).workgroup_size == (invocations, 1, 1)


@pytest.mark.parametrize(("rows", "columns"), [(70, 4), (130, 8), (65, 3)])
def test_columns(rows: int, columns: int) -> None:
    """Four columns are one workgroup's, in vectors; where they do not come in fours each has its own."""
    scheduled = check(sum_of_columns(rows, columns))
    assert find_grid(scheduled).workgroups == (columns // 4 if columns % 4 == 0 else columns, 1, 1)
    assert meetings(scheduled) == 1


@pytest.mark.parametrize("op", ["sum", "max", "min"])
def test_integers_are_exact(op: str) -> None:
    check(sum_of_columns(100, 3, op, I32), tolerance=0.0)
    check(sum_of_columns(100, 4, op, I32), tolerance=0.0)


@pytest.mark.parametrize("op", ["max", "sum", "max_nan", "min_nan"])
@pytest.mark.parametrize("of", [sum_of_rows, sum_of_columns])
def test_infinities_and_nan_are_what_they_were(op: str, of: Callable[..., Nest]) -> None:
    nest = of(*((4, 300) if of is sum_of_rows else (300, 4)), op)
    x = inputs_for(nest.kernel)[0]
    lines = x if of is sum_of_rows else x.T
    lines[0, 17], lines[1, 299], lines[2, 5] = np.inf, np.nan, -np.inf
    lines[3] = -np.inf
    (want,) = run_kernel(nest.kernel, [x])
    scheduled = schedule_simt(nest.kernel, WEBGPU)
    assert meetings(scheduled) == 1
    for passes in (TREE_PASSES, SUBGROUP_PASSES):
        (got,) = run_kernel(lower(scheduled, passes), [x])
        np.testing.assert_allclose(got, want, rtol=REASSOCIATED)


def test_results_that_keep_the_device_busy_and_short_rows_need_no_workgroup() -> None:
    for rows, length, target in ((4, 127, WEBGPU), (300, 128, replace(WEBGPU, minimum_occupancy=300))):
        assert not meetings(schedule_simt(sum_of_rows(rows, length).kernel, target))
    assert meetings(schedule_simt(sum_of_rows(299, 128).kernel, replace(WEBGPU, minimum_occupancy=300)))


def test_barriers() -> None:
    """The barriers and operations of either way."""
    for length, steps in ((255, 1), (256, 2), (4096, 2)):
        scheduled = schedule_simt(sum_of_rows(2, length).kernel, WEBGPU)
        for passes, barriers, operations in ((TREE_PASSES, steps, 0), (SUBGROUP_PASSES, 1, 4)):
            nodes = list(walk(lower(scheduled, passes).body))
            assert sum(isinstance(n, Barrier) for n in nodes) == barriers
            assert sum(isinstance(n, AllReduce) for n in nodes) == operations


def test_a_second_text_where_it_saves_a_barrier() -> None:
    for length, saves in ((127, False), (255, False), (256, True)):
        made = WebGpu().compile_kernel(sum_of_rows(2, length).kernel, (None, None)).kernel
        assert not made.features
        assert (made.with_subgroups is not None) == saves
        assert "subgroup" not in made.source
        assert not saves or str(made.with_subgroups).startswith("enable subgroups;\n")


def together(count: int, among: Among = Among.WORKGROUP, op: str = "+", scope: Scope = Scope.LOCAL) -> Kernel:
    """for t thread: local v; v = x[t]; v = op of all(v); y[t] = v"""
    t = Var("t", count)
    x, y, v = Buffer("x", (count,), F32), Buffer("y", (count,), F32), Buffer("v", (1,), F32, scope)
    zero = t * 0
    stmts = (
        Store(v, (zero,), Load(x, (t,))),
        Store(v, (zero,), AllReduce(op, Load(v, (zero,)), among)),
        Store(y, (t,), Load(v, (zero,))),
    )
    return Kernel("together", (x, y), For(t, Alloc(v, Seq(stmts)), LoopKind.THREAD))


@pytest.mark.parametrize("count", [5, 9, 64, 100, 256])
@pytest.mark.parametrize("op", ["+", "max"])
def test_every_invocation_gets_the_total(count: int, op: str) -> None:
    kernel = flatten_indices(together(count, op=op))
    (x,) = inputs_for(kernel)
    want = np.full(count, x.sum() if op == "+" else x.max())
    for lowered in (kernel, reduce_by_tree(kernel)):
        verify_kernel(lowered, "reduce_by_tree")
        np.testing.assert_allclose(run_kernel(lowered, [x])[0], want, rtol=1e-4)
    by_subgroups = reduce_by_subgroups(kernel)
    verify_kernel(by_subgroups, "reduce_by_subgroups")
    for size in (4, 8, 128):
        np.testing.assert_allclose(run_kernel(by_subgroups, [x], lambda i, n=size: i // n)[0], want, rtol=1e-4)


def test_what_stays() -> None:
    kernel = together(8, Among.SUBGROUP)
    assert reduce_by_tree(kernel) is kernel
    assert reduce_by_subgroups(kernel) is kernel


def test_subgroups_and_those_before() -> None:
    x = np.arange(1, 9, dtype=np.float32)
    two: Subgroups = lambda i: i % 2  # noqa: E731
    np.testing.assert_array_equal(run_kernel(together(8, Among.SUBGROUP), [x], two)[0], [16, 20] * 4)
    before = run_kernel(together(8, Among.EXCLUSIVE_SCAN), [x], two)[0]
    np.testing.assert_array_equal(before, [0, 0, 1, 2, 4, 6, 9, 12])


def test_misuse_is_named() -> None:
    with pytest.raises(InternalError, match="is stored where all of them store it"):
        verify_kernel(together(8, scope=Scope.SHARED), "test")
    with pytest.raises(InternalError, match="invocations do not compute max together"):
        verify_kernel(together(8, Among.EXCLUSIVE_SCAN, "max"), "test")
    t = Var("t", 8)
    x, y, v = Buffer("x", (8,), F32), Buffer("y", (8,), F32), Buffer("v", (), F32, Scope.LOCAL)
    total = AllReduce("+", Load(x, (t,)), Among.WORKGROUP)

    def of(body: Store | If | For) -> Kernel:
        return Kernel("misuse", (x, y), For(t, Alloc(v, body), LoopKind.THREAD))

    with pytest.raises(InternalError, match="invocations meet inside an expression"):
        verify_kernel(of(Store(v, (), total + 1.0)), "test")
    with pytest.raises(InternalError, match="invocations meet under a condition"):
        verify_kernel(of(If(t < 4, Store(v, (), total))), "test")
    with pytest.raises(InternalError, match="a workgroup computes a total together in a loop"):
        verify_kernel(of(For(Var("k", 3), Store(v, (), total), parallel=False)), "test")


def meetings(kernel: Kernel) -> int:
    return sum(isinstance(n, AllReduce) for n in walk(kernel.body))
