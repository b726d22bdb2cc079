"""Vectors of floats become bytes as single elements do: truncated, saturated, 0 for a NaN."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_checks import run_kernel
from webnn_compile.dtypes import F32, I8, I16, I32, U8, DType
from webnn_compile.ir.lanes import Splat, lanes_of
from webnn_compile.ir.nodes import Binary, Buffer, Cast, Const, Expr, For, Kernel, Load, LoopKind, Store, Unary, Var
from webnn_compile.ir.rewrite import walk
from webnn_compile.ir.verify import verify_kernel
from webnn_compile.passes.clamp_conversions import clamp_conversions, is_clamped
from webnn_compile.passes.flatten_indices import flatten_indices
from webnn_compile.passes.vectorize_loops import vectorize_loops

VALUES = [0, 0.5, -0.5, 126.9, 127, 128, 254.99, 255, 256, -127.5, -128.5, 1e9, -1e9, 3e38, np.inf, -np.inf, np.nan]


def vectors(to: DType, value: Expr, x: Buffer, i: Var) -> Kernel:
    y = Buffer("y", x.shape, to)
    return Kernel("k", (x, y), For(i, Store(y, (i,), value), LoopKind.VECTOR))


@pytest.mark.parametrize(
    ("to", "low", "high"), [(U8, 0, 255), (I8, -128, 127), (I32, -7, 90), (I32, 3, 9), (I32, -9, -2)]
)
def test_of_every_kind_of_value(to: DType, low: int, high: int) -> None:
    """The conversion that is left is one of what is within the bounds."""
    data = np.asarray([*VALUES, *VALUES[:-1][::-1]][:32], np.float32)
    x, i = Buffer("x", (32,), F32), Var("i", 32)
    value: Expr = Cast(to, Load(x, (i,)))
    if to == I32:
        value = Binary("min", Binary("max", value, Const(low)), Const(high))
    before = vectorize_loops(flatten_indices(vectors(to, value, x, i)))
    after = clamp_conversions(before)
    verify_kernel(after, "clamp_conversions")
    casts = [n for n in walk(after.body) if isinstance(n, Cast) and n.a.dtype == F32]
    assert casts
    assert all(lanes_of(n) == 32 and n.type == I32 and is_clamped(n.a) for n in casts)
    (got,) = run_kernel(after, [data])
    want = np.clip(np.trunc(np.nan_to_num(data, nan=0, posinf=3e38, neginf=-3e38)), low, high)
    np.testing.assert_array_equal(got, want.astype(to.numpy))
    np.testing.assert_array_equal(got, run_kernel(before, [data])[0])


def test_others_stay() -> None:
    """Conversions of single elements, to all of int32, and of integers stay."""
    x, i = Buffer("x", (4,), F32), Var("i", 4)
    y = Buffer("y", (4,), U8)
    single = Kernel("k", (x, y), For(i, Store(y, (i,), Cast(U8, Load(x, (i,))))))
    assert clamp_conversions(single) is single
    whole = vectorize_loops(vectors(I32, Cast(I32, Load(x, (i,))), x, i))
    assert clamp_conversions(whole) is whole


def test_what_is_clamped_has_no_nan() -> None:
    """max(a, b) keeps a NaN of `a`, so the bound stands first."""
    x, zero, most = (Splat(e, 4) for e in (Load(Buffer("x", (), F32), ()), Const(0.0, F32), Const(255.0, F32)))
    assert is_clamped(Binary("min", Binary("max", zero, x), most))
    assert not is_clamped(Binary("min", Binary("max", x, zero), most))
    assert not is_clamped(Binary("min", Binary("max", zero, x), Splat(Const(2.0**31, F32), 4)))


def test_rounded_numbers_are_converted_by_an_addition() -> None:
    """To the nearest, halves to even, at the bounds and beyond them."""
    steps = np.arange(-520, 520, dtype=np.float32) / 4
    data = np.concatenate([steps, np.asarray([1e9, -1e9, 3e38, np.inf, -np.inf, -0.0, 0.5, 1.5], np.float32)])
    x, i = Buffer("x", data.shape, F32), Var("i", len(data))
    whole = Binary("min", Binary("max", Const(-100.0, F32), Unary("round", Load(x, (i,)))), Const(90.0, F32))
    for to in (I8, I16):
        after = clamp_conversions(vectorize_loops(flatten_indices(vectors(to, Cast(to, whole), x, i))))
        verify_kernel(after, "clamp_conversions")
        assert not any(isinstance(n, Unary) or (isinstance(n, Cast) and n.a.dtype == F32) for n in walk(after.body))
        (got,) = run_kernel(after, [data])
        np.testing.assert_array_equal(got, np.clip(np.rint(data), -100, 90).astype(to.numpy))


def test_an_integer_is_added_before() -> None:
    """As a zero point is: the rounding stays."""
    data = np.arange(-1040, 1040, dtype=np.float32) / 4
    x, z, i = Buffer("x", data.shape, F32), Buffer("z", (), U8), Var("i", len(data))
    y = Buffer("y", x.shape, U8)
    value = Cast(U8, Unary("round", Load(x, (i,))) + Load(z, ()).cast(F32))
    kernel = Kernel("k", (x, z, y), For(i, Store(y, (i,), value), LoopKind.VECTOR))
    after = clamp_conversions(vectorize_loops(flatten_indices(kernel)))
    verify_kernel(after, "clamp_conversions")
    assert not any(isinstance(n, Cast) and n.a.dtype == F32 for n in walk(after.body))
    (got,) = run_kernel(after, [data, np.asarray(131, np.uint8)])
    np.testing.assert_array_equal(got, np.clip(np.rint(data) + 131, 0, 255).astype(np.uint8))
