"""Loops over dimensions that a Reshape has joined become nested loops over these, where sizes vary."""

from __future__ import annotations

from ...ir.affine import Affine, affine
from ...ir.nodes import Binary, Const, For, Stmt, Var
from ...ir.products import is_size
from ...ir.rewrite import free_vars, statements, walk
from ...ir.simplify import simplify_stmt
from ...ir.sizes import size
from ..access import accesses
from ..steps import sizes_between, unfuse


def unfuse_joined(stmt: Stmt) -> Stmt:
    """for v < h * w: x[v // w % h, v % w]   ->   for a < h: for b < w: x[a, b]

    For each loop of a dynamic length of which no division is left then. A division by a size takes longer than what is
    done with an element, and elements apart from each other fill no lanes. Where memory is contiguous divisions cancel,
    and a loop stays; so do those that are divided by constants alone, as of fixed lengths: that is a multiplication.
    """
    loops = [n.var for n in statements(stmt) if isinstance(n, For) and n.var.length is not None]
    for var in dict.fromkeys(loops):
        stmt = _unfused(stmt, var)
    return stmt


def _unfused(stmt: Stmt, var: Var) -> Stmt:
    found = {n.b: None for n in walk(stmt) if isinstance(n, Binary) and _divides(n, var)}
    if all(isinstance(divisor, Const) for divisor in found) or _moves_evenly(stmt, var):
        return stmt
    assert var.length is not None
    sizes = sizes_between(size(var.length), [size(divisor) for divisor in found])
    if len(sizes) < 2:
        return stmt
    nested, variables = unfuse(stmt, var, sizes)
    nested = simplify_stmt(nested)
    apart = {*variables}
    if any(isinstance(n, Binary) and n.op in ("//", "%") and free_vars(n) & apart for n in walk(nested)):
        return stmt
    return nested if _moves_evenly(nested, variables[-1]) else stmt


def _divides(n: Binary, var: Var) -> bool:
    return n.op in ("//", "%") and is_size(n.b) and affine(n.a) == Affine(((var, 1),), 0)


def _moves_evenly(stmt: Stmt, var: Var) -> bool:
    return all(a.stride(var) is not None for a in accesses(stmt))
