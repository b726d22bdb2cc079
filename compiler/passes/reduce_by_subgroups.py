"""Replaces a workgroup's collectives by operations of subgroups: for devices that have them."""

from __future__ import annotations

from ..dtypes import BOOL, I32
from ..ir.all_reduce import AllReduce, Among
from ..ir.lanes import Splat
from ..ir.nodes import (
    Alloc,
    Barrier,
    Binary,
    Buffer,
    Const,
    Expr,
    For,
    If,
    Kernel,
    Load,
    Scope,
    Select,
    Seq,
    Stmt,
    Store,
    Var,
)
from ..ir.reduction import neutral
from .replace_all_reduce import Meeting, replace_all_reduce

SMALLEST = 4
"""Invocations of a subgroup at least, where those of the workgroup are a multiple of it: sizes are powers of two."""

TURNS = 4
"""Elements that an invocation reads between two tests of the loop's bound."""

ZERO, ONE = Const(0), Const(1)


def reduce_by_subgroups(kernel: Kernel) -> Kernel:
    """v = + of workgroup(v), t < 64 thread
    ->  shared part[64]: size = + of subgroup(1); rank = + of before(1); v = + of subgroup(v);
        part[t] = select(rank == 0, v, 0); barrier; v = 0;
        for i < 4: if 4 * i * size < 64: for j < 4: if rank + (4 * i + j) * size < 64: v = v + part[...];
        v = + of subgroup(v)

    Nothing is assumed of which invocations are a subgroup, nor of how many there are beyond SMALLEST: one of each keeps
    its total where it has its own place, others leave there what changes nothing. Then every subgroup adds up all of
    that: 64 invocations in subgroups of 32 read two elements each, in subgroups of 4 sixteen.
    """
    return replace_all_reduce(kernel, _by_subgroups)


def _by_subgroups(m: Meeting) -> Stmt:
    assert isinstance(m.store.value, AllReduce)
    size, rank = Buffer("size", (1,), I32, Scope.LOCAL), Buffer("rank", (1,), I32, Scope.LOCAL)
    many, own = Load(size, (ZERO,)), Load(rank, (ZERO,))
    nothing = _lanes(neutral(m.op, m.store.buffer.dtype), m.lanes)

    def keep(value: Expr) -> Stmt:
        return Store(m.store.buffer, m.store.indices, value)

    reads = m.count if m.count % SMALLEST else m.count // SMALLEST
    turn, element = Var("turn", -(-reads // TURNS)), Var("element", min(TURNS, reads))
    at = own + (turn * TURNS + element) * many
    read = If(at < m.count, keep(Binary(m.op, m.target, m.load(at))))
    gather = For(turn, If(turn * TURNS * many < m.count, For(element, read, parallel=False)), parallel=False)
    stmts: list[Stmt] = [
        Store(size, (ZERO,), AllReduce("+", ONE, Among.SUBGROUP)),
        Store(rank, (ZERO,), AllReduce("+", ONE, Among.EXCLUSIVE_SCAN)),
        keep(AllReduce(m.op, m.store.value.a, Among.SUBGROUP)),
        m.keep(m.me, Select(_lanes(own.eq(0), m.lanes), m.target, nothing)),
        Barrier(),
        keep(nothing),
        gather,
        keep(AllReduce(m.op, m.target, Among.SUBGROUP)),
    ]
    return Alloc(size, Alloc(rank, Seq(tuple(stmts))))


def _lanes(e: Expr, lanes: int) -> Expr:
    assert e.dtype == BOOL or isinstance(e, Const)
    return Splat(e, lanes) if lanes > 1 else e
