"""Conversions of float16 by integer arithmetic, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from vectors import Array, run_pass
from webnn_compile.dtypes import F16, F32, F64, I32
from webnn_compile.ir.nodes import Cast
from webnn_compile.passes.lower_float16 import lower_float16

HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def narrowed(x: Array) -> Array:
    return run_pass(lower_float16, lambda a: Cast(F16, a), np.asarray(x, np.float32))


def test_every_half_widens_exactly() -> None:
    got = run_pass(lower_float16, lambda a: Cast(F32, a), HALVES)
    want = HALVES.astype(np.float32)
    nan = np.isnan(want)
    np.testing.assert_array_equal(np.isnan(got), nan)
    np.testing.assert_array_equal(got.view(np.uint32)[~nan], want.view(np.uint32)[~nan])


def test_every_half_comes_back() -> None:
    back = narrowed(HALVES.astype(np.float32))
    nan = np.isnan(HALVES)
    np.testing.assert_array_equal(np.isnan(back), nan)
    np.testing.assert_array_equal(back.view(np.uint16)[~nan], HALVES.view(np.uint16)[~nan])


def test_ties_round_to_even() -> None:
    """Halfway between neighbours, and one float32 step to each side."""
    finite = HALVES[np.isfinite(HALVES) & (HALVES >= 0)].astype(np.float64)
    middle = ((finite[:-1] + finite[1:]) / 2).astype(np.float32)
    for x in (middle, np.nextafter(middle, np.float32(0)), np.nextafter(middle, np.float32(np.inf)), -middle):
        np.testing.assert_array_equal(narrowed(x).view(np.uint16), x.astype(np.float16).view(np.uint16))


@pytest.mark.parametrize(
    "x", [65504, 65519.996, 65520, 65536, 1e30, np.inf, 1e-30, 2.0**-25, 2.0**-24, 3 * 2.0**-26, 0, -0.0]
)
def test_the_ends_of_the_range(x: float) -> None:
    for value in (x, -x):
        with np.errstate(over="ignore"):
            want = np.asarray([value], np.float32).astype(np.float16)
        np.testing.assert_array_equal(narrowed(np.asarray([value])).view(np.uint16), want.view(np.uint16))


def test_nan_stays_nan() -> None:
    patterns = np.asarray([0x7FC00000, 0xFFC00000, 0x7F800001, 0x7FFFFFFF], np.uint32)
    assert np.isnan(narrowed(patterns.view(np.float32))).all()


def test_other_types_go_through_float32() -> None:
    whole = np.arange(-70_000, 70_000, 7, dtype=np.int32)
    got = run_pass(lower_float16, lambda a: Cast(F16, a), whole)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(got, whole.astype(np.float32).astype(np.float16))
    finite = HALVES[np.isfinite(HALVES)]
    np.testing.assert_array_equal(run_pass(lower_float16, lambda a: Cast(I32, a), finite), finite.astype(np.int32))
    np.testing.assert_array_equal(run_pass(lower_float16, lambda a: Cast(F64, a), finite), finite.astype(np.float64))
