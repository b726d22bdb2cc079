"""Quanta rounded by an addition: the same numbers as by rounding, for whole bounds alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_checks import Array
from webnn_compile.dtypes import F32, I32
from webnn_compile.ir.construct import maximum, minimum, unary
from webnn_compile.ir.interpret import interpret
from webnn_compile.ir.nodes import Buffer, Cast, Const, For, Kernel, Load, Store, Unary, Var
from webnn_compile.ir.rewrite import walk
from webnn_compile.passes.legalise_floats import legalise_floats
from webnn_compile.passes.round_clamped import round_clamped


def rounds(kernel: Kernel) -> bool:
    return any(isinstance(n, Unary) and n.op == "round" for n in walk(kernel.body))


@pytest.mark.parametrize(
    ("low", "high", "replaced"),
    [(0.0, 255.0, True), (-128.0, 127.0, True), (-4194304.0, 4194304.0, True), (0.0, 6.5, False), (0.0, 1e7, False)],
)
def test_halves_become_even(low: float, high: float, *, replaced: bool) -> None:
    halves = np.arange(-600, 601) / 2
    large = np.array([4194302.5, 4194303.5, 4194304.5, 1e30, np.inf])
    x = np.concatenate([halves, np.nextafter(halves, 1e9), large, -large]).astype(np.float32)
    i = Var("i", x.size)
    a, b = Buffer("a", x.shape, F32), Buffer("b", x.shape, F32)
    value = minimum(maximum(Const(low, F32), unary("round", Load(a, (i,)))), Const(high, F32))
    kernel = Kernel("quanta", (a, b), For(i, Store(b, (i,), value)))
    after = legalise_floats(round_clamped(kernel))
    assert rounds(after) != replaced
    check(kernel, after, x, np.float32)


@pytest.mark.parametrize("zero", [None, 3])
@pytest.mark.parametrize(("low", "high"), [(0, 255), (-128, 127), (5, 9)])
def test_integers_without_conversions(low: int, high: int, zero: int | None) -> None:
    x = np.array([*np.arange(-600, 601) / 2, 1e30, -1e30, np.inf, -np.inf, np.nan], np.float32)
    i = Var("i", x.size)
    a, b = Buffer("a", x.shape, F32), Buffer("b", x.shape, I32)
    rounded = unary("round", Load(a, (i,)))
    value = rounded if zero is None else rounded + (i * 0 + zero).cast(F32)
    quantum = minimum(maximum(value.cast(I32), Const(low)), Const(high))
    kernel = Kernel("quanta", (a, b), For(i, Store(b, (i,), quantum)))
    after = legalise_floats(round_clamped(kernel))
    assert not any(isinstance(n, Cast) and n.type == I32 for n in walk(after.body))
    check(kernel, after, x, np.int32)


def check(kernel: Kernel, after: Kernel, x: Array, dtype: Any) -> None:
    got, want = np.empty(x.shape, dtype), np.empty(x.shape, dtype)
    interpret(kernel, [x, want])
    interpret(after, [x, got])
    np.testing.assert_array_equal(got, want)
