"""Loops in order are written out, with what passes from one iteration to the next."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from ..ir.addresses import Items, address
from ..ir.affine import Affine
from ..ir.calls import Advance, Call, Pointer, UnrolledInOrder
from ..ir.lanes import Ramp
from ..ir.nodes import Alloc, Buffer, Const, Expr, For, Kernel, Load, LoopKind, Scope, Stmt, Store, Var
from ..ir.rewrite import map_children, substitute, walk


def unroll_in_order(kernel: Kernel) -> Kernel:
    """for v < 2 in order: acc[0] = acc[0] + x[3*v + 4*i]
    ->  in order, past acc[0] and x + 4*i, which moves by 3: acc[0] = acc[0] + x[4*i]; acc[0] = acc[0] + x[4*i + 3]

    What iterations leave in local buffers passes between them, and so do the pointers through which single elements
    are read, where the loop moves these up: V8 takes an instruction to add a constant to the address of a load that
    fills a vector with one element, and another one for each constant. A pointer that would move down stays: on the way
    it might leave the memory, where what a load adds does not wrap around.
    """
    body = _unroll(kernel.body, frozenset())
    return kernel if body is kernel.body else replace(kernel, body=body)


def _unroll(s: Stmt, bound: frozenset[Var]) -> Stmt:
    """`bound` are the variables that are known at `s`."""
    match s:
        case For(var, body, LoopKind.IN_ORDER, _):
            iterations = tuple(substitute(body, {var: Const(i)}) for i in range(var.extent))
            return UnrolledInOrder(iterations, _sums(body), _advances(s, bound))
        case For(var, _, _, _):
            bound |= {var}
        case Call(_, _, _, numbers):
            bound = frozenset(numbers)
    return cast(Stmt, map_children(s, lambda c: c if isinstance(c, Expr) else _unroll(c, bound)))


def _sums(body: Stmt) -> tuple[Load, ...]:
    """The elements of local buffers that iterations store."""
    own = {n.buffer for n in walk(body) if isinstance(n, Alloc)}
    stores = (n for n in walk(body) if isinstance(n, Store) and n.buffer.scope is Scope.LOCAL and n.buffer not in own)
    return tuple(dict.fromkeys(Load(n.buffer, n.indices) for n in stores))


def _advances(loop: For, bound: frozenset[Var]) -> tuple[Advance, ...]:
    """The pointers through which single elements are read, with how far the loop moves each."""
    advances: dict[tuple[Buffer, Items], Advance] = {}
    for n in walk(loop.body):
        if isinstance(n, Load) and n.buffer.scope is Scope.GLOBAL and not isinstance(n.indices[0], Ramp):
            a = address(n)
            inside = a.within(bound)
            moved = dict(a.items - inside)
            if moved.keys() == {loop.var} and moved[loop.var] > 0:
                outside = Affine(tuple(t for t in a.terms if t in inside), 0).to_expr()
                advances.setdefault((a.buffer, inside), Advance(Pointer(a.buffer, outside), moved[loop.var]))
    return tuple(advances.values())
