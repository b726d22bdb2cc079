"""The part of a texture that a launch draws, where the sizes of its result are known at run time only."""

from __future__ import annotations

from ..ir.affine import affine
from ..ir.conditions import conjuncts
from ..ir.construct import maximum, minimum
from ..ir.facts import range_of_sum
from ..ir.nodes import Binary, Const, Expr, For, If, Kernel, LoopKind, Var
from ..ir.sizes import Size, size
from .render import OwnTexel

Digits = tuple[tuple[Var, int], ...]


def live_area(scheduled: Kernel, own: OwnTexel, width: int, height: int) -> tuple[Size, Size]:
    """Width and height, from the first texel on: beyond, the condition around what a fragment does is false. `own` are
    the coordinates of its texel in terms of the grid."""
    live = [c for c in conditions_of(scheduled) if isinstance(c, Binary) and c.op in ("<", "==")]
    return _covered(own.column, live, width), _covered(own.row, live, height)


def conditions_of(kernel: Kernel) -> list[Expr]:
    """The conditions around all that a fragment does."""
    stmt, conditions = kernel.body, []
    while True:
        match stmt:
            case For(_, body, LoopKind.BLOCK):
                stmt = body
            case If(cond, body):
                conditions += conjuncts(cond)
                stmt = body
            case _:
                return conditions


def _covered(digits: Digits, live: list[Binary], whole: int) -> Size:
    """Up to the last value of the most significant digit for which all conditions may hold."""
    if not digits:
        return whole
    v, stride = digits[-1]
    lengths = [n for cond in live if (n := _length(v, cond)) is not None]
    if not lengths:
        return whole
    shortest = lengths[0]
    for n in lengths[1:]:
        shortest = minimum(shortest, n)
    return size(minimum(maximum(shortest, 0), v.extent) * stride)


def _length(v: Var, cond: Binary) -> Expr | None:
    """For all values of `v` from here on the condition is false; None where that depends on other variables."""
    least, bound = affine(cond.a), cond.b + (1 if cond.op == "==" else 0)
    while isinstance(quotient := least.to_expr(), Binary) and quotient.op == "//" and isinstance(quotient.b, Const):
        least, bound = affine(quotient.a), bound * int(quotient.b.value)
    factor, rest = least.coefficient(v), range_of_sum(least.without(v))
    if factor <= 0 or rest is None or rest[0] < 0:
        return None
    return (bound + (factor - 1)) // factor
