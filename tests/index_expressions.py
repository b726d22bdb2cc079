"""Random index expressions of loop variables, loaded elements and sizes, and what they are in each iteration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from hypothesis import strategies as st
from webnn_compile.dtypes import I32
from webnn_compile.ir.nodes import Binary, Buffer, Const, Expr, Load, Scalar, Select, Unary, Var

VARIABLES = (Var("i", 5), Var("j", 3), Var("k", 7))
TABLE = Buffer("table", (5,), I32, constant=True, values=(-2, 4))
TABLE_DATA = np.asarray([4, -2, 0, 3, -1])
I, J, K = VARIABLES

A, B = Scalar("a", 4, low=1), Scalar("b", 3, low=1)
STEP, FLATTENED = Scalar("step", 3, A), Var("flattened", 6, A * B)
GROWN = Var("grown", 6, A + STEP + 1)
LEFT = Var("left", 2, Binary("max", A - 2, Const(0)))
ROW = Var("row", 2, B)
COUNT = Scalar("count", 43)
NONE = Scalar("none", 3)
SIZES = (A, B, NONE, STEP, FLATTENED, GROWN, LEFT)
"""Sizes of a run, and loops and scalars that depend on them."""

LOADED = st.sampled_from(VARIABLES[:1]).map(lambda v: Load(TABLE, (v,)))


def indices_of(variables: Sequence[Var], *leaves: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    divisors = st.one_of(
        st.integers(1, 8).map(Const), st.sampled_from([v for v in variables if v in (A, B, NONE)] or [Const(2)])
    )

    def grow(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        return st.one_of(
            st.builds(Binary, st.sampled_from(["+", "-", "*", "min", "max"]), inner, inner),
            st.builds(Binary, st.sampled_from(["//", "%"]), inner, divisors),
            st.builds(lambda a: Unary("neg", a), inner),
            st.builds(lambda a, b, c: Select(a < b, b, c), inner, inner, inner),
        )

    return st.recursive(
        st.one_of(st.sampled_from(variables), st.integers(-8, 8).map(Const), *leaves), grow, max_leaves=7
    )


INDICES, INDICES_OF_SIZES = indices_of(VARIABLES, LOADED), indices_of(SIZES)


def iterations(variables: Sequence[Var], at: dict[Expr, int]) -> Iterator[dict[Expr, int]]:
    """All values of variables, each of which may have those before it in its length."""
    if not variables:
        yield at
        return
    v, *rest = variables
    low = v.low if isinstance(v, Scalar) else 0
    for n in range(low, v.extent if v.length is None else value(v.length, at)):
        yield from iterations(rest, at | {v: n})


def value(e: Expr, at: dict[Expr, int]) -> int:
    match e:
        case Const(n, _):
            return int(n)
        case Var():
            return at[e]
        case Load(_, (index,), _):
            return int(TABLE_DATA[value(index, at)])
        case Unary("neg", a):
            return -value(a, at)
        case Unary("not", a):
            return int(not value(a, at))
        case Select(c, a, b):
            return value(a if value(c, at) else b, at)
        case Binary(op, a, b):
            x, y = value(a, at), value(b, at)
            results = {"+": x + y, "-": x - y, "*": x * y, "min": min(x, y), "max": max(x, y), "and": x and y}
            results |= {"<": x < y, "<=": x <= y, "==": x == y, "!=": x != y}
            if op in ("//", "/", "%"):
                return x % y if op == "%" else x // y
            return int(results[op])
    raise AssertionError(e)
