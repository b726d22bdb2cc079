"""Walking and rebuilding IR trees. A rewrite that changes nothing returns the same object."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar, cast

from .nodes import (
    Alloc,
    Binary,
    Bitcast,
    Buffer,
    Cast,
    Const,
    Expr,
    For,
    Load,
    Node,
    Outline,
    Ramp,
    Reduce,
    Select,
    Seq,
    Splat,
    Stmt,
    Store,
    Unary,
    Var,
)

N = TypeVar("N", Expr, Stmt)


def children(node: Node) -> tuple[Node, ...]:
    """The direct sub-nodes, in order of evaluation."""
    match node:
        case Const() | Var():
            return ()
        case Unary(_, a) | Cast(_, a) | Bitcast(_, a) | Splat(a, _) | Ramp(a, _):
            return (a,)
        case Binary(_, a, b):
            return (a, b)
        case Select(c, a, b):
            return (c, a, b)
        case Load(_, indices, guard):
            return indices if guard is None else (*indices, guard)
        case Reduce(_, _, value, _):
            return (value,)
        case For(_, body, _, _) | Alloc(_, body) | Outline(body):
            return (body,)
        case Store(_, indices, value):
            return (*indices, value)
        case Seq(stmts):
            return stmts
    raise AssertionError(f"not an IR node: {node!r}")


def map_children(node: Node, f: Callable[[Node], Node]) -> Node:
    """The node with `f` applied to each direct sub-node."""
    old = children(node)
    if not old:
        return node
    new = tuple([f(c) for c in old])  # a list comprehension recurses in Python alone, however deep
    if all(a is b for a, b in zip(old, new, strict=True)):
        return node
    return with_children(node, new)


def with_children(node: Node, new: tuple[Node, ...]) -> Node:
    """The node with other sub-nodes, in the order of `children`."""
    e = cast("tuple[Expr, ...]", new)
    s = cast("tuple[Stmt, ...]", new)
    match node:
        case Unary(op, _):
            return Unary(op, e[0])
        case Cast(dtype, _):
            return Cast(dtype, e[0])
        case Bitcast(dtype, _):
            return Bitcast(dtype, e[0])
        case Splat(_, lanes):
            return Splat(e[0], lanes)
        case Ramp(_, lanes):
            return Ramp(e[0], lanes)
        case Binary(op, _, _):
            return Binary(op, e[0], e[1])
        case Select():
            return Select(e[0], e[1], e[2])
        case Load(buffer, indices, guard):
            n = len(indices)
            return Load(buffer, e[:n], None if guard is None else e[n])
        case Reduce(op, axes, _, init):
            return Reduce(op, axes, e[0], init)
        case For():
            return replace(node, body=s[0])
        case Alloc(buffer, _):
            return Alloc(buffer, s[0])
        case Outline():
            return Outline(s[0])
        case Store(buffer, indices, _):
            return Store(buffer, e[:-1], e[-1])
        case Seq():
            return Seq(s)
    raise AssertionError(f"not an IR node with children: {node!r}")


def rewrite(node: N, rule: Callable[[Node], Node | None]) -> N:
    """Bottom-up, once: `rule` sees each node after its children were rewritten; None keeps it.

    A node that is shared is rewritten once and stays shared.
    """
    done: dict[int, Node] = {}

    def go(n: Node) -> Node:
        result = done.get(id(n))
        if result is None:
            rebuilt = map_children(n, go)
            changed = rule(rebuilt)
            result = done[id(n)] = rebuilt if changed is None else changed
        return result

    return cast(N, go(node))


def rewrite_top_down(node: N, rule: Callable[[Node], Node | None]) -> N:
    """Top-down: where `rule` gives a node, that stands and is not entered. What is shared stays so."""
    done: dict[int, Node] = {}

    def go(n: Node) -> Node:
        result = done.get(id(n))
        if result is None:
            changed = rule(n)
            result = done[id(n)] = map_children(n, go) if changed is None else changed
        return result

    return cast(N, go(node))


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, outside in; what is shared once only (expressions are graphs: as trees, those
    of nested mathematical functions have millions of nodes)."""
    stack, seen = [node], {id(node)}
    while stack:
        n = stack.pop()
        yield n
        for c in reversed(children(n)):
            if id(c) not in seen:
                seen.add(id(c))
                stack.append(c)


def loads(node: Node) -> Iterator[Load]:
    return (n for n in walk(node) if isinstance(n, Load))


def substitute(node: N, env: Mapping[Var, Expr]) -> N:
    """Variables replaced by expressions."""
    if not env:
        return node
    return rewrite(node, lambda n: env.get(n) if isinstance(n, Var) else None)


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
    """The variables that occur and are bound by no loop or Reduce inside."""
    done: dict[int, frozenset[Var]] = {}

    def go(n: Node) -> frozenset[Var]:
        known = done.get(id(n))
        if known is not None:
            return known
        found: frozenset[Var] = frozenset((n,)) if isinstance(n, Var) else frozenset()
        for child in children(n):
            found |= go(child)
        if isinstance(n, For):
            found -= {n.var}
        elif isinstance(n, Reduce):
            found -= set(n.axes)
        done[id(n)] = found
        return found

    return go(node)
