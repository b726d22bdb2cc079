"""Replaces the collectives of invocations by constructs of a language: the frame that both ways share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..ir.all_reduce import AllReduce, Among
from ..ir.grid import find_grid
from ..ir.lanes import Ramp, lanes_of
from ..ir.nodes import Alloc, Buffer, Const, Expr, For, Kernel, Load, LoopKind, Scope, Stmt, Store
from ..ir.rewrite import rewrite_top_down, walk


@dataclass(frozen=True, slots=True)
class Meeting:
    """One total of a workgroup: `target` is stored in place of `store`, whose value it is. `part` has room for the
    value of each of `count` invocations, of which the current one is number `me`."""

    store: Store
    op: str
    part: Buffer
    me: Expr
    count: int
    lanes: int

    @property
    def target(self) -> Load:
        return Load(self.store.buffer, self.store.indices)

    def place(self, invocation: Expr) -> Expr:
        """The index in `part` of the value of an invocation."""
        return Ramp(invocation * self.lanes, self.lanes) if self.lanes > 1 else invocation

    def load(self, invocation: Expr) -> Expr:
        return Load(self.part, (self.place(invocation),))

    def keep(self, invocation: Expr, value: Expr) -> Stmt:
        return Store(self.part, (self.place(invocation),), value)


def replace_all_reduce(kernel: Kernel, make: Callable[[Meeting], Stmt]) -> Kernel:
    """Each store of a total of the workgroup becomes what `make` says, and its `part` is allocated for the workgroup.

    Buffers are flat and vectors are made.
    """
    stores = [n for n in walk(kernel.body) if isinstance(n, Store) and _is_total(n.value)]
    if not stores:
        return kernel
    threads = find_grid(kernel).threads
    me: Expr = Const(0)
    count = 1
    for v in threads:
        me, count = me + v * count, count * v.extent
    replaced: dict[int, Stmt] = {}
    parts: list[Buffer] = []
    for s in stores:
        assert isinstance(s.value, AllReduce)
        lanes = lanes_of(s.value)
        parts.append(Buffer("part", (count * lanes,), s.buffer.dtype, Scope.SHARED))
        replaced[id(s)] = make(Meeting(s, s.value.op, parts[-1], me, count, lanes))

    def outermost(n: object) -> Stmt | None:
        if isinstance(n, For) and n.kind is LoopKind.THREAD:
            body: Stmt = rewrite_top_down(n, lambda x: replaced.get(id(x)))
            for part in parts:
                body = Alloc(part, body)
            return body
        return None

    return replace(kernel, body=rewrite_top_down(kernel.body, outermost))


def _is_total(e: Expr) -> bool:
    return isinstance(e, AllReduce) and e.among is Among.WORKGROUP
