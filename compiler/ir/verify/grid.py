"""Kinds of loops: what may stand in them, and where they may stand; what invocations of a workgroup do together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...dtypes import F32, I32
from ..all_reduce import AllReduce, Among
from ..calls import UnrolledInOrder
from ..nodes import Barrier, Const, For, If, Load, LoopKind, Node, Scope, Seq, Stmt, Store
from ..reduction import COMBINE
from .place import Place, shown, unique

GRID = frozenset({LoopKind.BLOCK, LoopKind.THREAD})

DYNAMIC = frozenset({LoopKind.SERIAL, LoopKind.CORE, LoopKind.BLOCK})
"""The kinds of loop whose trip count may be known at run time only."""


def check_loop(s: For, at: Place) -> Iterator[str]:
    """Problems of the loop's kind: of what stands around it and in it."""
    if s.var.length is not None and s.kind not in DYNAMIC:
        yield f"a dynamic loop is one of a kind that needs a fixed number of iterations: {shown(s)}"
    if s.kind in GRID and not (s.parallel and at.top):
        yield f"a loop over the grid is a reduction or stands inside another statement: {shown(s)}"
    if s.kind is LoopKind.CORE and not (s.parallel and at.outermost):
        yield f"a loop for several cores is a reduction or stands inside another statement: {shown(s)}"
    if s.kind is LoopKind.IN_ORDER and any(_is_out_of_order(n) for n in unique(s.body)):
        yield f"a loop in order holds loops that stay, or locals of other types than float32 and int32: {shown(s)}"
    if s.kind is LoopKind.SERIAL and any(_is_total(n) for n in unique(s.body)):
        yield f"a workgroup computes a total together in a loop: {shown(s)}"
    if s.kind is LoopKind.VECTOR and not (s.parallel and _only_stores(s.body)):
        yield f"a vector loop is a reduction or holds more than stores: {shown(s)}"


def inside_loop(s: For, at: Place) -> Place:
    """Facts that hold in the body of the loop. For one of at most one iteration a condition states its length, as its
    variable is 0."""
    once = s.var.length if s.var.extent == 1 else None
    return replace(
        at,
        conditions=at.conditions if once is None else (*at.conditions, Const(0) < once),
        variables=at.variables | {s.var},
        reached=at.reached and s.var.extent > 0,
        top=at.top and s.kind in GRID,
        # The cores may share loops one after the other inside a loop that runs on one of them.
        outermost=s.kind is LoopKind.SERIAL and not s.parallel and at.outermost,
    )


def check_condition(s: If) -> Iterator[str]:
    """Barriers and what invocations compute together take all of them, hence stand under no condition."""
    if any(isinstance(n, Barrier | AllReduce) for n in unique(s.body)):
        yield f"invocations meet under a condition: {shown(s)}"


def check_collective(s: Store, value: AllReduce) -> Iterator[str]:
    """Problems of a store of what invocations compute together."""
    if s.buffer.scope is not Scope.LOCAL:
        yield f"what invocations compute together is stored where all of them store it: {shown(s)}"
    if value.op not in (("+", "*") if value.among is Among.EXCLUSIVE_SCAN else tuple(COMBINE.values())):
        yield f"invocations do not compute {value.op} together: {shown(s)}"


def check_in_order(s: UnrolledInOrder) -> Iterator[str]:
    """Problems of iterations that are written out, and of what passes between them."""
    if any(isinstance(n, For) for x in s.iterations for n in unique(x)):
        yield f"iterations in order hold loops: {shown(s)}"
    yield from check_opaque(s, s.sums)


def check_opaque(s: Stmt, elements: Sequence[Load]) -> Iterator[str]:
    """Problems of what passes through an instruction that does nothing."""
    if any(x.buffer.scope is Scope.GLOBAL or x.dtype not in (F32, I32) for x in elements):
        yield f"what passes between iterations in order is no local float32 or int32: {shown(s)}"


def _is_out_of_order(n: Node) -> bool:
    if isinstance(n, For):
        return n.kind not in (LoopKind.UNROLL, LoopKind.VECTOR)
    return isinstance(n, Store) and n.buffer.scope is not Scope.GLOBAL and n.buffer.dtype not in (F32, I32)


def _is_total(n: Node) -> bool:
    return isinstance(n, AllReduce) and n.among is Among.WORKGROUP


def _only_stores(s: Stmt) -> bool:
    return all(_only_stores(x) for x in s.stmts) if isinstance(s, Seq) else isinstance(s, Store)
