"""Runs a kernel with NumPy: the meaning that every schedule step and lowering pass must keep. Slow and exact."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, product
from typing import Any

import numpy as np

from ..errors import InternalError
from .all_reduce import AllReduce, Among
from .grid import find_grid
from .lanes import Extract, Ramp, Splat, lanes_of
from .nodes import (
    Alloc,
    Barrier,
    Binary,
    Bitcast,
    Buffer,
    Cast,
    Const,
    Expr,
    For,
    If,
    Kernel,
    Load,
    LoopKind,
    Outline,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    Var,
)
from .rewrite import walk
from .scalar_ops import apply_binary, apply_cast, apply_unary

Array = np.ndarray[Any, np.dtype[Any]]


Subgroups = Callable[[int], int]
"""The subgroup of each invocation of a workgroup, both by number."""


def interpret(kernel: Kernel, arrays: Sequence[Array], subgroups: Subgroups = lambda i: i // 8) -> None:
    """Executes `kernel` on `arrays`, one per parameter, each of its buffer's physical shape and dtype; writes outputs.

    Raises InternalError for an access outside a buffer.
    """
    memory = dict(zip(kernel.params, arrays, strict=True))
    for buffer, array in memory.items():
        if array.shape != buffer.shape or array.dtype != buffer.dtype.numpy:
            raise ValueError(f"{buffer!r} given as {array.dtype}{list(array.shape)}")
    with np.errstate(all="ignore"):
        _Run(kernel.name, memory, subgroups).statement(kernel.body)


@dataclass(slots=True)
class _Arrival:
    """An invocation that waits for the others, with the value that it brings; the one that it takes along is put in
    its place."""

    at: Barrier | AllReduce
    value: Array = field(default_factory=lambda: np.zeros(()))


class _Run:
    """One execution: the memory, and the values of the loop variables so far."""

    def __init__(self, kernel: str, memory: dict[Buffer, Array], subgroups: Subgroups) -> None:
        self.kernel = kernel
        self.memory = memory
        self.subgroups = subgroups
        self.env: dict[Var, int] = {}
        self.known: dict[int, Array] = {}

    def statement(self, s: Stmt) -> None:
        match s:
            case Seq(stmts):
                for x in stmts:
                    self.statement(x)
            case For(_, _, LoopKind.THREAD) if any(isinstance(n, Barrier | AllReduce) for n in walk(s)):
                self.workgroup(s)
            case For(var, body, _, _):
                for i in range(var.extent):
                    self.env[var] = i
                    self.statement(body)
            case Alloc(buffer, body):
                self.allocate(buffer)
                self.statement(body)
            case Outline(body):
                self.statement(body)
            case If(cond, body):
                self.known.clear()
                if self.value(cond):
                    self.statement(body)
            case Store(buffer, indices, value):
                self.known.clear()
                at = self.place(buffer, indices)
                self.memory[buffer][at] = self.value(value)
            case _:
                raise AssertionError(f"not a statement: {s!r}")

    def workgroup(self, s: Stmt) -> None:
        """Invocations that meet at barriers: each runs to its next one in turn."""
        grid = find_grid(Kernel(self.kernel, (), s))
        running: list[Iterator[_Arrival]] = []
        for at in product(*(range(v.extent) for v in reversed(grid.threads))):
            thread = _Run(self.kernel, dict(self.memory), self.subgroups)
            thread.env = {**self.env, **dict(zip(reversed(grid.threads), at, strict=True))}
            running.append(thread.steps(grid.body))
        while arrived := [a for a in (next(t, None) for t in running) if a is not None]:
            if len(arrived) < len(running) or any(a.at is not arrived[0].at for a in arrived):
                raise InternalError(f"kernel {self.kernel}: not every invocation arrives at a barrier")
            if isinstance(meeting := arrived[0].at, AllReduce):
                self.meet(meeting, arrived)

    def meet(self, e: AllReduce, arrived: Sequence[_Arrival]) -> None:
        """Each invocation's value becomes what `e` is there."""
        groups: dict[int, list[_Arrival]] = {}
        for i, a in enumerate(arrived):
            groups.setdefault(0 if e.among is Among.WORKGROUP else self.subgroups(i), []).append(a)
        for group in groups.values():
            values = [a.value for a in group]
            totals = list(accumulate(values, lambda x, y: apply_binary(e.op, x, y)))
            if e.among is Among.BEFORE:
                totals = [np.full_like(values[0], 0 if e.op == "+" else 1), *totals]
            for i, a in enumerate(group):
                a.value = totals[i if e.among is Among.BEFORE else -1]

    def steps(self, s: Stmt) -> Iterator[_Arrival]:
        """Executes `s`, pausing where invocations meet."""
        match s:
            case Barrier():
                yield _Arrival(s)
            case Store(buffer, indices, AllReduce(_, a, _) as e):
                self.known.clear()
                at = self.place(buffer, indices)
                arrival = _Arrival(e, self.value(a))
                yield arrival
                self.memory[buffer][at] = arrival.value
            case Seq(stmts):
                for x in stmts:
                    yield from self.steps(x)
            case For(var, body, _, _):
                for i in range(var.extent):
                    self.env[var] = i
                    yield from self.steps(body)
            case Alloc(buffer, body):
                self.allocate(buffer)
                yield from self.steps(body)
            case _:
                self.known.clear()
                self.statement(s)

    def allocate(self, buffer: Buffer) -> None:
        fill = np.nan if buffer.dtype.is_float else 0
        self.memory[buffer] = np.full(buffer.shape, fill, buffer.dtype.numpy)

    def value(self, e: Expr) -> Array:
        """The value of a node, computed once per store however often it is shared."""
        found = self.known.get(id(e))
        if found is None:
            found = self.known[id(e)] = self.compute(e)
        return found

    def compute(self, e: Expr) -> Array:
        match e:
            case Const(value, dtype):
                return np.asarray(value, dtype.numpy)
            case Var():
                return np.asarray(self.env[e], np.int32)
            case Unary(op, a):
                return apply_unary(op, self.value(a))
            case Binary(op, a, b):
                return apply_binary(op, self.value(a), self.value(b))
            case Select(c, a, b):
                return np.where(self.value(c), self.value(a), self.value(b))
            case Cast(dtype, a):
                return apply_cast(dtype, self.value(a))
            case Bitcast(dtype, a):
                return np.asarray(self.value(a), order="C").view(dtype.numpy)
            case Ramp(base, lanes):
                return np.asarray(self.value(base) + np.arange(lanes, dtype=np.int32))
            case Splat(a, lanes):
                return np.full(lanes, self.value(a))
            case Extract(a, lane):
                return np.asarray(self.value(a)[lane])
            case Load(buffer, indices, guard):
                if guard is not None and not self.value(guard).all():
                    lanes = max((lanes_of(i) for i in indices), default=1)
                    return np.zeros(lanes if lanes > 1 else (), buffer.dtype.numpy)
                return np.asarray(self.memory[buffer][self.place(buffer, indices)])
        raise AssertionError(f"not a scalar expression: {e!r}")

    def place(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[int | Array, ...]:
        """The values of `indices`, all inside `buffer`."""
        at = tuple([self.index(i) for i in indices])
        for i, extent in zip(at, buffer.shape, strict=True):
            if not (0 <= i < extent if isinstance(i, int) else np.all((i >= 0) & (i < extent))):
                where = ", ".join(map(str, at))
                raise InternalError(f"kernel {self.kernel}: access to {buffer!r} at [{where}] is out of range")
        return at

    def index(self, e: Expr) -> int | Array:
        """Like `value`; sums and products of loop variables without the detour through NumPy."""
        match e:
            case Const(value, _):
                return int(value)
            case Var():
                return self.env[e]
            case Binary("+" | "-" | "*", a, b):
                x, y = self.index(a), self.index(b)
                return x + y if e.op == "+" else x - y if e.op == "-" else x * y
        v = self.value(e)
        return int(v) if v.ndim == 0 else v
