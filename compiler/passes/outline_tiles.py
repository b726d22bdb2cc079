"""Outlined regions become calls of functions; the pointers and numbers that each takes are chosen here."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from ..ir.addresses import Address, Addresses, Items, offset_bias
from ..ir.affine import Affine
from ..ir.calls import Call, Pointer
from ..ir.facts import range_of_sum
from ..ir.lanes import Ramp
from ..ir.nodes import Buffer, Expr, For, Kernel, Load, Node, Outline, Scope, Stmt, Store, Var
from ..ir.rewrite import free_vars, map_children, rewrite_top_down

Placed = tuple[Buffer, Items, int]
"""The parameter through which an access goes, what is added to it there, and the constant that its pointer has."""


def outline_tiles(kernel: Kernel) -> Kernel:
    """for i: outline: for k: y[8*i] = x[8*i + k + 2]
    ->  for i: call(p = &y[8*i], q = &x[8*i + 2]): for k: p[0] = q[k]

    A function takes a pointer for each address form of its body, with what is known outside and the least constant
    added already, and the variables of loops around it that it needs as numbers. So equal tiles at different places are
    equal functions.
    """
    body = _outline(kernel.body, kernel.scalars)
    return kernel if body is kernel.body else replace(kernel, body=body)


def _outline(s: Stmt, bound: tuple[Var, ...]) -> Stmt:
    """`bound` are the scalars and the variables of the loops around `s`, outermost first."""
    match s:
        case Outline(body):
            return _call(body, bound)
        case For(var, _, _, _):
            bound = (*bound, var)
    return cast(Stmt, map_children(s, lambda c: c if isinstance(c, Expr) else _outline(c, bound)))


def _call(body: Stmt, bound: tuple[Var, ...]) -> Call:
    addresses = Addresses()
    variables = frozenset(bound)
    groups: dict[tuple[Buffer, Items, Items], list[Address]] = {}
    for a in addresses.below(body):
        outer = a.within(variables)
        groups.setdefault((a.buffer, outer, a.items - outer), []).append(a)
    params: list[Buffer] = []
    pointers: list[Pointer] = []
    placed: dict[tuple[Buffer, Items], Placed] = {}
    for (buffer, outer, inner), group in groups.items():
        least = min(a.constant for a in group) - offset_bias(inner)
        offset = Affine(tuple(t for t in group[0].terms if t in outer), least)
        before = min(0, (range_of_sum(offset) or (0, 0))[0])
        params.append(Buffer(buffer.name, (buffer.size - before,), buffer.dtype))
        pointers.append(Pointer(buffer, offset.to_expr()))
        placed[buffer, outer | inner] = params[-1], inner, least
    region = _rebase(body, placed, addresses)
    needed = free_vars(region)
    numbers = tuple(v for v in bound if v in needed)
    return Call(_outline(region, numbers), tuple(params), tuple(pointers), numbers)


def _rebase(body: Stmt, placed: dict[tuple[Buffer, Items], Placed], addresses: Addresses) -> Stmt:
    """The region with its accesses relative to the pointers that it is called with."""

    def index(access: Load | Store) -> tuple[Buffer, Expr]:
        a = addresses.of(access)
        param, inner, least = placed[a.buffer, a.items]
        terms = tuple(t for t in a.terms if t in inner)
        flat = swap(Affine(terms, a.constant - least).to_expr())
        at = access.indices[0]
        return param, Ramp(flat, at.lanes) if isinstance(at, Ramp) else flat

    def rule(n: Node) -> Node | None:
        match n:
            case Load(buffer, _, guard) if buffer.scope is Scope.GLOBAL:
                param, at = index(n)
                return Load(param, (at,), None if guard is None else swap(guard))
            case Store(buffer, _, value) if buffer.scope is Scope.GLOBAL:
                param, at = index(n)
                return Store(param, (at,), swap(value))
        return None

    def swap(e: Expr) -> Expr:
        return rewrite_top_down(e, rule)

    return rewrite_top_down(body, rule)
