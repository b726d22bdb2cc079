"""The texels of a flat texture that a launch writes, where these are the same rows of each of its blocks.

An append to a cache of [heads, rows, width] writes rows from the length on, for each head: a strip of texels in each
block of one head. Drawing the strips alone costs what the new rows cost, not what the cache does.
"""

from __future__ import annotations

from ..ir.affine import Affine, affine
from ..ir.conditions import nonnegative
from ..ir.construct import maximum
from ..ir.nodes import Binary, Const, Expr, Kernel, Scalar, Var
from ..ir.rewrite import walk
from ..ir.sizes import size
from ..program.device_program import Placement, Strips
from .live_area import conditions_of
from .render import OwnTexel


def live_strips(scheduled: Kernel, own: OwnTexel, place: Placement, texels: int) -> Strips | None:
    """Strips beyond which the condition around what a fragment does is false, in the first `texels` of the texture;
    None where no condition bounds rows by a size, or where there would be as many as the texture has rows."""
    if place.layers > 1 or len(own.column) != 1 or len(own.row) > 1:
        return None
    x, y = own.column[0][0], own.row[0][0] if own.row else None
    least: dict[Affine, Expr] = {}
    end: dict[Affine, Expr] = {}
    for form in (form for cond in conditions_of(scheduled) for form in _forms(cond)):
        terms = [(atom, c, set(_variables(atom))) for atom, c in form.terms]
        row = Affine(tuple((atom, c) for atom, c, on in terms if on & {x, y}), 0)
        rest = Affine(tuple((atom, c) for atom, c, on in terms if not on & {x, y}), form.constant)
        if any(on - {x, y} for _, _, on in terms):
            continue
        if all(c > 0 for _, c in row.terms):
            least[row] = rest.scale(-1).to_expr()
        elif all(c < 0 for _, c in row.terms):
            end[row.scale(-1)] = Affine(rest.terms, rest.constant + 1).to_expr()
    for row, first in least.items():
        blocks = _blocks(row, x, y, place.width)
        if blocks is None or row not in end or isinstance(size(first), int):
            continue
        width, rows = blocks
        count = -(-texels // (rows * width)) if rows else 1
        if count < place.height:
            length = size(maximum(end[row] - first, 0) * width)
            return Strips(size(first * width), length, (rows or 0) * width, count, place.width)
    return None


def _forms(cond: Expr) -> list[Affine]:
    """Forms that are >= 0 where the condition holds."""
    if isinstance(cond, Binary) and cond.op == "==":
        return [affine(cond.a - cond.b), affine(cond.b - cond.a)]
    return list(nonnegative(cond))


def _variables(e: Expr) -> list[Var]:
    """The variables of loops in it: scalars are the same in all fragments."""
    return [n for n in walk(e) if isinstance(n, Var) and not isinstance(n, Scalar)]


def _blocks(row: Affine, x: Var, y: Var | None, width: int) -> tuple[int, int | None] | None:
    """Texels of a row, and the rows of a block, None where there is one block; None where it is not the number of a
    row, counted from the first texel on."""
    texel = Affine(((x, 1), *(() if y is None else ((y, width),))), 0)
    rows = None
    match row.terms:
        case ((Binary("%", dividend, Const(count, _)), 1),):
            row, rows = affine(dividend), int(count)
    match row.terms:
        case ((Binary("//", dividend, Const(texels, _)), 1),):
            return (int(texels), rows) if affine(dividend) == texel else None
    if row == texel:
        return 1, rows
    factor = 0 if y is None else row.coefficient(y)
    if y is None or factor <= 0 or width % factor:
        return None
    column = Binary("//", x, Const(width // factor))
    return (width // factor, rows) if row == Affine(((y, factor), (column, 1)), 0) else None
