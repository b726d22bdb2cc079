"""Evaluates expressions for the interpreter: a function for each node, made once and called often.

Scalars of int32 and bool, which indices and guards are made of, are Python's numbers; NumPy computes the rest.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..dtypes import BOOL, I32
from ..errors import InternalError
from .entry import Entry
from .lanes import Extract, Ramp, Splat, lanes_of
from .nodes import Binary, Bitcast, Buffer, Cast, Const, Expr, Load, Select, Store, Unary, Var
from .rewrite import children
from .scalar_ops import apply_cast, apply_unary, compute_binary

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(slots=True)
class State:
    """The memory, the loop variables so far, and the values of shared nodes, which hold for one statement. `origins`
    says of a function's parameters, which are flat, at which element of their memory they begin."""

    memory: dict[Buffer, Array]
    env: dict[Var, int] = field(default_factory=dict)
    shared: dict[int, Any] = field(default_factory=dict)
    origins: dict[Buffer, int] = field(default_factory=dict)


Evaluator = Callable[[State], Any]
"""Returns an int or a bool for scalars of int32 and bool, else an array or a scalar of NumPy's."""


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
_UNBOUNDED: dict[str, Callable[[int, int], int]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


class Evaluators:
    """Evaluators of one kernel's expressions, by node. Accesses outside a buffer raise InternalError."""

    def __init__(self, kernel: str) -> None:
        self._kernel = kernel
        self._evaluators: dict[int, Evaluator] = {}
        self._roots: dict[int, Evaluator] = {}
        self._places: dict[int, Callable[[State], tuple[Any, ...]]] = {}
        self._uses: Counter[int] = Counter()

    def of(self, e: Expr) -> Evaluator:
        """The evaluator of an expression of a statement."""
        evaluator = self._roots.get(id(e))
        if evaluator is None:
            self._count(e)
            evaluator = self._roots[id(e)] = self._value(e)
        return evaluator

    def place(self, s: Store) -> Callable[[State], tuple[Any, ...]]:
        """The values of the indices of a store, all inside its buffer."""
        evaluator = self._places.get(id(s))
        if evaluator is None:
            for i in s.indices:
                self._count(i)
            evaluator = self._places[id(s)] = self._place(s.buffer, s.indices)
        return evaluator

    def _count(self, e: Expr) -> None:
        self._uses[id(e)] += 1
        if self._uses[id(e)] == 1:
            for child in children(e):
                if isinstance(child, Expr):
                    self._count(child)

    def _value(self, e: Expr) -> Evaluator:
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
        value = self._value(e)
        if not _is_number(e):
            return value
        kind = e.dtype.numpy.type
        return lambda state: kind(value(state))

    def _compute(self, e: Expr) -> Evaluator:
        match e:
            case Const(constant, dtype):
                number = constant if _is_number(e) else dtype.numpy.type(constant)
                number = bool(constant) if dtype == BOOL else int(constant) if dtype == I32 else number
                return lambda state: number
            case Var():
                return lambda state: state.env[e]
            case Binary(op, a, b):
                return self._binary(e, op, a, b)
            case Load(buffer, indices, guard):
                return self._load(e, buffer, indices, guard)
            case Select(c, a, b) if _is_number(c):
                chosen, then, otherwise = self._value(c), self._value(a), self._value(b)

                def select(state: State) -> Any:
                    # Both, as everywhere: an access outside a buffer is none to be skipped.
                    both = otherwise(state), then(state)
                    return both[chosen(state)]

                return select
            case Unary("not", a) if _is_number(a) and a.dtype == BOOL:
                negated = self._value(a)
                return lambda state: not negated(state)
        return _as_number(e, self._by_numpy(e))

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
            case Extract(a, lane):
                x = self._array(a)
                return lambda state: x(state)[lane]
        raise AssertionError(f"not a scalar expression: {e!r}")

    def _binary(self, e: Expr, op: str, a: Expr, b: Expr) -> Evaluator:
        if op in _NUMBERS and _is_number(a) and _is_number(b) and (a.dtype == I32 or op in _ON_BOOLS):
            x, y, apply = self._value(a), self._value(b), _NUMBERS[op]
            return lambda state: apply(x(state), y(state))
        x, y = self._array(a), self._array(b)
        return _as_number(e, lambda state: compute_binary(op, x(state), y(state)))

    def _load(self, e: Expr, buffer: Buffer, indices: tuple[Expr, ...], guard: Expr | None) -> Evaluator:
        place = self._place(buffer, indices)
        load = _as_number(e, lambda state: state.memory[buffer][place(state)])
        if guard is None:
            return load
        inside = self._value(guard)
        lanes = max((lanes_of(i) for i in indices), default=1)
        outside = _as_number(e, lambda state: np.zeros(lanes if lanes > 1 else (), buffer.dtype.numpy))

        def guarded(state: State) -> Any:
            return load(state) if np.all(inside(state)) else outside(state)

        return guarded

    def _place(self, buffer: Buffer, indices: tuple[Expr, ...]) -> Callable[[State], tuple[Any, ...]]:
        values = [self._index(i) for i in indices]
        extents = buffer.shape
        assert len(values) == len(extents)

        def place(state: State) -> tuple[Any, ...]:
            at = tuple([value(state) for value in values])
            shape = extents
            if state.origins and buffer in state.origins:
                at, shape = (at[0] + state.origins[buffer],), state.memory[buffer].shape
            for i, extent in zip(at, shape, strict=True):
                if not (0 <= i < extent if isinstance(i, int) else np.all((i >= 0) & (i < extent))):
                    where = ", ".join(map(str, at))
                    raise InternalError(f"kernel {self._kernel}: access to {buffer!r} at [{where}] is out of range")
            return at

        return place

    def _index(self, e: Expr) -> Evaluator:
        """Like `_value`; sums and products do not wrap, so none comes back into the buffer."""
        match e:
            case Binary(op, a, b) if op in _UNBOUNDED and _is_number(e):
                x, y, apply = self._index(a), self._index(b), _UNBOUNDED[op]
                return lambda state: apply(x(state), y(state))
        if lanes_of(e) == 1 and not _is_number(e):
            value = self._value(e)
            return lambda state: int(value(state))
        return self._value(e)


def _is_number(e: Expr) -> bool:
    return e.dtype in (I32, BOOL) and lanes_of(e) == 1


def _as_number(e: Expr, value: Evaluator) -> Evaluator:
    return (lambda state: value(state).item()) if _is_number(e) else value
