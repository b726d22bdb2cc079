"""Bounds of sums by what their terms have in common: the lengths of dynamic loops, and quotients and extremes of
sizes, which are replaced by forms that others may cancel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeGuard

from .affine import Affine, affine, merge, multiply
from .intervals import Range
from .nodes import Binary, Const, Expr, Scalar, Var
from .products import factors, is_size, product

Interval = Callable[[Affine], Range | None]
"""The interval of a form."""


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
    if (joint := _joint_end(form, first, sign, interval)) is not None:
        return _end(joint, sign, interval)
    result = form
    for atom in first:
        c = form.coefficient(atom)
        result = result.without(atom)
        if c * sign > 0:
            result += ends[atom].scale(c)
    return _end(result, sign, interval)


def _joint_end(form: Affine, atoms: Sequence[Expr], sign: int, interval: Interval) -> Affine | None:
    """The end of a form by one loop's variable v in `atoms`, of which some terms grow and others shrink with it: those
    are v times a sum of one sign, as i * n - i is i * (n - 1). None where there is no such variable."""
    if len({c > 0 for _, c in form.terms}) < 2:
        return None
    for v in dict.fromkeys(f for atom in atoms for f in factors(atom) or () if _is_loop(f)):
        terms = [(list(factors(atom) or ()), c) for atom, c in form.terms]
        times = [(parts, c) for parts, c in terms if v in parts]
        if len({c > 0 for _, c in times}) < 2 or any(parts.count(v) > 1 for parts, _ in times):
            continue
        for parts, _ in times:
            parts.remove(v)
        growth = merge([(product(tuple(p)), c) for p, c in times if p], sum(c for p, c in times if not p))
        span = interval(growth)
        if span is None or span[0] < 0 < span[1]:
            continue
        rest = Affine(tuple((a, c) for a, c in form.terms if v not in (factors(a) or ())), form.constant)
        if (span[0] >= 0) != (sign > 0):
            return rest
        last = _last(v)
        end = multiply(growth, last) if last.terms else growth.scale(last.constant)
        if end is not None:
            return rest + end
    return None


def _end_of(atom: Expr, interval: Interval) -> Affine | None:
    """The greatest value of a product of a dynamic loop's variable, or of a loop's variable and a size, by the lengths
    of the loops; the least is 0. None for any other atom."""
    if isinstance(atom, Var):
        return _last(atom) if atom.length is not None else None
    if not isinstance(atom, Binary) or atom.op != "*":
        return None
    parts = factors(atom) or ()
    loops = [p for p in parts if _is_loop(p)]
    sizes = [p for p in parts if p not in loops]
    if not loops or not (sizes or any(v.length is not None for v in loops)):
        return None
    if any((interval(affine(n)) or (-1, 0))[0] < 0 for n in sizes):
        return None
    last: Expr = Const(1)
    for factor in (*sizes, *(_last(v).to_expr() for v in loops)):
        last = Binary("*", last, factor)
    return affine(last)


def _is_loop(factor: Expr) -> TypeGuard[Var]:
    """Whether a factor of an atom is the variable of a loop, and no size."""
    return isinstance(factor, Var) and (factor.length is not None or not isinstance(factor, Scalar))


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
