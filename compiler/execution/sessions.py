"""Sessions of a model in this process: each has states of its own, over one copy of the weights."""

from __future__ import annotations

import weakref
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import numpy as np

from ..errors import InputError
from ..ir.nodes import Expr, Scalar
from ..ir.sizes import scalars_of, value_of
from ..program.dimensions import Dimension
from ..program.program import Program, TensorSpec
from ..program.shown_model import Shown, ShownModel, arrays_of
from ..program.states import (
    check_rows,
    counted_rows,
    follows,
    grow_apart,
    lengths_after,
    lengths_at_start,
    rows_ever,
    within_window,
)
from ..values.arrays import read_inputs
from ..values.bind_sizes import bind_sizes
from ..values.ports import check_out

Array = np.ndarray


class StateMemory(Protocol):
    """The memory of a session. Arrays are of the states' extents: with room for their largest shapes."""

    def clear(self) -> None:
        """All zero."""
        ...

    def read(self, state: TensorSpec) -> Array:
        """A copy, or a view that the next run changes."""
        ...

    def write(self, state: TensorSpec, whole: Array) -> None: ...


class StatesOf(Protocol):
    """A program, as far as sessions need to know it."""

    @property
    def states(self) -> Sequence[TensorSpec]: ...

    @property
    def dimensions(self) -> Sequence[Dimension]: ...


class Session(ShownModel):
    """Runs that find what those before have left, apart from other sessions of `model`. States are zero at first;
    `changes` counts how often they have become others."""

    def __init__(self, model: StatefulModel, program: StatesOf, memory: StateMemory) -> None:
        self._model, self.memory = model, memory
        self._states, self._dimensions = program.states, program.dimensions
        sizes = scalars_of(*(n for s in program.states for n in s.shape if isinstance(n, Expr)))
        # Sizes of states that the other inputs of a run decide, such as a batch's.
        self._shared = [d.scalar for d in program.dimensions if d.scalar in sizes and d.after is None]
        self._counted = counted_rows(program.dimensions)
        self._counts = [d for d in program.dimensions if d.dropped_of is not None]
        self._overwritten = [s for s in program.states if s.overwritten]
        self.lengths: dict[Scalar, int] = {}
        self._held: dict[Scalar, int] = {}
        self._runs, self._broken = 0, ""
        self.changes = 0
        self.reset()

    def shown(self) -> Shown:
        return self._model.shown()

    def run(self, inputs: Mapping[str, object], *, out: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Outputs by name, as `run` of the model has it; the states become those that this run leaves. Raises
        StateFullError, before anything is computed, where there is no room for its rows."""
        return self._model.run_in(self, inputs, out)

    def reset(self) -> None:
        """The states as before the first run: zero, of no rows."""
        with self._model.lock:
            self.memory.clear()
            self._start(lengths_at_start(self._dimensions), {})

    @property
    def position(self) -> int:
        """The rows of the states, with those that were dropped; where no state grows the runs since the start."""
        d = self._counted
        return self._runs if d is None else rows_ever(self._dimensions, d, self.lengths)

    def save_state(self) -> dict[str, Array]:
        """Copies of the states by the names of their inputs, of the shapes that they have now; beside those that drop
        rows how many these were, int32 []."""
        with self._model.lock:
            self._check_whole()
            dropped = {d.name: np.array(self.lengths[d.scalar] * d.multiple, np.int32) for d in self._counts}
            return {s.name: self._live(s).copy() for s in self._states} | dropped

    def load_state(self, saved: Mapping[str, object]) -> None:
        """The states become copies of those that `save_state` gave, or of others of such shapes, of which no rows were
        dropped where nothing says how many. Raises InputError for missing or misshapen ones, and leaves the states as
        they are then."""
        counts = {d.scalar: self._count(d, saved) for d in self._counts}
        names = {d.name for d in self._counts}
        arrays = read_inputs(self._states, {name: one for name, one in saved.items() if name not in names})
        scalars = scalars_of(*(n for s in self._states for n in s.shape if isinstance(n, Expr)))
        sizes = bind_sizes([d for d in self._dimensions if d.scalar in scalars], self._states, arrays)
        for s, a in zip(self._states, arrays, strict=True):
            if any(n > most for n, most in zip(a.shape, s.extents, strict=True)):
                raise InputError(f"load_state: {s.name!r} has room for {list(s.extents)}, got {list(a.shape)}")
        lengths = counts | {s: n for s, n in sizes.items() if s in lengths_at_start(self._dimensions)}
        with self._model.lock:
            self.memory.clear()
            for s, a in zip(self._states, arrays, strict=True):
                whole = np.zeros(s.extents, s.dtype.numpy)
                whole[tuple(map(slice, a.shape))] = a
                self.memory.write(s, whole)
            self._start(lengths, {s: n for s, n in sizes.items() if s not in lengths})

    def rewind(self, rows: int) -> None:
        """Drops the last `rows` of the states, those of each length that grows as positions do. Raises InputError where
        there are fewer, or where not all states have their newest rows at the end: load what was saved there."""
        advice = "save_state() and load_state() take them back"
        if apart := grow_apart(self._dimensions):
            names = " and ".join(d.name for d in self._dimensions if d is self._counted or d in apart)
            raise InputError(f"rewind: {names} grow by different numbers of rows; {advice}")
        others = [s for s in self._overwritten if not s.stays]
        if self._counted is None or others:
            names = " and ".join(s.name for s in others or self._states)
            raise InputError(f"rewind: a run does not just add rows to the end of {names}; {advice}")
        with self._model.lock:
            self._check_whole()
            followed = {d.scalar: d for d in self._dimensions if follows(self._dimensions, d)}
            for s, d in followed.items():
                there = self.lengths[s] * d.multiple
                if not 0 <= rows <= there or rows % d.multiple:
                    raise InputError(f"rewind({rows}): the states have {there} rows ({d.name})")
            self.lengths |= {s: self.lengths[s] - rows // d.multiple for s, d in followed.items()}
            self.changes += 1

    def check_rows(self, rows: int, most: int, *, at_start: bool = False) -> None:
        """Raises StateFullError where the states, or those before the first run, have no room for runs of together so
        many `rows`, of `most` in one."""
        lengths = lengths_at_start(self._dimensions) if at_start else self.lengths
        check_rows(self._dimensions, lengths, rows, most)

    def session(self) -> Session:
        """A new session of the model, of zeros."""
        return self._model.session()

    def fork(self) -> Session:
        """A new session with copies of these states."""
        with self._model.lock:
            self._check_whole()
            other = self._model.session()
            for s in self._states:
                other.memory.write(s, np.array(self.memory.read(s)))
            other.lengths, other._held, other._runs = dict(self.lengths), dict(self._held), self._runs
            other.changes = self.changes
        return other

    def check(self, scalars: Mapping[Scalar, int]) -> None:
        """Raises InputError where states are undefined, or are of runs with other sizes than these."""
        self._check_whole()
        for d in self._dimensions:
            if self._held.get(d.scalar, scalars[d.scalar]) != scalars[d.scalar]:
                before, now = (n * d.multiple for n in (self._held[d.scalar], scalars[d.scalar]))
                raise InputError(f"{d.name} is {now}, and the states are of runs with {before}: reset() comes first")

    def begin(self, scalars: Mapping[Scalar, int]) -> bool:
        """Whether a run with these sizes begins with other `lengths` now: rows were dropped, for which it would not
        find room. Raises InputError where it cannot begin."""
        self.check(scalars)
        others = self._drop_rows(within_window(self._dimensions, scalars))
        self.lose()
        return others

    def lose(self) -> None:
        """A run that ends with an error has written over states."""
        if self._overwritten:
            self._broken = "a run ended with an error and left the states undefined: reset() or load_state() first"

    def end(self, scalars: Mapping[Scalar, int]) -> None:
        """Takes the lengths that a run with these sizes leaves."""
        self.take(lengths_after(self._dimensions, scalars), scalars)

    def take(self, lengths: dict[Scalar, int], scalars: Mapping[Scalar, int]) -> None:
        """The `lengths` that a run with these sizes has left."""
        self.lengths, self._broken = lengths, ""
        self._held = {s: scalars[s] for s in self._shared}
        self._runs += 1
        self.changes += 1

    def _drop_rows(self, found: Mapping[Scalar, int]) -> bool:
        """Leaves the newest rows of the states, as many as a run that has `found` those; whether that are fewer."""
        lengths = {s: found[s] for s in self.lengths}
        if lengths == self.lengths:
            return False
        live = [self._live(s) for s in self._states]
        self.lengths = lengths
        for s, there in zip(self._states, live, strict=True):
            newest = tuple(slice(a - b, a) for a, b in zip(there.shape, self._shape(s), strict=True))
            if newest != tuple(map(slice, there.shape)):
                whole = np.zeros(s.extents, s.dtype.numpy)
                whole[tuple(map(slice, self._shape(s)))] = there[newest]
                self.memory.write(s, whole)
        return True

    def _count(self, d: Dimension, saved: Mapping[str, object]) -> int:
        """The rows that were dropped of what was saved, in multiples. Raises InputError for what is no such number."""
        rows = np.asarray(saved.get(d.name, 0))
        if rows.size != 1 or rows.dtype.kind not in "iu" or not 0 <= rows.item() <= d.most or rows.item() % d.multiple:
            raise InputError(f"load_state: {d.name!r} is no number of rows, which save_state gives: {saved[d.name]!r}")
        return int(rows.item()) // d.multiple

    def _start(self, lengths: dict[Scalar, int], held: dict[Scalar, int]) -> None:
        self.lengths, self._held, self._runs, self._broken = lengths, held, 0, ""
        self.changes += 1

    def _check_whole(self) -> None:
        if self._broken:
            raise InputError(self._broken)

    def _live(self, state: TensorSpec) -> Array:
        return self.memory.read(state)[tuple(map(slice, self._shape(state)))]

    def _shape(self, state: TensorSpec) -> tuple[int, ...]:
        least = {d.scalar: d.scalar.low for d in self._dimensions}
        return tuple(value_of(n, {**least, **self._held, **self.lengths}) for n in state.shape)


class StatefulModel(ShownModel):
    """A model whose own methods are those of a first session, where it has states."""

    _first: Session | None = None

    @property
    @abstractmethod
    def lock(self) -> AbstractContextManager[object]:
        """Held during a run, reentrant."""

    @abstractmethod
    def new_memory(self) -> StateMemory:
        """Memory for a session, of zeros."""

    @abstractmethod
    def run_in(
        self, session: Session | None, inputs: Mapping[str, object], out: Mapping[str, Array] | None
    ) -> dict[str, Array]:
        """A run with the states of a session."""

    @property
    @abstractmethod
    def kept(self) -> StatesOf:
        """The program, as far as sessions need to know it."""

    def session(self) -> Session:
        """A new session, independent of all others and of the model's own methods."""
        return self._session(self)

    def _session(self, model: StatefulModel) -> Session:
        if not self.kept.states:
            raise InputError("the model keeps nothing between runs: compile it with states (--state IN=OUT)")
        return Session(model, self.kept, self.new_memory())

    def reset(self) -> None:
        """As `Session.reset`."""
        self._own().reset()

    @property
    def changes(self) -> int:
        """As `Session.changes`."""
        return self._own().changes

    @property
    def position(self) -> int:
        """As `Session.position`."""
        return self._own().position

    def save_state(self) -> dict[str, Array]:
        """As `Session.save_state`."""
        return self._own().save_state()

    def load_state(self, saved: Mapping[str, object]) -> None:
        """As `Session.load_state`."""
        self._own().load_state(saved)

    def rewind(self, rows: int) -> None:
        """As `Session.rewind`."""
        self._own().rewind(rows)

    def check_rows(self, rows: int, most: int, *, at_start: bool = False) -> None:
        """As `Session.check_rows`."""
        self._own().check_rows(rows, most, at_start=at_start)

    def fork(self) -> Session:
        """As `Session.fork`."""
        return self._own().fork()

    def _own(self) -> Session:
        if self._first is None:
            # Without a cycle: a model's memory is given back as soon as nothing refers to it.
            self._first = self._session(weakref.proxy(self))
        return self._first


class ProgramModel(StatefulModel):
    """A model that runs a program of a processor, `program`. Subclasses take `_lock` during a run."""

    program: Program
    backend: str
    _lock: AbstractContextManager[object]

    def shown(self) -> Shown:
        return Shown(self.backend, arrays_of(self.program.inputs), arrays_of(self.program.outputs))

    def run(self, inputs: Mapping[str, object], *, out: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """Outputs by name, in the arrays of `out` where it has any: such an array, or its corner ([:n, :m]) where it is
        larger than the output in this run. Raises InputError for a missing, unexpected or misshapen input, and for an
        array that an output does not fit."""
        if out is not None:
            check_out(self.program.outputs, out)
        return self.run_in(self._own() if self.program.states else None, inputs, out)

    @property
    def kept(self) -> Program:
        return self.program

    @property
    def lock(self) -> AbstractContextManager[object]:
        return self._lock
