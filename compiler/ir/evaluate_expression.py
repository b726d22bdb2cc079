"""Evaluates expressions by NumPy: a function for each node, made once and called often.

What differs between kernels, tensors and sizes is the environment, and how elements are loaded: a `Loader` makes the
functions of loads. Where variables are Python's numbers, scalars of int32 and bool, which indices and guards are made
of, are, too; NumPy computes the rest, and all of it where variables are arrays.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..dtypes import BOOL, I32
from .entry import Entry
from .lanes import Extract, Lanes, Ramp, Splat, lanes_of
from .nodes import Binary, Bitcast, Buffer, Cast, Const, Expr, Load, Select, Unary, Var
from .rewrite import children
from .scalar_ops import apply_cast, apply_unary, compute_binary

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(slots=True)
class State:
    """The memory, the variables, and the values of shared nodes, which hold for one statement. `origins` says of a
    function's parameters, which are flat, at which element of their memory they begin."""

    memory: dict[Buffer, Array]
    env: dict[Var, Any] = field(default_factory=dict)
    shared: dict[int, Any] = field(default_factory=dict)
    origins: dict[Buffer, int] = field(default_factory=dict)


Evaluator = Callable[[State], Any]
"""Returns an int or a bool for what `Evaluators.is_number`, else an array or a scalar of NumPy's."""

Loader = Callable[["Evaluators", Load], Evaluator]
"""Makes the evaluator of a load, from those of its indices and its guard."""


def _wrap(x: int) -> int:
    return x if -(2**31) <= x < 2**31 else (x + 2**31) % 2**32 - 2**31


_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda x, y: _wrap(x + y),
    "-": lambda x, y: _wrap(x - y),
    "*": lambda x, y: _wrap(x * y),
    "//": lambda x, y: _wrap(x // (y or 1)),  # by zero as by one: scalar_ops
    "%": lambda x, y: x % (y or 1),
    "max": max,
    "min": min,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
"""Operations on int32; on bool the last three and comparisons."""

_ON_BOOLS = frozenset(("==", "!=", "and", "or", "xor"))


def _no_loads(_: Evaluators, e: Load) -> Evaluator:
    raise AssertionError(f"loads an element: {e!r}")


def evaluate_expression(
    e: Expr, env: Mapping[Var, Array], memory: Mapping[Buffer, Array] | None = None, load: Loader = _no_loads
) -> Array:
    """The values of an expression for all of its variables at once, whose arrays broadcast."""
    with np.errstate(all="ignore"):
        return np.asarray(Evaluators(load, arrays=True).of(e)(State(dict(memory or {}), dict(env))))


class Evaluators:
    """Evaluators of expressions, by the identity of nodes, which must outlive them. Variables are Python's numbers, or
    `arrays` that broadcast. NumPy's warnings are the caller's to turn off."""

    def __init__(self, load: Loader = _no_loads, *, arrays: bool = False) -> None:
        self._load = load
        self._arrays = arrays
        self._evaluators: dict[int, Evaluator] = {}
        self._roots: dict[int, Evaluator] = {}
        self._uses: Counter[int] = Counter()

    def of(self, e: Expr) -> Evaluator:
        """The evaluator of an expression of a statement."""
        evaluator = self._roots.get(id(e))
        if evaluator is None:
            self.count(e)
            evaluator = self._roots[id(e)] = self.value(e)
        return evaluator

    def is_number(self, e: Expr) -> bool:
        """Whether it is a number of Python's."""
        return not self._arrays and e.dtype in (I32, BOOL) and lanes_of(e) == 1

    def as_number(self, e: Expr, value: Evaluator) -> Evaluator:
        """`value`, which computes `e` by NumPy, so that it returns a number where `e` is one."""
        return (lambda state: value(state).item()) if self.is_number(e) else value

    def count(self, e: Expr) -> None:
        """Counts the uses of the nodes of an expression of a statement, before it is evaluated."""
        self._uses[id(e)] += 1
        if self._uses[id(e)] == 1:
            for child in children(e):
                if isinstance(child, Expr):
                    self.count(child)

    def value(self, e: Expr) -> Evaluator:
        """Computed once a statement, however often the node is shared: `State.shared` is then cleared."""
        key = id(e)
        evaluator = self._evaluators.get(key)
        if evaluator is None:
            compute = self._compute(e)
            if self._uses[key] < 2 or isinstance(e, Const | Var):
                evaluator = compute
            else:

                def evaluator(state: State) -> Any:
                    value = state.shared.get(key)
                    if value is None:
                        value = state.shared[key] = compute(state)
                    return value

            self._evaluators[key] = evaluator
        return evaluator

    def _array(self, e: Expr) -> Evaluator:
        """As NumPy has it."""
        value = self.value(e)
        if not self.is_number(e):
            return value
        kind = e.dtype.numpy.type
        return lambda state: kind(value(state))

    def _compute(self, e: Expr) -> Evaluator:
        match e:
            case Const(value, dtype):
                scalar = dtype.numpy.type(value)
                constant = scalar.item() if self.is_number(e) else scalar
                return lambda state: constant
            case Var():
                return lambda state: state.env[e]
            case Binary(op, a, b):
                return self._binary(e, op, a, b)
            case Load():
                return self._load(self, e)
            case Select(c, a, b) if self.is_number(c):
                chosen, then, otherwise = self.value(c), self.value(a), self.value(b)

                def select(state: State) -> Any:
                    # Both, as everywhere: an access outside a buffer is none to be skipped.
                    both = otherwise(state), then(state)
                    return both[chosen(state)]

                return select
            case Unary("not", a) if self.is_number(a) and a.dtype == BOOL:
                negated = self.value(a)
                return lambda state: not negated(state)
        return self.as_number(e, self._by_numpy(e))

    def _by_numpy(self, e: Expr) -> Evaluator:
        match e:
            case Unary(op, a):
                x = self._array(a)
                return lambda state: apply_unary(op, np.asarray(x(state)))
            case Select(c, a, b):
                chosen, then, otherwise = self._array(c), self._array(a), self._array(b)
                return lambda state: np.where(chosen(state), then(state), otherwise(state))
            case Cast(dtype, a):
                x = self._array(a)
                return lambda state: apply_cast(dtype, x(state))
            case Bitcast(dtype, a):
                x = self._array(a)
                return lambda state: np.asarray(x(state), order="C").view(dtype.numpy)
            case Entry(matrix, row, column):
                table, x, y = np.asarray(matrix, np.float32), self._array(row), self._array(column)
                return lambda state: table[x(state), y(state)]
            case Ramp(base, lanes):
                x, steps = self._array(base), np.arange(lanes, dtype=np.int32)
                return lambda state: np.asarray(x(state) + steps)
            case Splat(a, lanes):
                x = self._array(a)
                return lambda state: np.full(lanes, x(state))
            case Lanes(parts):
                each = [self._array(p) for p in parts]
                return lambda state: np.array([x(state) for x in each], e.dtype.numpy)
            case Extract(a, lane):
                x = self._array(a)
                return lambda state: x(state)[lane]
        raise AssertionError(f"not a scalar expression: {e!r}")

    def _binary(self, e: Expr, op: str, a: Expr, b: Expr) -> Evaluator:
        if op in _NUMBERS and self.is_number(a) and self.is_number(b) and (a.dtype == I32 or op in _ON_BOOLS):
            x, y, apply = self.value(a), self.value(b), _NUMBERS[op]
            return lambda state: apply(x(state), y(state))
        x, y = self._array(a), self._array(b)
        return self.as_number(e, lambda state: compute_binary(op, x(state), y(state)))
