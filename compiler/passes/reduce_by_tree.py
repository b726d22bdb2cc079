"""Replaces a workgroup's collectives by a tree in its memory: for every device."""

from __future__ import annotations

from ..ir.all_reduce import AllReduce
from ..ir.nodes import Barrier, Binary, Const, Expr, If, Kernel, Seq, Stmt, Store
from .replace_all_reduce import Meeting, replace_all_reduce

WIDTH = 16
"""Values that one invocation adds up in a step. With two, 256 values would be eight steps with a barrier each (some 30
cycles, and on software adapters most of what the kernel takes); with sixteen they are two, and 16 values one. What an
invocation reads in a step is independent, and takes little longer than one element."""


def reduce_by_tree(kernel: Kernel) -> Kernel:
    """v = + of workgroup(v), t < 64 thread
    ->  shared part[64]: part[t] = v; barrier; if t < 4: part[t] = part[t] + part[t + 4] + ... + part[t + 60]; barrier;
        v = part[0] + ... + part[3]
    """
    return replace_all_reduce(kernel, _tree)


def _tree(m: Meeting) -> Stmt:
    assert isinstance(m.store.value, AllReduce)
    stmts: list[Stmt] = [m.keep(m.me, m.store.value.a), Barrier()]
    left = m.count
    while left > WIDTH:
        step = -(-left // WIDTH)
        whole = left // step
        some = m.keep(m.me, _total(m.op, [m.load(m.me + i * step) for i in range(whole)]))
        stmts.append(If(m.me < step, some))
        if left % step:
            last = m.me + whole * step
            stmts.append(If(last < left, m.keep(m.me, Binary(m.op, m.load(m.me), m.load(last)))))
        stmts.append(Barrier())
        left = step
    total = _total(m.op, [m.load(Const(i)) for i in range(left)])
    stmts.append(Store(m.store.buffer, m.store.indices, total))
    return Seq(tuple(stmts))


def _total(op: str, values: list[Expr]) -> Expr:
    """In pairs, so that no operation waits for all before it."""
    while len(values) > 1:
        pairs = [Binary(op, a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        values = pairs + values[len(pairs) * 2 :]
    return values[0]
