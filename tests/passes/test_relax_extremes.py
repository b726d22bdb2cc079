"""Max and min by relaxed instructions: the meaning stays, and with it a NaN in the first operand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from kernel_checks import run_kernel
from webnn_compile.dtypes import F32, F64, DType
from webnn_compile.ir.interpret import Array
from webnn_compile.ir.lanes import Ramp, Splat
from webnn_compile.ir.nodes import Binary, Buffer, Const, Expr, For, Kernel, Load, LoopKind, Select, Store, Var
from webnn_compile.ir.rewrite import substitute, walk
from webnn_compile.ir.verify import verify_kernel
from webnn_compile.passes.flatten_indices import flatten_indices
from webnn_compile.passes.relax_extremes import relax_extremes
from webnn_compile.passes.vectorize_loops import vectorize_loops

VALUES = [math.nan, -math.inf, -1.0, -0.0, 0.0, 2.0, math.inf, 3.0]


I = Var("at", 64)
A, B = Buffer("a", (64,), F32), Buffer("b", (64,), F32)
X, Y = Load(A, (I,)), Load(B, (I,))
ZERO = Const(0.0, F32)


def kernel(value: Expr, *read: Buffer, lanes: int = 4) -> Kernel:
    i, v = Var("i", 64 // lanes), Var("v", lanes)
    at = i * lanes + v
    y = Buffer("y", (64,), value.dtype)
    inner = For(v, Store(y, (at,), substitute(value, {I: at})), LoopKind.VECTOR)
    return vectorize_loops(flatten_indices(Kernel("k", (*read, y), For(i, inner))))


def arrays() -> list[Array]:
    a, b = np.meshgrid(np.array(VALUES, np.float32), np.array(VALUES, np.float32))
    return [a.reshape(-1), b.reshape(-1)]


def operations(k: Kernel) -> list[str]:
    return sorted(n.op for n in walk(k.body) if isinstance(n, Binary) and ("max" in n.op or "min" in n.op))


@pytest.mark.parametrize(
    ("value", "made"),
    [
        (Binary("max", X, Y), ["relaxed_max"]),
        (Binary("min", X, Y), ["relaxed_min"]),
        (Binary("min", Binary("max", X, ZERO), Y), ["relaxed_max", "relaxed_min"]),
        (Select(X < Y, Y, X), ["relaxed_max"]),
        (Select(X < Y, X, Y), ["relaxed_min"]),
        (Select(X < ZERO, ZERO, X), ["relaxed_max"]),
        (Select(X < ZERO, Y, X), []),
        (Select(X <= Y, Y, X), []),
    ],
)
def test_the_meaning_stays(value: Expr, made: list[str]) -> None:
    before = kernel(value, A, B)
    after = relax_extremes(before)
    verify_kernel(after, "lower_float16")
    assert operations(after) == made
    assert (after is before) == (not made)
    (want,), (got,) = (run_kernel(k, arrays()) for k in (before, after))
    np.testing.assert_array_equal(got.view(np.int32), want.view(np.int32))


@pytest.mark.parametrize(("dtype", "lanes"), [(F32, 2), (F32, 8), (F64, 4)])
def test_other_vectors_stay(dtype: DType, lanes: int) -> None:
    a = Buffer("a", (64,), dtype)
    before = kernel(Binary("max", Load(a, (I,)), Const(0.0, dtype)), a, lanes=lanes)
    assert relax_extremes(before) is before


def test_a_comparison_may_have_other_uses() -> None:
    """The selection is another operation then, the comparison stays."""
    less = Binary("<", Splat(ZERO, 4), Splat(Const(1.0, F32), 4))
    both = Select(less, less.b, less.a) + Select(less, Splat(Const(5.0, F32), 4), Splat(ZERO, 4))
    y = Buffer("y", (4,), F32)
    before = Kernel("k", (y,), Store(y, (Ramp(Const(0), 4),), both))
    after = relax_extremes(before)
    assert operations(after) == ["relaxed_max"]
    assert run_kernel(after, [])[0].tolist() == [6.0] * 4
