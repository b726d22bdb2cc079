"""Walks the statements of a kernel: what is bound where, and what each statement and its expressions must hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...dtypes import BOOL, I32
from ..all_reduce import AllReduce
from ..calls import Call, HoistedConstants, Pointer, UnrolledInOrder
from ..intrinsic import Tensorized, bind
from ..lanes import Splat, lanes_of
from ..nodes import Alloc, Buffer, Const, Expr, For, If, Load, Outline, Scope, Seq, Stmt, Store, Var
from ..pointers import Advancing, Opaque, PointTo
from ..rewrite import children
from .accesses import check_access, moved, reach
from .grid import check_collective, check_condition, check_in_order, check_loop, check_opaque, inside_loop
from .place import Place, Reach, shown
from .types import check_guard, check_types


def check_statement(s: Stmt, at: Place) -> Iterator[str]:
    """Problems of the statement and of everything in it."""
    match s:
        case Seq(stmts):
            for x in stmts:
                yield from check_statement(x, replace(at, top=False))
        case For(var, body, _, _):
            if var in at.variables:
                yield f"a loop over {var} stands inside a loop over {var}"
            yield from check_loop(s, at)
            inside = inside_loop(s, at)
            if isinstance(body, Advancing):
                for p in body.pointers:
                    yield from _address(p.pointer, p.start, at)
                    there = moved(_reach(p.start, at), var * p.step)
                    inside = _pointing(inside, p.pointer, p.start.buffer, there)
                body = body.body
            yield from check_statement(body, inside)
        case Alloc(buffer, body):
            if buffer.scope is Scope.GLOBAL or buffer in at.readable:
                yield f"{buffer!r} is allocated but global, or allocated twice"
            readable, writable = at.readable | {buffer}, at.writable | {buffer}
            yield from check_statement(body, replace(at, readable=readable, writable=writable, outermost=False))
        case PointTo(pointer, address, body, _):
            yield from _address(pointer, address, at)
            yield from check_statement(body, _pointing(at, pointer, address.buffer, _reach(address, at)))
        case Advancing():
            yield f"what a loop advances stands outside one: {shown(s)}"
        case Opaque(elements):
            yield from check_opaque(s, elements)
            for element in elements:
                yield from _expression(element, at, set())
        case Outline(body):
            yield from check_statement(body, replace(at, outermost=False))
        case Tensorized(intrinsic, body):
            if bind(intrinsic, body) is None:
                yield f"the instruction {intrinsic.name} does something else: {shown(s)}"
            yield from check_statement(body, replace(at, tensorized=True, outermost=False))
        case If(cond, body):
            if cond.dtype != BOOL or lanes_of(cond) != 1:
                yield f"a condition is no scalar bool: {shown(cond)}"
            yield from check_condition(s)
            yield from _expression(cond, at, set())
            yield from check_statement(body, replace(at, conditions=(*at.conditions, cond), outermost=False))
        case Store():
            yield from _store(s, at)
        case HoistedConstants(constants, body):
            if not all(isinstance(c, Splat) and isinstance(c.a, Const) for c in constants):
                yield f"what is held is no vector of a constant: {shown(s)}"
            for c in constants:
                yield from _expression(c, at, set())
            yield from check_statement(body, at)
        case Call():
            yield from _call(s, at)
        case UnrolledInOrder(iterations, sums, advances):
            yield from check_in_order(s)
            for x in iterations:
                yield from check_statement(x, replace(at, top=False, outermost=False))
            for e in (*sums, *(a.pointer.offset for a in advances)):
                yield from _expression(e, at, set())


def _store(s: Store, at: Place) -> Iterator[str]:
    if s.buffer not in at.writable:
        yield f"stores to {s.buffer!r}, which is no output and no local buffer"
    if s.value.dtype != s.buffer.dtype:
        yield f"stores {s.value.dtype} to {s.buffer!r}: {shown(s)}"
    yield from check_access(s, at)
    if lanes_of(s.value) != max((lanes_of(i) for i in s.indices), default=1):
        yield f"the lanes of index and value differ: {shown(s)}"
    seen: set[tuple[int, ...]] = set()
    for e in (*s.indices, s.value.a if isinstance(s.value, AllReduce) else s.value):
        yield from _expression(e, at, seen)
    if isinstance(s.value, AllReduce):
        yield from check_collective(s, s.value)


def _address(pointer: Buffer, address: Pointer, at: Place) -> Iterator[str]:
    """Problems of a pointer that is made here."""
    if pointer in at.readable or pointer.scope is not Scope.GLOBAL or pointer.dtype != address.buffer.dtype:
        yield f"{pointer!r} is no new pointer to {address.buffer!r}"
    if address.buffer not in at.readable or address.buffer.scope is not Scope.GLOBAL or address.offset.dtype != I32:
        yield f"a pointer to no place in memory is made: {shown(address.offset)} of {address.buffer!r}"
    yield from _expression(address.offset, at, set())


def _reach(address: Pointer, at: Place) -> Reach | None:
    return moved(reach(address.buffer, address.buffer.size, at), address.offset)


def _pointing(at: Place, pointer: Buffer, memory: Buffer, there: Reach | None) -> Place:
    """Facts that hold where `pointer` points into `memory`."""
    writable = at.writable | {pointer} if memory in at.writable else at.writable
    return replace(at, readable=at.readable | {pointer}, writable=writable, pointers={**at.pointers, pointer: there})


def _call(s: Call, at: Place) -> Iterator[str]:
    """Problems of a function, which accesses its parameters alone, and of what it is called with."""
    if [b.dtype for b in s.params] != [p.buffer.dtype for p in s.pointers]:
        yield f"parameters and arguments differ: {shown(s)}"
    for p in s.pointers:
        if p.buffer not in at.readable or p.buffer.scope is not Scope.GLOBAL or p.offset.dtype != I32:
            yield f"a function is called with what is no place in a parameter: {shown(p.offset)} of {p.buffer!r}"
        yield from _expression(p.offset, at, set())
    if not at.variables.issuperset(s.numbers):
        yield f"a function is called with variables that are used outside their loops: {shown(s)}"
    writable = frozenset(b for b, p in zip(s.params, s.pointers, strict=False) if p.buffer in at.writable)
    inside = Place(frozenset(s.params), writable, True, frozenset(s.numbers), reached=at.reached, top=False)
    yield from check_statement(s.body, replace(inside, outermost=at.outermost))


def _expression(e: Expr, at: Place, seen: set[tuple[int, ...]]) -> Iterator[str]:
    """Problems of `e` and everything below; nodes that were `seen` under the same conditions are not looked at."""
    stack = [(e, at.conditions)]
    while stack:
        x, conditions = stack.pop()
        key = id(x), *map(id, conditions)
        if key in seen:
            continue
        seen.add(key)
        yield from _node(x, at if conditions is at.conditions else replace(at, conditions=conditions))
        if isinstance(x, Load) and x.guard is not None:
            # Neither the load nor what its indices load happens where the guard is false.
            stack.append((x.guard, conditions))
            stack.extend((i, (*conditions, x.guard)) for i in x.indices)
        else:
            stack.extend((c, conditions) for c in children(x) if isinstance(c, Expr))


def _node(e: Expr, at: Place) -> Iterator[str]:
    yield from check_types(e)
    match e:
        case Var() if e not in at.variables:
            yield f"variable {e} is used outside its loop"
        case Load(buffer, _, _):
            if buffer not in at.readable:
                yield f"loads from {buffer!r}, which is no parameter and not allocated here"
            yield from check_guard(e)
            yield from check_access(e, at)
