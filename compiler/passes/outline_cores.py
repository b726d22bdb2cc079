"""Loops that cores share become calls of functions, which take a range of the iterations."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from ..ir.addresses import Addresses
from ..ir.calls import Call, Pointer
from ..ir.nodes import Const, Expr, For, Kernel, LoopKind, Stmt, Var
from ..ir.rewrite import free_vars, map_children


def outline_cores(kernel: Kernel) -> Kernel:
    """for j: for i core: y[8*j + i] = x[i]   ->   for j: call(y, x, j): for i core: y[8*j + i] = x[i]

    The function takes whole buffers, those that the loop touches, and the variables of loops around it that it needs.
    """
    body = _outline(kernel.body, kernel.scalars)
    return kernel if body is kernel.body else replace(kernel, body=body)


def _outline(s: Stmt, bound: tuple[Var, ...]) -> Stmt:
    """`bound` are the scalars and the variables of the loops around `s`, outermost first."""
    match s:
        case For(_, body, LoopKind.CORE, _):
            buffers = tuple(dict.fromkeys(a.buffer for a in Addresses().below(body)))
            needed = free_vars(s)
            pointers = tuple(Pointer(b, Const(0)) for b in buffers)
            return Call(s, buffers, pointers, tuple(v for v in bound if v in needed))
        case Call():
            return s
        case For(var, _, _, _):
            bound = (*bound, var)
    return cast(Stmt, map_children(s, lambda c: c if isinstance(c, Expr) else _outline(c, bound)))
