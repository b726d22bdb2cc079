"""A kernel's accesses to memory, as the interpreter evaluates them: none is outside its buffer."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import InternalError
from .evaluate_expression import Evaluator, Evaluators, State
from .lanes import lanes_of
from .nodes import Binary, Buffer, Expr, Load, Store

Place = Callable[[State], tuple[Any, ...]]
"""The values of an access's indices, all inside its buffer."""

_UNBOUNDED: dict[str, Callable[[int, int], int]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


class CheckedAccesses:
    """The accesses of one kernel, and the evaluators of its expressions. One outside its buffer raises
    InternalError."""

    def __init__(self, kernel: str) -> None:
        self._kernel = kernel
        self._places: dict[int, Place] = {}
        self.evaluators = Evaluators(self._load)

    def place(self, s: Store) -> Place:
        """Where a store is."""
        place = self._places.get(id(s))
        if place is None:
            for i in s.indices:
                self.evaluators.count(i)
            place = self._places[id(s)] = self._place(s.buffer, s.indices)
        return place

    def _load(self, evaluators: Evaluators, e: Load) -> Evaluator:
        buffer = e.buffer
        place = self._place(buffer, e.indices)
        load = evaluators.as_number(e, lambda state: state.memory[buffer][place(state)])
        if e.guard is None:
            return load
        inside = evaluators.value(e.guard)
        lanes = max((lanes_of(i) for i in e.indices), default=1)
        outside = evaluators.as_number(e, lambda state: np.zeros(lanes if lanes > 1 else (), buffer.dtype.numpy))

        def guarded(state: State) -> Any:
            return load(state) if np.all(inside(state)) else outside(state)

        return guarded

    def _place(self, buffer: Buffer, indices: tuple[Expr, ...]) -> Place:
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
        """The evaluator of an index: sums and products do not wrap, so none comes back into the buffer."""
        evaluators = self.evaluators
        match e:
            case Binary(op, a, b) if op in _UNBOUNDED and evaluators.is_number(e):
                x, y, apply = self._index(a), self._index(b), _UNBOUNDED[op]
                return lambda state: apply(x(state), y(state))
        value = evaluators.value(e)
        if lanes_of(e) == 1 and not evaluators.is_number(e):
            return lambda state: int(value(state))
        return value
