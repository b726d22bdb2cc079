"""Long reductions to few results on a GPU: a workgroup for each result.

One invocation per result would leave most of the device idle and read memory with a stride. Here 64 invocations take
every 64th element each, neighbours next to each other, so that a wave reads one run of memory; then they add up their
partial results in shared memory, half of them idle after each of six steps. Bytes are the same, the time falls by up to
the number of idle lanes. Shader compilers of software adapters take about a second for each kernel with barriers, and
gain nothing: hence only where one invocation alone would take longer than that.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.nodes import (
    Alloc,
    Barrier,
    Binary,
    Buffer,
    Const,
    Expr,
    For,
    If,
    Load,
    LoopKind,
    Scope,
    Seq,
    Stmt,
    Store,
    Var,
)
from ...ir.rewrite import rewrite, substitute
from ...ir.simplify import simplify_stmt
from ..nest import Reduction, match_nest
from ..steps import fuse
from .reduction import neutral

INVOCATIONS = 64


def simt_tree(stmt: Stmt) -> Stmt:
    """for i: local acc; acc = a; for k reduce: acc = acc + x[i, k]; y[i] = f(acc)
    ->  for i block: shared part[64]; for t < 64 thread:
            local acc; acc = 0; for ko reduce: acc = acc + x[i, 64*ko + t]; part[t] = acc; barrier;
            if t < 32: part[t] = part[t] + part[t + 32]; barrier; ...; if t < 1: y[i] = f(a + part[0])
    """
    nest = match_nest(stmt)
    assert isinstance(nest, Reduction)
    stmt, over = _fused(stmt, nest)
    nest = match_nest(stmt)
    assert isinstance(nest, Reduction)
    acc, op = nest.acc, nest.op
    part = Buffer("part", (INVOCATIONS,), acc.dtype, Scope.SHARED)
    t, turn = Var("t", INVOCATIONS), Var(f"{over.name}o", -(-over.extent // INVOCATIONS))
    at = turn * INVOCATIONS + t
    step: Stmt = substitute(nest.update, {over: at})
    if over.extent % INVOCATIONS:
        step = If(at < over.extent, step)
    alone = Seq(
        (
            replace(nest.start, value=neutral(op, acc)),
            For(turn, step, parallel=False),
            Store(part, (t,), Load(acc, ())),
        )
    )
    stmts: list[Stmt] = [Alloc(acc, alone), Barrier()]
    half = INVOCATIONS // 2
    while half:
        both = Binary(op, Load(part, (t,)), Load(part, (t + half,)))
        stmts += [If(t < half, Store(part, (t,), both)), Barrier()]
        half //= 2
    total = Binary(op, nest.start.value, Load(part, (Const(0),)))
    stmts[-1] = If(t < 1, _with_result(nest.store, acc, total))
    body: Stmt = Alloc(part, For(t, Seq(tuple(stmts)), LoopKind.THREAD))
    if nest.loops:
        body = For(nest.loops[0], body, LoopKind.BLOCK)
    return simplify_stmt(body)


def _fused(stmt: Stmt, nest: Reduction) -> tuple[Stmt, Var]:
    """All parallel loops as one, and all reduction loops."""
    line = nest.loops[0] if nest.loops else None
    for v in nest.loops[1:]:
        assert line is not None
        stmt, line = fuse(stmt, line, v)
    over = nest.over[0]
    for v in nest.over[1:]:
        stmt, over = fuse(stmt, over, v)
    return stmt, over


def _with_result(store: Store, acc: Buffer, result: Expr) -> Stmt:
    return rewrite(store, lambda n: result if isinstance(n, Load) and n.buffer is acc else None)
