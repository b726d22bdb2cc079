"""Runs a kernel with NumPy: the meaning that every schedule step and lowering pass must keep. Slow and exact."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, product
from typing import Any

import numpy as np

from ..errors import InternalError
from .all_reduce import AllReduce, Among
from .calls import Call, HoistedConstants, Pointer, UnrolledInOrder
from .checked_accesses import CheckedAccesses
from .evaluate_expression import State
from .grid import find_grid
from .intrinsic import Operands, Tensorized, operands
from .nodes import Alloc, Barrier, Buffer, Expr, For, If, Kernel, LoopKind, Outline, Seq, Stmt, Store, Var
from .pointers import Advancing, Opaque, PointTo
from .rewrite import walk
from .scalar_ops import apply_binary

Array = np.ndarray[Any, np.dtype[Any]]


Instructions = Mapping[str, Callable[..., None]]
"""Simulated hardware: by the name of an intrinsic what it does with arrays, its parameters in order."""

Subgroups = Callable[[int], int]
"""The subgroup of each invocation of a workgroup, both by number."""


def interpret(
    kernel: Kernel,
    arrays: Sequence[Array],
    subgroups: Subgroups = lambda i: i // 8,
    instructions: Instructions | None = None,
    scalars: Sequence[int] = (),
) -> None:
    """Executes `kernel` on `arrays`, one per parameter, each of its buffer's physical shape and dtype; writes outputs.
    `instructions` do what is tensorized, or else the loops that it stands for. `scalars` are the launch's, one for each
    of the kernel's.

    Raises InternalError for an access outside a buffer, and for more iterations than a loop's capacity.
    """
    memory = dict(zip(kernel.params, arrays, strict=True))
    for buffer, array in memory.items():
        if array.shape != buffer.shape or array.dtype != buffer.dtype.numpy:
            raise ValueError(f"{buffer!r} given as {array.dtype}{list(array.shape)}")
    with np.errstate(all="ignore"):
        shared = _Shared(kernel.name, subgroups, CheckedAccesses(kernel.name), instructions or {})
        _Run(shared, memory, dict(zip(kernel.scalars, scalars, strict=True))).statement(kernel.body)


@dataclass(slots=True)
class _Arrival:
    """An invocation that waits for the others, with the value that it brings; the one that it takes along is put in
    its place."""

    at: Barrier | AllReduce
    value: Array = field(default_factory=lambda: np.zeros(()))


@dataclass(frozen=True, slots=True)
class _Shared:
    """State shared by all of a kernel's invocations. `bound` are the operands of what is tensorized, by its identity:
    kept, since evaluators look expressions up by theirs."""

    kernel: str
    subgroups: Subgroups
    accesses: CheckedAccesses
    instructions: Instructions
    bound: dict[int, Operands] = field(default_factory=dict)


class _Run:
    """One execution, of a kernel or of one of its invocations."""

    def __init__(self, shared: _Shared, memory: dict[Buffer, Array], env: dict[Var, int] | None = None) -> None:
        self.shared = shared
        self.state = State(memory, {} if env is None else env)

    def statement(self, s: Stmt) -> None:
        match s:
            case Seq(stmts):
                for x in stmts:
                    self.statement(x)
            case For(_, _, LoopKind.THREAD) if any(isinstance(n, Barrier | AllReduce) for n in walk(s)):
                self.workgroup(s)
            case For(var, body, _, _):
                for i in range(self.trips(var)):
                    self.state.env[var] = i
                    for p in body.pointers if isinstance(body, Advancing) else ():
                        self.point(p.pointer, p.start, i * p.step)
                    self.statement(body)
            case Alloc(buffer, body):
                self.allocate(buffer)
                self.statement(body)
            case Tensorized(intrinsic, _) if intrinsic.name in self.shared.instructions:
                self.instruction(s)
            case PointTo(pointer, address, body):
                self.point(pointer, address)
                self.statement(body)
            case Outline(body) | HoistedConstants(_, body) | Tensorized(_, body) | Advancing(_, body):
                self.statement(body)
            case Call():
                self.call(s)
            case UnrolledInOrder(iterations):
                for x in iterations:
                    self.statement(x)
            case Opaque():
                pass
            case If(cond, body):
                self.state.shared.clear()
                if self.value(cond):
                    self.statement(body)
            case Store(buffer, _, value):
                self.state.shared.clear()
                at = self.place(s)
                self.state.memory[buffer][at] = self.value(value)
            case _:
                raise AssertionError(f"not a statement: {s!r}")

    def trips(self, var: Var) -> int:
        """The iterations of a loop. InternalError where they are more than its capacity."""
        if var.length is None:
            return var.extent
        self.state.shared.clear()
        trips = int(self.value(var.length))
        if trips > var.extent:
            raise InternalError(f"kernel {self.shared.kernel}: {trips} iterations of {var}, at most {var.extent}")
        return trips

    def instruction(self, s: Tensorized) -> None:
        """Hands the operands to simulated hardware, as views of their memory."""
        self.state.shared.clear()
        views = []
        if id(s) not in self.shared.bound:
            self.shared.bound[id(s)] = operands(s)
        for param, operand in self.shared.bound[id(s)]:
            flat = self.state.memory[operand.buffer].reshape(-1)[self.value(operand.base) :]
            steps = operand.stride * flat.itemsize, flat.itemsize
            views.append(np.lib.stride_tricks.as_strided(flat, param.shape, steps))
        self.shared.instructions[s.intrinsic.name](*views)

    def call(self, s: Call) -> None:
        """Runs the body with what the function is given, and nothing else."""
        self.state.shared.clear()
        env = {v: self.state.env[v] for v in s.numbers}
        inner = _Run(self.shared, {}, env)
        for param, p in zip(s.params, s.pointers, strict=True):
            inner.state.memory[param] = self.state.memory[p.buffer]
            inner.state.origins[param] = self.origin(p)
        inner.statement(s.body)

    def point(self, pointer: Buffer, address: Pointer, further: int = 0) -> None:
        """Makes `pointer` point `further` elements beyond `address`."""
        self.state.shared.clear()
        self.state.memory[pointer] = self.state.memory[address.buffer]
        self.state.origins[pointer] = self.origin(address) + further

    def origin(self, address: Pointer) -> int:
        """The element of its memory at which `address` is."""
        return self.state.origins.get(address.buffer, 0) + int(self.value(address.offset))

    def workgroup(self, s: Stmt) -> None:
        """Invocations with barriers: each runs to its next one in turn."""
        grid = find_grid(Kernel(self.shared.kernel, (), s))
        running: list[Iterator[_Arrival]] = []
        for at in product(*(range(v.extent) for v in reversed(grid.threads))):
            env = {**self.state.env, **dict(zip(reversed(grid.threads), at, strict=True))}
            thread = _Run(self.shared, dict(self.state.memory), env)
            running.append(thread.steps(grid.body))
        while arrived := [a for a in (next(t, None) for t in running) if a is not None]:
            if len(arrived) < len(running) or any(a.at is not arrived[0].at for a in arrived):
                raise InternalError(f"kernel {self.shared.kernel}: not every invocation arrives at a barrier")
            if isinstance(meeting := arrived[0].at, AllReduce):
                self.meet(meeting, arrived)

    def meet(self, e: AllReduce, arrived: Sequence[_Arrival]) -> None:
        """Each invocation's value becomes what `e` is there."""
        groups: dict[int, list[_Arrival]] = {}
        for i, a in enumerate(arrived):
            groups.setdefault(0 if e.among is Among.WORKGROUP else self.shared.subgroups(i), []).append(a)
        for group in groups.values():
            values = [a.value for a in group]
            totals = list(accumulate(values, lambda x, y: apply_binary(e.op, x, y)))
            if e.among is Among.EXCLUSIVE_SCAN:
                totals = [np.full_like(values[0], 0 if e.op == "+" else 1), *totals]
            for i, a in enumerate(group):
                a.value = totals[i if e.among is Among.EXCLUSIVE_SCAN else -1]

    def steps(self, s: Stmt) -> Iterator[_Arrival]:
        """Executes `s`, pausing at barriers."""
        match s:
            case Barrier():
                yield _Arrival(s)
            case Store(buffer, _, AllReduce(_, a, _) as e):
                self.state.shared.clear()
                at = self.place(s)
                arrival = _Arrival(e, np.asarray(self.value(a), a.dtype.numpy))
                yield arrival
                self.state.memory[buffer][at] = arrival.value
            case Seq(stmts):
                for x in stmts:
                    yield from self.steps(x)
            case For(var, body, _, _):
                for i in range(self.trips(var)):
                    self.state.env[var] = i
                    yield from self.steps(body)
            case Alloc(buffer, body):
                self.allocate(buffer)
                yield from self.steps(body)
            case _:
                self.state.shared.clear()
                self.statement(s)

    def allocate(self, buffer: Buffer) -> None:
        fill = np.nan if buffer.dtype.is_float else 0
        self.state.memory[buffer] = np.full(buffer.shape, fill, buffer.dtype.numpy)

    def value(self, e: Expr) -> Any:
        return self.shared.accesses.evaluators.of(e)(self.state)

    def place(self, s: Store) -> tuple[Any, ...]:
        """Where `s` stores, inside its buffer."""
        return self.shared.accesses.place(s)(self.state)
