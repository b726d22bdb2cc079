"""Sizes in floating point: what is known of them is what floats have, at every size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from webnn_compile.dtypes import F16, F32, I64, DType
from webnn_compile.ir.nodes import Scalar
from webnn_compile.ir.sizes import Size, number, value_of
from webnn_compile.tensor.exact_floats import combined, converted, of_float, parts, quotient, rounded

BINARY: dict[str, Callable[..., np.floating]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "max": np.maximum,
    "min": np.minimum,
}
UNARY: dict[str, Callable[..., np.floating]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
    "neg": np.negative,
}
N = Scalar("n", 60, low=1)
NUMBERS = st.sampled_from([0.5, 0.25, -1.5, 2.0, 3.0, 7.0, 14.0, -3.0, 1.0, 0.0, 0.1, 1 / 3, 1000.0, 3e6])
STEPS = st.lists(
    st.one_of(st.sampled_from(sorted(UNARY)), st.tuples(st.sampled_from(sorted(BINARY)), NUMBERS)), max_size=5
)


def exact(e: Size, n: int) -> tuple[int, int]:
    """Numerator and denominator of an element where the size is n, which may be negative: hence the offset."""
    top, bottom = parts(e)
    offset = 1 << 28
    return value_of(top if isinstance(top, int) else number(top) + offset, {N: n}) - (
        0 if isinstance(top, int) else offset
    ), bottom


@pytest.mark.parametrize("dtype", [F32, F16])
@settings(max_examples=300, deadline=None)
@given(steps=STEPS)
def test_chains_of_operations(dtype: DType, steps: list[str | tuple[str, float]]) -> None:
    """The element is the float, or rounds to it; its integer part is that of the float."""
    element: Size | bool | None = converted(dtype, N, I64)
    sizes = np.arange(1, 60)
    floats = sizes.astype(dtype.numpy)
    with np.errstate(all="ignore"):
        for step in steps:
            if element is None or isinstance(element, bool):
                return
            if isinstance(step, str):
                element, floats = rounded(step, element, dtype), UNARY[step](floats)
            else:
                op, value = step
                operand = of_float(float(dtype.numpy.type(value)))
                element = None if operand is None else combined(op, element, operand, dtype)
                floats = BINARY[op](floats, dtype.numpy.type(value))
    if element is None or isinstance(element, bool):
        return
    whole = rounded("trunc", element, dtype)
    assert whole is not None
    for n, f in zip(sizes, floats, strict=True):
        top, bottom = exact(element, int(n))
        assert dtype.numpy.type(top / bottom) == f
        assert exact(whole, int(n)) == (int(f), 1)


@pytest.mark.parametrize("divisor", [3, 7, 14, 100, 1023])
def test_rounded_quotients_of_large_sizes(divisor: int) -> None:
    """Up to the last integers that float32 holds, next to multiples of the divisor."""
    n = Scalar("n", 1 << 24)
    element = combined("/", n, divisor, F32)
    assert element is not None
    assert not isinstance(element, bool)
    multiples = np.arange(1, (1 << 24) // divisor) * divisor
    near = np.concatenate([multiples[-2000:], multiples[:2000]])
    for k in (near - 1, near, near + 1):
        floats = k.astype(np.float32) / np.float32(divisor)
        assert (np.floor(floats) == k // divisor).all()
        assert (np.ceil(floats) == -(-k // divisor)).all()
    assert combined("/", Scalar("n", (1 << 24) + 2), divisor, F32) is None


def test_what_is_not_exact_is_not_known() -> None:
    assert converted(F32, Scalar("n", (1 << 24) + 2), I64) is None
    assert converted(F16, Scalar("n", 2050), I64) is None
    assert of_float(float("nan")) is None
    assert of_float(float("inf")) is None
    assert of_float(0.1) is None
    third = combined("/", N, 3, F32)
    assert third is not None
    assert not isinstance(third, bool)
    assert combined("*", third, 3, F32) is None
    assert combined("+", third, 1, F32) is None
    assert combined("*", N, 1 << 20, F32) is None
    assert quotient(N * 4, 6) == quotient(N * 2, 3)
    assert quotient(6, 4) == quotient(3, 2)
    assert quotient(8, 4) == 2
