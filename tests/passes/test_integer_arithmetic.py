"""Division, remainders and powers of integers, on every combination of signs and at the ends of each type."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_checks import run_kernel
from vectors import Array, run_pass
from webnn_compile.dtypes import I32, from_numpy
from webnn_compile.ir.lanes import Splat
from webnn_compile.ir.nodes import Binary, Buffer, Const, For, Kernel, Select, Store, Var
from webnn_compile.ir.rewrite import walk
from webnn_compile.passes.lower_math import lower_math

SIGNED = [np.int8, np.int16, np.int32, np.int64]
UNSIGNED = [np.uint8, np.uint16, np.uint32, np.uint64]


def samples(dtype: type[np.generic]) -> Array:
    info = np.iinfo(dtype)
    small = [v for v in (-9, -7, -3, -2, -1, 0, 1, 2, 3, 7, 8) if v >= info.min]
    return np.asarray([*small, info.min, info.min + 1, info.max, info.max - 1], dtype)


def pairs(dtype: type[np.generic]) -> tuple[Array, Array]:
    """Every dividend with every divisor but zero."""
    x, y = (a.reshape(-1) for a in np.meshgrid(samples(dtype), samples(dtype)))
    return np.ascontiguousarray(x[y != 0]), np.ascontiguousarray(y[y != 0])


def exact(op: str, x: Array, y: Array) -> Array:
    """By Python's integers of any size; what does not fit wraps around."""
    results = []
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        truncated = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        results.append({"/": truncated, "//": a // b, "%": a % b, "fmod": a - truncated * b}[op])
    bits = x.dtype.itemsize * 8
    wrapped = np.asarray([r % (1 << bits) for r in results], np.uint64)
    return wrapped.astype(f"uint{bits}").view(x.dtype)


@pytest.mark.parametrize("op", ["/", "//", "%", "fmod"])
@pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED])
def test_division(op: str, dtype: type[np.generic]) -> None:
    x, y = pairs(dtype)
    got = run_pass(lower_math, lambda a, b: Binary(op, a, b), x, y)
    np.testing.assert_array_equal(got, exact(op, x, y))


@pytest.mark.parametrize("op", ["/", "//", "%", "fmod"])
@pytest.mark.parametrize("divisor", [-7, -1, 1, 3, 8])
def test_division_by_a_constant(op: str, divisor: int) -> None:
    x = samples(np.int32)
    constant = Splat(Const(divisor, from_numpy(x.dtype)), x.size)
    got = run_pass(lower_math, lambda a: Binary(op, a, constant), x)
    np.testing.assert_array_equal(got, exact(op, x, np.full_like(x, divisor)))


@pytest.mark.parametrize("op", ["/", "//", "%", "fmod"])
@pytest.mark.parametrize("dtype", [np.int32, np.uint8])
def test_division_by_zero_does_what_division_by_one_does(op: str, dtype: type[np.generic]) -> None:
    x = samples(dtype)
    got = run_pass(lower_math, lambda a, b: Binary(op, a, b), x, np.zeros_like(x))
    np.testing.assert_array_equal(got, exact(op, x, np.ones_like(x)))


@pytest.mark.parametrize(("offset", "corrected"), [(0, False), (-3, True)])
def test_an_index_that_is_not_negative_needs_no_correction(offset: int, corrected: bool) -> None:
    """y[i] = ((i + offset) % 12 // 5) * 10 + (i + offset) // 7"""
    i, y = Var("i", 40), Buffer("y", (40,), I32)
    at = i + offset
    kernel = Kernel("k", (y,), For(i, Store(y, (i,), at % 12 // 5 * 10 + at // 7)))
    lowered = lower_math(kernel)
    assert any(isinstance(n, Select) for n in walk(lowered.body)) is corrected
    (got,) = run_kernel(lowered, [])
    x = np.arange(40) + offset
    np.testing.assert_array_equal(got, x % 12 // 5 * 10 + x // 7)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_powers(dtype: type[np.generic]) -> None:
    x = np.repeat(np.arange(-5, 6), 14).astype(dtype)
    y = np.tile(np.arange(14), 11).astype(dtype)
    np.testing.assert_array_equal(run_pass(lower_math, lambda a, b: Binary("pow", a, b), x, y), np.power(x, y))
