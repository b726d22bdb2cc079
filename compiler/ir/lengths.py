"""Bounds of sums by what their terms have in common: the lengths of dynamic loops, and quotients and extremes of
sizes, which are replaced by forms that others may cancel."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .affine import Affine, affine
from .intervals import Range
from .nodes import Binary, Const, Expr, Scalar, Var
from .products import factors, is_size

Interval = Callable[[Expr], Range | None]
"""The interval of a size."""


def depends_on_length(form: Affine, interval: Interval) -> bool:
    """Whether a term has an end by the lengths of loops."""
    return any(_end_of(atom, interval) is not None for atom, _ in form.terms)


def ends(form: Affine, interval: Interval) -> tuple[Affine, Affine]:
    """The least and the greatest value, by the lengths of dynamic loops, whose variables are not in these."""
    return _end(form, -1, interval), _end(form, 1, interval)


def _end(form: Affine, sign: int, interval: Interval) -> Affine:
    """The greatest value where `sign` is 1, the least where it is -1. Loops whose lengths depend on others, such as the
    counter of one around them, come first: what is left of those may cancel."""
    ends = {atom: end for atom, _ in form.terms if (end := _end_of(atom, interval)) is not None}
    if not ends:
        return form
    uses = {atom: {f for a, _ in end.terms for f in factors(a) or ()} for atom, end in ends.items()}

    def is_used(atom: Expr) -> bool:
        return any(not used.isdisjoint(factors(atom) or ()) for other, used in uses.items() if other is not atom)

    first = [atom for atom in ends if not is_used(atom)] or list(ends)
    result = form
    for atom in first:
        c = form.coefficient(atom)
        result = result.without(atom)
        if c * sign > 0:
            result += ends[atom].scale(c)
    return _end(result, sign, interval)


def _end_of(atom: Expr, interval: Interval) -> Affine | None:
    """The greatest value of a product of a dynamic loop's variable, or of a loop's variable and a size, by the lengths
    of the loops; the least is 0. None for any other atom."""
    if isinstance(atom, Var):
        return _last(atom) if atom.length is not None else None
    if not isinstance(atom, Binary) or atom.op != "*":
        return None
    parts = factors(atom) or ()
    loops = [p for p in parts if isinstance(p, Var) and (p.length is not None or not isinstance(p, Scalar))]
    sizes = [p for p in parts if p not in loops]
    if not loops or not (sizes or any(v.length is not None for v in loops)):
        return None
    if any((interval(n) or (-1, 0))[0] < 0 for n in sizes):
        return None
    product: Expr = Const(1)
    for factor in (*sizes, *(_last(v).to_expr() for v in loops)):
        product = Binary("*", product, factor)
    return affine(product)


def _last(v: Var) -> Affine:
    """The last value of a loop's variable where the loop does an iteration: then a length of max(n, 0) is n."""
    match v.length:
        case None:
            return Affine((), v.extent - 1)
        case Binary("max", n, Const(0, _)) | Binary("max", Const(0, _), n):
            return affine(n) + Affine((), -1)
        case n:
            return affine(n) + Affine((), -1)


def may_relax(atom: Expr) -> bool:
    """Whether an atom is made of sizes, and is a quotient, or the larger or smaller of two."""
    return isinstance(atom, Binary) and atom.op in ("//", "max", "min") and is_size(atom)


RELAXED = 3
"""Atoms of a form that are relaxed together."""

MOST_FORMS = 64
"""Forms that relaxing one may lead to: they would grow exponentially with the atoms that can be relaxed."""


def most_by_relaxing(form: Affine, interval: Callable[[Affine], Range | None]) -> int:
    """An upper bound of a form, from intervals of forms, by x - d < d * (x // d) <= x and min(x, y) <= x, after which x
    may cancel or join others: 8 * (n // 8) + 4 * (n % 8 // 4) is at most n. max(x, y) is one of the two."""
    bounds: dict[tuple[Affine, int], int] = {}
    left = MOST_FORMS

    def most(form: Affine, depth: int) -> int:
        nonlocal left
        if (form, depth) not in bounds:
            left -= 1
            bounds[form, depth] = relaxed(form, depth if left > 0 else 0)
        return bounds[form, depth]

    def relaxed(form: Affine, depth: int) -> int:
        r = interval(form)
        best = 2**63 if r is None else r[1]
        for atom, c in form.terms if depth else ():
            for larger, divisor in _relaxations(atom, c):
                best = min(best, most(form.without(atom).scale(divisor) + larger, depth - 1) // divisor)
            if isinstance(atom, Binary) and atom.op == ("max" if c > 0 else "min"):
                rest = form.without(atom)
                best = min(best, max(most(rest + affine(side).scale(c), depth - 1) for side in (atom.a, atom.b)))
        return best

    return most(form, RELAXED)


def _relaxations(atom: Expr, c: int) -> Iterator[tuple[Affine, int]]:
    """Forms f, and positive numbers d, for which d * c * atom <= f."""
    match atom:
        case Binary("//", x, Const(value, _)) if int(value) > 0:
            d = int(value)
            yield affine(x).scale(c) + Affine((), 0 if c > 0 else -c * (d - 1)), d
        case Binary("min" | "max", a, b) if (atom.op == "min") == (c > 0):
            yield affine(a).scale(c), 1
            yield affine(b).scale(c), 1
