"""Passes for shaders: each keeps what a kernel computes and does away with what it says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_checks import kernel_of, run_kernel
from webnn_compile.dtypes import F32, I32, U32, DType
from webnn_compile.ir.construct import maximum, minimum
from webnn_compile.ir.lanes import Extract, Ramp, Splat
from webnn_compile.ir.nodes import (
    Alloc,
    Binary,
    Buffer,
    Cast,
    Const,
    Expr,
    For,
    If,
    Kernel,
    Load,
    Select,
    Seq,
    Store,
    Unary,
    Var,
)
from webnn_compile.ir.rewrite import loads, rewrite, walk
from webnn_compile.ir.unlikely import Unlikely
from webnn_compile.ir.verify import verify_kernel
from webnn_compile.passes.branch_unlikely import branch_unlikely
from webnn_compile.passes.count_work import count_work
from webnn_compile.passes.divide_indices import divide_indices
from webnn_compile.passes.expand_extremes import expand_extremes
from webnn_compile.passes.group_lanes import group_lanes
from webnn_compile.passes.keep_nans import clear_negatives, keep_nans
from webnn_compile.passes.saturate_casts import saturate_casts
from webnn_compile.passes.scale_quotients import scale_quotients
from webnn_compile.passes.select_guarded import select_guarded
from webnn_compile.passes.share_nodes import share_nodes
from webnn_compile.passes.whole_quotients import whole_quotients

I = Var("i", 8)
X, Y, N = Buffer("x", (8,), F32), Buffer("y", (8,), F32), Buffer("n", (8,), I32)


def same(before: Kernel, after: Kernel, *inputs: np.ndarray) -> None:
    for a, b in zip(run_kernel(before, inputs), run_kernel(after, inputs), strict=True):
        np.testing.assert_array_equal(a, b)


FLOATS = np.array([0.0, -0.0, 1.5, -2.5, 1e30, -1e30, np.nan, np.inf], np.float32)


def test_guarded_loads_are_selected_and_stay_inside() -> None:
    guard = (Const(2) <= I) & (I < 6)
    kernel = kernel_of(For(I, Store(Y, (I,), Load(X, (I * 2 - 4,), guard))), X, Y)
    after = select_guarded(kernel)
    assert all(x.guard is None for x in loads(after.body))
    same(kernel, after, FLOATS)


def test_what_an_index_loads_stands_under_the_guard() -> None:
    at = Load(N, (I * 2 - 4,))
    kernel = kernel_of(For(I, Store(Y, (I,), Load(X, (at,), (Const(2) <= I) & (I < 6)))), X, N, Y)
    after = select_guarded(kernel)
    same(kernel, after, FLOATS, np.arange(8, dtype=np.int32))


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_what_is_seldom_needed_is_behind_a_branch(lanes: int) -> None:
    """One unlikely selection inside another, both used twice."""
    at: tuple[Expr, ...] = (Ramp(Const(0), lanes) if lanes > 1 else Const(0),)
    x = Load(X, at)

    def bound(value: float) -> Expr:
        return Splat(Const(value, F32), lanes) if lanes > 1 else Const(value, F32)

    inner = Unlikely(Binary("<", bound(1.0), x), x * x, x)
    outer = Unlikely(Binary("<=", inner + inner, bound(0.0)), Unary("neg", inner), inner)
    kernel = kernel_of(Store(Y, at, outer * outer), X, Y)
    after = branch_unlikely(kernel)
    assert sum(isinstance(n, If) for n in walk(after.body)) == 2
    assert not any(isinstance(n, Unlikely) for n in walk(after.body))
    verify_kernel(after, "branch_unlikely")
    for floats in (FLOATS, np.full(8, 0.5, np.float32), np.full(8, -3, np.float32)):
        same(kernel, after, floats)


@pytest.mark.parametrize("lanes", [1, 4])
def test_what_both_arms_compute_alike_is_written_once(lanes: int) -> None:
    """But for arms that have little in common."""
    at: tuple[Expr, ...] = (Ramp(Const(0), lanes) if lanes > 1 else Const(0),)
    x = Load(X, at)

    def of(value: float) -> Expr:
        return Splat(Const(value, F32), lanes) if lanes > 1 else Const(value, F32)

    def end(a: Expr, b: Expr) -> Expr:
        return Select(Binary("<", a, b), Unary("sqrt", a * a + of(3.0)), b - a * of(0.5))

    cond = Binary("<", of(1.0), x)
    alike = Unlikely(cond, end(x + of(2.0), x * x), end(x, Unary("neg", x)))
    apart = Unlikely(cond, (x + of(2.0)) * (x - of(3.0)) - x, (x - of(1.0)) * (x + of(4.0)) - of(5.0))
    for value, buffers, roots in ((alike, 2, 1), (apart, 1, 0)):
        kernel = kernel_of(Store(Y, at, value), X, Y)
        after = branch_unlikely(kernel)
        verify_kernel(after, "branch_unlikely")
        nodes = list(walk(after.body))
        assert sum(isinstance(n, Alloc) for n in nodes) == buffers
        assert sum(isinstance(n, Unary) and n.op == "sqrt" for n in nodes) == roots
        for floats in (FLOATS, np.full(8, 0.5, np.float32), np.full(8, 3, np.float32)):
            same(kernel, after, floats)


def test_elsewhere_than_in_values_unlikely_is_a_selection() -> None:
    at = Unlikely(Binary("<", I, Const(4)), Const(7), I)
    kernel = kernel_of(For(I, Store(Y, (I,), Load(X, (I,)))), X, Y)
    assert branch_unlikely(kernel) is kernel
    kernel = kernel_of(For(I, Store(Y, (at,), Load(X, (I,)))), X, Y)
    assert branch_unlikely(kernel) is kernel


def test_guarded_vectors_stay_aligned() -> None:
    j = Var("j", 4)
    guard = j < 2
    store = Store(Y, (Ramp(Const(0), 4),), Load(X, (Ramp(j * 4, 4),), guard))
    kernel = kernel_of(For(j, store), X, Y)
    after = select_guarded(kernel)
    (load,) = loads(after.body)
    (index,) = load.indices
    assert isinstance(index, Ramp)
    assert isinstance(index.base, Binary)
    assert (index.base.op, index.base.b) == ("*", Const(4))
    got = run_kernel(after, [FLOATS])[0]
    np.testing.assert_array_equal(got[:4], np.zeros(4, np.float32))


@given(st.integers(1, 40), st.sampled_from(["//", "%"]))
def test_divisions_of_indices(divisor: int, op: str) -> None:
    i = Var("i", 100)
    n = Buffer("n", (100,), I32)
    kernel = kernel_of(For(i, Store(n, (i,), Binary(op, i * 3 + 1, Const(divisor)))), n)
    after = divide_indices(kernel)
    assert not any(isinstance(x, Binary) and x.op in ("//", "%") for x in walk(after.body))
    same(kernel, after)


def test_divisions_of_what_may_be_negative_stay() -> None:
    kernel = kernel_of(For(I, Store(N, (I,), (I - 4) // 3)), N)
    assert divide_indices(kernel) is kernel
    by_four = divide_indices(kernel_of(For(I, Store(N, (I,), (I - 4) // 4)), N))
    np.testing.assert_array_equal(run_kernel(by_four, [])[0], [-1, -1, -1, -1, 0, 0, 0, 0])


@pytest.mark.parametrize(("values", "plain"), [((0, 8), True), ((-1, 8), False), (None, False)])
def test_divisions_of_what_a_table_holds(values: tuple[int, int] | None, plain: bool) -> None:
    table = Buffer("table", (8,), I32, constant=True, values=values)
    kernel = kernel_of(For(I, Store(N, (I,), Load(table, (I,)) % 5)), table, N)
    after = divide_indices(kernel)
    assert plain == (after is not kernel)
    same(kernel, after, np.arange(8, dtype=np.int32))


def test_extremes_keep_a_nan_where_it_was() -> None:
    value = minimum(maximum(Load(X, (I,)), -1.0), 1.0)
    kernel = kernel_of(For(I, Store(Y, (I,), value)), X, Y)
    after = expand_extremes(kernel)
    assert not any(isinstance(x, Binary) and x.op in ("max", "min") for x in walk(after.body))
    same(kernel, after, FLOATS)
    assert np.isnan(run_kernel(after, [FLOATS])[0][6])


def test_a_nan_is_kept_where_compilers_assume_that_there_is_none() -> None:
    """Where comparisons of floats, as such compilers have them, take a NaN for the smallest number."""
    value = minimum(maximum(Load(X, (I,)), -1.0), 1.0)
    kernel = kernel_of(For(I, Store(Y, (I,), value)), X, Y)
    after = keep_nans(kernel)
    same(kernel, after, FLOATS)

    def number(n: object) -> Expr | None:
        match n:
            case Binary("max" | "min", a, b):
                return Binary(n.op, Select(Binary("==", a, a), a, Const(-3e38, F32)), b)
        return None

    assert np.isnan(run_kernel(replace(after, body=rewrite(after.body, number)), [FLOATS])[0][6])
    assert not np.isnan(run_kernel(replace(kernel, body=rewrite(kernel.body, number)), [FLOATS])[0]).any()


def test_what_is_clamped_between_numbers_first_needs_no_test() -> None:
    """As quanta are: of a NaN the first number is left."""
    value = minimum(maximum(Const(-1.0, F32), Load(X, (I,))), 1.0)
    kernel = kernel_of(For(I, Store(Y, (I,), value)), X, Y)
    assert not any(isinstance(n, Select) for n in walk(keep_nans(kernel).body))


def test_negatives_are_cleared_by_their_bits() -> None:
    kernel = kernel_of(For(I, Store(Y, (I,), maximum(Load(X, (I,)), 0.0))), X, Y)
    after = clear_negatives(kernel)
    assert not any(isinstance(n, Binary) and n.op == "max" for n in walk(after.body))
    values = np.array([-np.inf, -3e38, -1e-45, -0.0, 0.0, 1e-45, np.inf, -1.0], np.float32)
    same(kernel, after, values)
    same(kernel, after, FLOATS)
    assert np.isnan(run_kernel(after, [np.full(8, -np.nan, np.float32)])[0]).all()


def test_divisors_have_reciprocals() -> None:
    divisor = 1.0 + Unary("abs", Load(X, (I,)))
    values = np.array([3e38, -3e38, 2.0**126, 1e30, 3.0, np.inf, np.nan, 0.0], np.float32)
    for dividend in (Load(X, (I,)), Const(1e30, F32)):
        kernel = kernel_of(For(I, Store(Y, (I,), Binary("/", dividend, divisor))), X, Y)
        after = scale_quotients(kernel)
        np.testing.assert_allclose(run_kernel(after, [values])[0], run_kernel(kernel, [values])[0], rtol=1e-7)
        (quotient,) = (n for n in walk(after.body) if isinstance(n, Binary) and n.op == "/")
        (divisors,) = run_kernel(kernel_of(For(I, Store(Y, (I,), quotient.b)), X, Y), [values])
        finite = np.isfinite(values)
        assert divisors[finite].max() <= 2.0**126
    for plain in (Binary("/", Const(1.0, F32), divisor), Load(X, (I,)) / 3.0, Load(X, (I,)) / Unary("sqrt", divisor)):
        kernel = kernel_of(For(I, Store(Y, (I,), plain)), X, Y)
        assert scale_quotients(kernel) is kernel


@pytest.mark.parametrize("op", ["floor", "ceil", "trunc", "cast"])
@pytest.mark.parametrize("divisor", [3.0, -7.0, 2.5, None])
def test_whole_quotients_are_exact(op: str, divisor: float | None) -> None:
    """A division that is off by two units in the last place gives what an exact one does, for whole numbers."""
    divisors = np.array([7, -7, 3, 255, 7, 0, np.inf, 2.5], np.float32)
    values = np.array([-84, 84, 27, -1020, 85, 1, 2, np.nan], np.float32)
    out, other = Buffer("out", (8,), I32 if op == "cast" else F32), Buffer("d", (8,), F32)
    quotient = Binary("/", Load(X, (I,)), Load(other, (I,)) if divisor is None else Const(divisor, F32))
    rounded = Cast(I32, quotient) if op == "cast" else Unary(op, quotient)
    operands = (X, other) if divisor is None else (X,)
    kernel = kernel_of(For(I, Store(out, (I,), rounded)), *operands, out)
    after = whole_quotients(kernel)
    if divisor == 2.5:  # products of others are rounded
        assert after is kernel
        return
    given = [values, divisors] if divisor is None else [values]
    finite = np.isfinite(values) & (np.isfinite(divisors) & (divisors != 0) if divisor is None else True)
    right = run_kernel(kernel, given)[0]
    np.testing.assert_array_equal(run_kernel(after, given)[0][finite], right[finite])
    for error in (1 + 2.0**-22, 1 - 2.0**-22):
        found, before = (run_kernel(_with_error(k, error), given)[0][finite] for k in (after, kernel))
        np.testing.assert_array_equal(found, right[finite])
        assert (before != right[finite]).any() == (op in ("floor", "ceil") or error < 1)


def _with_error(kernel: Kernel, factor: float) -> Kernel:
    """The kernel on a device whose quotients are off by a factor."""

    def rule(n: object) -> Expr | None:
        match n:
            case Binary("/", _, _):
                return Binary("*", n, Const(factor, F32))
        return None

    return replace(kernel, body=rewrite(kernel.body, rule))


@pytest.mark.parametrize("dtype", [I32, U32])
def test_casts_saturate_by_themselves(dtype: DType) -> None:
    out = Buffer("out", (8,), dtype)
    kernel = kernel_of(For(I, Store(out, (I,), Cast(dtype, Load(X, (I,))))), X, out)
    after = saturate_casts(kernel)
    same(kernel, after, FLOATS)
    (cast,) = (x for x in walk(after.body) if isinstance(x, Cast))
    assert isinstance(cast.a, Binary)
    assert cast.a.op == "min"


def test_casts_of_what_is_clamped_stay() -> None:
    clamped = minimum(maximum(Const(-1.0, F32), Load(X, (I,))), 5.0)
    kernel = kernel_of(For(I, Store(N, (I,), Unary("floor", clamped).cast(I32))), X, N)
    for before in (kernel, expand_extremes(kernel)):
        assert saturate_casts(before) is before
        same(kernel, before, FLOATS)
    wide = kernel_of(For(I, Store(N, (I,), minimum(maximum(Const(-1.0, F32), Load(X, (I,))), 3e9).cast(I32))), X, N)
    assert saturate_casts(wide) is not wide


def test_lanes_are_grouped_where_all_are_known() -> None:
    i = Var("i", 2)
    z = Buffer("z", (8,), F32)
    known = Load(X, (i * 4 + 2,)) * Load(X, (i * 4 + 3,))
    kernel = kernel_of(For(i, Store(Y, (i,), known + Load(z, (i,)))), X, z, Y)
    after = group_lanes(kernel)
    same(kernel, after, FLOATS, np.arange(8, dtype=np.float32))
    lanes = [x for x in walk(after.body) if isinstance(x, Extract)]
    assert sorted(x.lane for x in lanes) == [2, 3]
    assert all(isinstance(x.a, Load) and x.a.buffer is X for x in lanes)
    assert group_lanes(kernel, lambda b: b is not X) is kernel


def test_equal_nodes_become_one() -> None:
    kernel = kernel_of(For(I, Store(Y, (I,), Load(X, (I,)) * Load(X, (I,)))), X, Y)
    after = share_nodes(kernel)
    assert len({id(x) for x in loads(after.body)}) == 1
    same(kernel, after, FLOATS)


def test_work_is_counted_by_iterations() -> None:
    product = Load(X, (I,)) * Load(X, (I,)) + 1.0
    kernel = kernel_of(Seq((For(I, Store(Y, (I,), product)), Store(N, (Const(0),), Const(1) + 1))), X, Y, N)
    assert count_work(kernel, kernel) == 16
