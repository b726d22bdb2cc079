"""Intervals: no value of an operation lies outside, and the simple operations reach both ends."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from webnn_compile.dtypes import BOOL, F32, I8, I32, I64, U8, DType
from webnn_compile.ir.construct import maximum, minimum, select
from webnn_compile.ir.facts import Facts
from webnn_compile.ir.intervals import INT32, Range, limits
from webnn_compile.ir.nodes import Binary, Buffer, Cast, Const, Expr, Load, Unary, Var
from webnn_compile.ir.scalar_ops import apply_binary, apply_unary

POINTS = (-7, -3, -1, 0, 1, 2, 5, 8)
INTERVALS = [(a, b) for a, b in product(POINTS, POINTS) if a <= b]
TIGHT = frozenset({"+", "-", "*", "max", "min", "/", "//"})


def element(name: str, dtype: DType) -> tuple[Buffer, Expr]:
    b = Buffer(name, (1,), dtype)
    return b, Load(b, (Const(0),))


def values(op: str, a: Range, b: Range) -> np.ndarray:
    x, y = (g.reshape(-1) for g in np.meshgrid(*(np.arange(r[0], r[1] + 1, dtype=np.int64) for r in (a, b))))
    if op in ("shl", "shr", "pow"):
        x, y = x[y >= 0], y[y >= 0]
    return apply_binary(op, x, y)


@pytest.mark.parametrize(
    "op", ["+", "-", "*", "/", "//", "%", "fmod", "max", "min", "and", "or", "xor", "shl", "shr", "pow"]
)
def test_every_pair_of_small_intervals(op: str) -> None:
    (p, x), (q, y) = element("x", I64), element("y", I64)
    for a, b in product(INTERVALS, INTERVALS):
        found = values(op, a, b)
        if not found.size:
            continue
        low, high = Facts({p: a, q: b}).of(Binary(op, x, y))
        assert low <= found.min(), (a, b)
        assert found.max() <= high, (a, b)
        if op in TIGHT:
            assert (low, high) == (found.min(), found.max()), (a, b)


@pytest.mark.parametrize("op", ["neg", "abs", "not"])
@pytest.mark.parametrize("dtype", [I8, U8], ids=str)
def test_unary_operations_wrap_into_their_type(op: str, dtype: DType) -> None:
    b, x = element("x", dtype)
    low, high = limits(dtype)
    for a in [(low, high), (low, low + 3), (high - 2, high), (0, 5)]:
        found = apply_unary(op, np.arange(a[0], a[1] + 1).astype(dtype.numpy))
        r = Facts({b: a}).of(Unary(op, x))
        assert r[0] <= found.min()
        assert found.max() <= r[1]


def test_what_leaves_the_type_may_be_anything() -> None:
    b, x = element("x", U8)
    known = Facts({b: (0, 200)})
    assert known.of(x + 55) == (55, 255)
    assert known.of(x + 56) == (0, 255)
    assert known.unwrapped(x + 56) == (56, 256)


def test_variables_and_unknown_elements() -> None:
    b, x = element("x", I32)
    known = Facts({})
    assert known.of(Var("i", 10) * 3 + 1) == (1, 28)
    assert known.of(x) == INT32
    assert known.of(Load(b, (Const(0),), Const(True, BOOL))) == INT32
    assert Facts({b: (5, 9)}).of(Load(b, (Const(0),), x < 0)) == (0, 9)


def test_both_arms_know_the_condition() -> None:
    b, x = element("x", I64)
    known = Facts({b: (-10, 10)})
    assert known.of(select(x < 0, x, 0)) == (-10, 0)
    assert known.of(select(x < 0, 0, x)) == (0, 10)
    assert known.of(select(x <= 3, x, 3)) == (-10, 3)
    assert known.of(select(x.eq(4), x, 0)) == (0, 4)
    assert known.of(select(x.ne(4), 0, x)) == (0, 4)
    assert known.of(select((x < 5) & (x > 2), x, 3)) == (3, 4)
    assert known.of(select((x < 5) | (x > 7), 5, x)) == (5, 7)
    assert known.of(select(x < -10, x, 1)) == (-10, 10)  # never so: nothing is claimed of it


def test_floats_become_integers() -> None:
    b, x = element("x", F32)
    known = Facts({})
    assert known.of(Cast(I32, x)) == INT32
    assert known.of(Cast(U8, x)) == (0, 255)
    assert known.of(Cast(I64, minimum(maximum(x, -2.5), 7.5))) == (-2, 7)
    assert known.of(Cast(I64, Unary("ceil", minimum(maximum(x, 3.2), 7.5)))) == (0, 8)  # 0 is what NaN gives
    assert known.of(Cast(I64, minimum(x, float("inf")))) == limits(I64)
    y = Cast(F32, Cast(I32, x))
    assert known.of(Cast(I64, y))[1] >= 2**31  # the nearest float to 2**31 - 1
    assert b.size == 1
