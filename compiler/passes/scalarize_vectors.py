"""Vectors become loops over their lanes."""

from __future__ import annotations

from dataclasses import replace

from ..ir.lanes import Extract, Ramp, Splat, lanes_of
from ..ir.nodes import Const, Expr, For, Kernel, Load, LoopKind, Node, Store, Var
from ..ir.rewrite import map_children, rewrite


def scalarize_vectors(kernel: Kernel) -> Kernel:
    """y[i..+4] = x[i..+4] * splat4(w[0])   ->   for lane < 4: y[i + lane] = x[i + lane] * w[0]

    What `vectorize_loops` made of a loop is one again: lanes do not depend on each other.
    """

    def rule(n: Node) -> Node | None:
        match n:
            case Extract(a, lane):
                return _lane(a, Const(lane))
            case Store(buffer, (*outer, Ramp(base, lanes)), value):
                lane_ = Var("lane", lanes)
                return For(lane_, Store(buffer, (*outer, base + lane_), _lane(value, lane_)))
            case For(kind=LoopKind.IN_ORDER):
                return replace(n, kind=LoopKind.SERIAL)  # one of those holds no loop
        return None

    body = rewrite(kernel.body, rule)
    return kernel if body is kernel.body else replace(kernel, body=body)


def _lane(e: Expr, lane: Expr) -> Expr:
    """The value of a lane of a vector."""
    done: dict[int, Node] = {}

    def go(n: Node) -> Node:
        if id(n) not in done:
            done[id(n)] = of(n)
        return done[id(n)]

    def of(n: Node) -> Node:
        match n:
            case Splat(a, _):
                return a
            case Ramp(base, _):
                return base + lane
            case Load(buffer, (*outer, Ramp(base, _)), guard):
                return Load(buffer, (*outer, base + lane), guard)
            case Expr() if lanes_of(n) > 1:
                return map_children(n, go)
        return n

    element = go(e)
    assert isinstance(element, Expr)
    return element
