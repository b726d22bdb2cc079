"""Walking and rebuilding IR trees. A rewrite that changes nothing returns the same object."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar, cast

from .all_reduce import AllReduce
from .calls import Advance, Call, HoistedConstants, Pointer, UnrolledInOrder
from .entry import Entry
from .intrinsic import Tensorized
from .lanes import Extract, Lanes, Ramp, Splat
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
    Load,
    Node,
    Outline,
    Scalar,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
    Var,
)
from .pointers import Advancing, LoopPointer, Opaque, PointTo
from .reduction import Reduce
from .unlikely import Unlikely

N = TypeVar("N", Expr, Stmt)


def _none(_: Any) -> tuple[Node, ...]:
    return ()


def _operand(n: Any) -> tuple[Node, ...]:
    return (n.a,)


def _base(n: Any) -> tuple[Node, ...]:
    return (n.base,)


def _operands(n: Any) -> tuple[Node, ...]:
    return n.a, n.b


def _body(n: Any) -> tuple[Node, ...]:
    return (n.body,)


def _loop(n: Any) -> tuple[Node, ...]:
    return (n.body,) if n.var.length is None else (n.var.length, n.body)


_CHILDREN: dict[type, Callable[[Any], tuple[Node, ...]]] = {
    Const: _none,
    Var: _none,
    Scalar: _none,
    Unary: _operand,
    Cast: _operand,
    Bitcast: _operand,
    AllReduce: _operand,
    Splat: _operand,
    Extract: _operand,
    Ramp: _base,
    Lanes: lambda n: n.parts,
    Binary: _operands,
    Select: lambda n: (n.cond, n.a, n.b),
    Unlikely: lambda n: (n.cond, n.a, n.b),
    Entry: lambda n: (n.row, n.column),
    Load: lambda n: n.indices if n.guard is None else (*n.indices, n.guard),
    Reduce: lambda n: (n.value,),
    For: _loop,
    Alloc: _body,
    Outline: _body,
    Tensorized: _body,
    If: lambda n: (n.cond, n.body),
    Barrier: _none,
    Store: lambda n: (*n.indices, n.value),
    Seq: lambda n: n.stmts,
    HoistedConstants: lambda n: (*n.constants, n.body),
    Call: lambda n: (*(p.offset for p in n.pointers), n.body),
    UnrolledInOrder: lambda n: (*n.iterations, *n.sums, *(a.pointer.offset for a in n.advances)),
    PointTo: lambda n: (n.address.offset, n.body),
    Advancing: lambda n: (*(p.start.offset for p in n.pointers), n.body),
    Opaque: lambda n: n.elements,
}
# A table, not a `match`: half of the compiler's time is spent in walks over trees.
_LEAVES = frozenset(kind for kind, get in _CHILDREN.items() if get is _none)

INNER = frozenset(_CHILDREN) - _LEAVES
"""Kinds of nodes that have others in them."""

VARIABLES = frozenset({Var, Scalar})


def children(node: Node) -> tuple[Node, ...]:
    """The direct sub-nodes, in order of evaluation."""
    return _CHILDREN[type(node)](node)


def map_children(node: Node, f: Callable[[Node], Node]) -> Node:
    """The node with `f` applied to each direct sub-node."""
    new, same = [], True
    for c in _CHILDREN[type(node)](node):
        mapped = f(c)
        same = same and mapped is c
        new.append(mapped)
    return node if same else with_children(node, tuple(new))


def map_inner(node: Node, f: Callable[[Node], Node]) -> Node:
    """`map_children` where `f` leaves constants and variables as they are: it is not called for them."""
    new, same = [], True
    for c in _CHILDREN[type(node)](node):
        mapped = c if type(c) in _LEAVES else f(c)
        same = same and mapped is c
        new.append(mapped)
    return node if same else with_children(node, tuple(new))


_REBUILD: dict[type, Callable[[Any, tuple[Any, ...]], Node]] = {
    Unary: lambda n, c: Unary(n.op, c[0]),
    Cast: lambda n, c: Cast(n.type, c[0]),
    Bitcast: lambda n, c: Bitcast(n.type, c[0]),
    AllReduce: lambda n, c: AllReduce(n.op, c[0], n.among),
    Splat: lambda n, c: Splat(c[0], n.lanes),
    Extract: lambda n, c: Extract(c[0], n.lane),
    Ramp: lambda n, c: Ramp(c[0], n.lanes),
    Lanes: lambda _, c: Lanes(c),
    Binary: lambda n, c: Binary(n.op, c[0], c[1]),
    Select: lambda _, c: Select(*c),
    Unlikely: lambda _, c: Unlikely(*c),
    Entry: lambda n, c: Entry(n.matrix, *c),
    Load: lambda n, c: Load(n.buffer, c) if n.guard is None else Load(n.buffer, c[:-1], c[-1]),
    Reduce: lambda n, c: Reduce(n.op, n.axes, c[0], n.init),
    For: lambda n, c: _for(n, c),
    Alloc: lambda n, c: Alloc(n.buffer, c[0]),
    Outline: lambda _, c: Outline(c[0]),
    Tensorized: lambda n, c: Tensorized(n.intrinsic, c[0]),
    If: lambda _, c: If(c[0], c[1]),
    Store: lambda n, c: Store(n.buffer, c[:-1], c[-1]),
    Seq: lambda _, c: Seq(c),
    HoistedConstants: lambda _, c: HoistedConstants(c[:-1], c[-1]),
    Call: lambda n, c: replace(n, body=c[-1], pointers=tuple(map(_moved, n.pointers, c[:-1]))),
    UnrolledInOrder: lambda n, c: _in_order(n, c),
    PointTo: lambda n, c: replace(n, address=_moved(n.address, c[0]), body=c[1]),
    Advancing: lambda n, c: _advancing(n, c),
    Opaque: lambda _, c: Opaque(c),
}


def _for(n: For, c: tuple[Any, ...]) -> For:
    """A variable whose length changes is another one."""
    if n.var.length is None or c[0] is n.var.length:
        return replace(n, body=c[-1])
    var = replace(n.var, length=c[0])
    return replace(n, var=var, body=substitute(c[1], {n.var: var}))


def _moved(pointer: Pointer, offset: Expr) -> Pointer:
    return Pointer(pointer.buffer, offset)


def _in_order(n: UnrolledInOrder, c: tuple[Any, ...]) -> UnrolledInOrder:
    first, last = len(n.iterations), len(n.iterations) + len(n.sums)
    advances = (Advance(_moved(a.pointer, offset), a.step) for a, offset in zip(n.advances, c[last:], strict=True))
    return UnrolledInOrder(c[:first], c[first:last], tuple(advances))


def _advancing(n: Advancing, c: tuple[Any, ...]) -> Advancing:
    starts = (LoopPointer(p.pointer, _moved(p.start, o), p.step) for p, o in zip(n.pointers, c[:-1], strict=True))
    return Advancing(tuple(starts), c[-1])


def with_children(node: Node, new: tuple[Node, ...]) -> Node:
    """The node with other sub-nodes, in the order of `children`."""
    return _REBUILD[type(node)](node, new)


def rewrite(node: N, rule: Callable[[Node], Node | None], kinds: Container[type] = INNER) -> N:
    """Bottom-up, once: `rule` gets each node of `kinds` after its children were rewritten; None keeps it.

    A node that is shared is rewritten once and stays shared.
    """
    done: dict[int, Node] = {}
    passed = frozenset(kind for kind in _LEAVES if kind not in kinds)

    # The most frequent function of all: `map_children` and the look-up of what is done are written out.
    def go(n: Node) -> Node:
        result = n
        if type(n) not in _LEAVES:
            new, same = [], True
            for c in _CHILDREN[type(n)](n):
                part = c if type(c) in passed else done.get(id(c))
                if part is None:
                    part = go(c)
                same = same and part is c
                new.append(part)
            if not same:
                result = with_children(n, tuple(new))
        if type(n) in kinds:
            changed = rule(result)
            if changed is not None:
                result = changed
        done[id(n)] = result
        return result

    return cast(N, go(node))


def rewrite_statements(stmt: Stmt, rule: Callable[[Node], Stmt | None]) -> Stmt:
    """`rewrite` by a rule for statements alone: expressions, which are most of the nodes, are not entered."""
    done: dict[int, Node] = {}

    def go(n: Node) -> Node:
        if isinstance(n, Expr):
            return n
        result = done.get(id(n))
        if result is None:
            rebuilt = map_children(n, go)
            changed = rule(rebuilt)
            result = done[id(n)] = rebuilt if changed is None else changed
        return result

    return cast(Stmt, go(stmt))


def rewrite_top_down(node: N, rule: Callable[[Node], Node | None]) -> N:
    """Top-down: a node that `rule` returns replaces the one before, and is not entered. What is shared stays so."""
    done: dict[int, Node] = {}

    def go(n: Node) -> Node:
        result = done.get(id(n))
        if result is None:
            changed = rule(n)
            if changed is None:
                changed = map_children(n, go) if type(n) not in _LEAVES else n
            result = done[id(n)] = changed
        return result

    return cast(N, go(node))


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, outside in; what is shared once only (expressions are graphs: as trees, those
    of nested mathematical functions have millions of nodes)."""
    stack, seen = [node], {id(node)}
    while stack:
        n = stack.pop()
        yield n
        if type(n) in _LEAVES:
            continue
        for c in reversed(_CHILDREN[type(n)](n)):
            if id(c) not in seen:
                seen.add(id(c))
                stack.append(c)


def walk_inner(node: Node) -> Iterator[Node]:
    """The nodes of `walk` that have others in them: leaves, which are most, are not visited."""
    stack, seen = [node], {id(node)}
    while stack:
        n = stack.pop()
        yield n
        for c in reversed(_CHILDREN[type(n)](n)):
            if type(c) not in _LEAVES and id(c) not in seen:
                seen.add(id(c))
                stack.append(c)


def statements(node: Node) -> Iterator[Node]:
    """Statements of `walk`, without a visit to expressions."""
    stack = [node]
    while stack:
        n = stack.pop()
        if not isinstance(n, Expr):
            yield n
            stack.extend(reversed(_CHILDREN[type(n)](n)))


def loads(node: Node) -> Iterator[Load]:
    """Loads of `walk`."""
    return (n for n in walk_inner(node) if isinstance(n, Load))


def substitute(node: N, env: Mapping[Var, Expr]) -> N:
    """Variables replaced by expressions."""
    if not env:
        return node
    return rewrite(node, cast(Callable[[Node], Node | None], env.get), VARIABLES)


def replace_buffers(node: N, env: Mapping[Buffer, Buffer]) -> N:
    """Buffers replaced in every Load, Store and Alloc; indices stay."""

    def rule(n: Node) -> Node | None:
        match n:
            case Load(buffer, indices, guard) if buffer in env:
                return Load(env[buffer], indices, guard)
            case Store(buffer, indices, value) if buffer in env:
                return Store(env[buffer], indices, value)
            case Alloc(buffer, body) if buffer in env:
                return Alloc(env[buffer], body)
        return None

    return rewrite(node, rule)


def free_vars(node: Node) -> frozenset[Var]:
    """The variables that occur, in lengths of loops too, and are bound by no loop or Reduce inside."""
    variables: set[Var] = set()
    stack, seen = [node], set()
    while stack:
        n = stack.pop()
        if isinstance(n, Var):
            variables.add(n)
        elif id(n) not in seen:
            seen.add(id(n))
            if isinstance(n, For):
                variables |= free_vars(n.body) - {n.var}
                stack += () if n.var.length is None else (n.var.length,)
            elif isinstance(n, Reduce):
                variables |= free_vars(n.value) - set(n.axes)
                stack += (a.length for a in n.axes if a.length is not None)
            else:
                stack += _CHILDREN[type(n)](n)
    return frozenset(variables)
