"""Arithmetic in float16 between loads and stores of float16."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_checks import inputs_for, run_kernel
from nests import biased_product, pointwise
from webnn_compile.dtypes import F16, F32
from webnn_compile.ir.nodes import Binary, Buffer, Cast, Const, Expr, For, Kernel, Load, Select, Store, Unary, Var
from webnn_compile.ir.printer import print_kernel
from webnn_compile.ir.rewrite import walk
from webnn_compile.ir.verify import verify_kernel
from webnn_compile.passes.compute_in_halves import compute_in_floats, compute_in_halves
from webnn_compile.passes.store_narrow import load_wide, store_narrow

X = np.array([0, -0.0, 6e-8, -6e-8, 6.1e-5, 1, 2049, -3, 65504, -65504, np.inf, -np.inf, np.nan], np.float16)
"""Subnormals, the largest, what is none."""


def map_of(value: object, extent: int = X.size) -> Kernel:
    """y[i] = value(x[i]), of float16."""
    i, x, y = Var("i", extent), Buffer("x", (extent,), F32), Buffer("y", (extent,), F32)
    made = value(Load(x, (i,)))  # type: ignore[operator]
    kernel = Kernel("map", (x, y), For(i, Store(y, (i,), made)))
    return store_narrow(kernel, {x: F16, y: F16})


def arithmetic(kernel: Kernel) -> list[str]:
    """The operations on float16."""
    return [n.op for n in walk(kernel.body) if isinstance(n, Binary | Unary) and n.dtype == F16]


def test_it_is_written_so() -> None:
    kernel = pointwise(8).kernel
    stored = store_narrow(kernel, dict.fromkeys(kernel.params, F16))
    halves = compute_in_halves(stored)
    verify_kernel(halves, "compute_in_halves")
    (line,) = (line.strip() for line in print_kernel(halves).splitlines() if line.strip().startswith("y["))
    assert line == "y[i] = float16(float32(((float16(float32(x[i])) * 2.0:float16) + 1.0:float16)))"
    wide = compute_in_floats(halves)
    assert print_kernel(wide) == print_kernel(stored)
    assert compute_in_floats(stored) is stored
    assert load_wide(wide)[1] == {0: F16, 1: F16}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (lambda x: x + 1.0, lambda x: x + np.float16(1)),
        (lambda x: x * x, lambda x: x * x),
        (lambda x: Const(0.1, F32) - x, lambda x: np.float16(0.1) - x),
        (lambda x: Unary("abs", Unary("neg", x) * 3.0), lambda x: np.abs(-x * np.float16(3))),
        (
            lambda x: Select(x < 0.0, Const(0.0, F32), x * 2.0),
            lambda x: np.where(x < 0, np.float16(0), x * np.float16(2)),
        ),
    ],
)
def test_numbers_are_those_of_float16(value: object, expected: object) -> None:
    kernel = compute_in_halves(map_of(value))
    assert arithmetic(kernel)
    (got,) = run_kernel(kernel, [X])
    with np.errstate(all="ignore"):
        want = expected(X)  # type: ignore[operator]
    assert got.dtype == want.dtype == np.float16
    np.testing.assert_array_equal(got, want)


@settings(max_examples=10)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9))
def test_sums_and_their_products_are_float32(rows: int, columns: int, depth: int) -> None:
    """The bias is added to the rounded sum."""
    kernel = biased_product(rows, columns, depth).kernel
    stored = store_narrow(kernel, dict.fromkeys(kernel.params, F16))
    halves = compute_in_halves(stored)
    assert set(arithmetic(halves)) <= {"+", "max"}
    inputs = inputs_for(stored)
    a, b, bias = (x.astype(np.float32) for x in inputs)
    (got,) = run_kernel(halves, inputs)
    (plain,) = run_kernel(kernel, [a, b, np.zeros_like(bias)])
    (biased,) = run_kernel(kernel, [a, b, bias])
    np.testing.assert_allclose(got, biased, rtol=2e-3, atol=2e-3 * max(1, np.abs(plain).max()))


@pytest.mark.parametrize(
    "value",
    [
        lambda x: x,
        lambda x: Unary("exp", x),
        lambda x: x / 3.0,
        lambda x: Cast(F32, Cast(F16, x)),
    ],
)
def test_functions_quotients_and_copies_stay(value: object) -> None:
    kernel = map_of(value)
    assert compute_in_halves(kernel) is kernel


@pytest.mark.parametrize("constant", [1e-6, 1e6, float("inf")])
def test_constants_that_are_no_float16_are_rounded_where_they_are_used(constant: float) -> None:
    """They are no literals of float16: compilers of shaders reject some, and flush others to zero."""
    kernel = compute_in_halves(map_of(lambda x: x * constant + 1.0))
    found: list[Expr] = [n for n in walk(kernel.body) if isinstance(n, Const) and n.dtype == F16]
    assert [n.value for n in found if isinstance(n, Const)] == [1.0]
