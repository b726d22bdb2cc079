"""The meaning of an expression: the same of numbers as of arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from index_expressions import INDICES, TABLE, TABLE_DATA, VARIABLES, iterations, value
from webnn_compile.dtypes import BOOL, F32, I32, I64
from webnn_compile.ir.evaluate_expression import Evaluators, State, evaluate_expression
from webnn_compile.ir.nodes import Binary, Bitcast, Cast, Const, Expr, Load, Select, Unary, Var

GRID = dict(zip(VARIABLES, np.indices([v.extent for v in VARIABLES], np.int32, sparse=True), strict=True))


def from_table(evaluators: Evaluators, e: Load) -> Callable[[State], object]:
    (index,) = map(evaluators.value, e.indices)
    return lambda state: evaluators.as_number(e, lambda s: s.memory[TABLE][index(s)])(state)


@given(INDICES)
def test_numbers_and_arrays_give_the_same(e: Expr) -> None:
    memory = {TABLE: TABLE_DATA.astype(np.int32)}
    whole = np.broadcast_to(evaluate_expression(e, GRID, memory, from_table), [v.extent for v in VARIABLES])
    one = Evaluators(from_table).of(e)
    for at in iterations(VARIABLES, {}):
        number = one(State(memory, dict(at)))
        assert type(number) is int
        assert number == whole[tuple(at.values())] == value(e, at)


LARGEST = Const(2**31 - 1)


@pytest.mark.parametrize(
    ("function", "want"),
    [
        (lambda i: i + LARGEST, [2**31 - 1, -(2**31)]),
        (lambda i: i * 2 * LARGEST, [0, -2]),
        (lambda i: (i - 5) // i, [-5, -4]),
        (lambda i: (i - 5) % i, [0, 0]),
        (lambda i: Binary("/", Const(-5), i), [-5, -5]),
        (lambda i: Unary("not", i), [-1, -2]),
        (lambda i: Unary("not", Cast(BOOL, i)), [True, False]),
        (lambda i: Cast(I32, Cast(F32, i) * 3e9), [0, 2**31 - 1]),
        (lambda i: Cast(I32, Cast(I64, i) + 2**32), [0, 1]),
        (lambda i: Bitcast(I32, Cast(F32, i)), [0, 0x3F800000]),
        (lambda i: Select(i <= 0, Const(7), i), [7, 1]),
        (lambda i: Cast(I32, Select(Cast(F32, i) < 0.5, Const(7.5, F32), Const(1.5, F32))), [7, 1]),
    ],
)
def test_edges(function: Callable[[Var], Expr], want: list[int]) -> None:
    i = Var("i", 2)
    e = function(i)
    np.testing.assert_array_equal(evaluate_expression(e, {i: np.arange(2, dtype=np.int32)}), want)
    with np.errstate(all="ignore"):
        assert [Evaluators().of(e)(State({}, {i: n})) for n in range(2)] == want
