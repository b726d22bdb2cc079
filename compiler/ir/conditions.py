"""Conditions as forms that are >= 0 where they hold."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from .affine import Affine, affine
from .nodes import Binary, Const, Expr, Scalar, Unary, Var
from .rewrite import walk


def conjuncts(e: Expr) -> list[Expr]:
    """The conditions that hold together where `e` holds, in order."""
    terms, stack = [], [e]
    while stack:
        c = stack.pop()
        if isinstance(c, Binary) and c.op == "and":
            stack += (c.b, c.a)
        else:
            terms.append(c)
    return terms


def nonnegative(cond: Expr) -> Iterator[Affine]:
    """The affine forms that are >= 0 wherever `cond` holds."""
    for c in conjuncts(cond):
        match c:
            case Binary("<=", a, b):
                yield affine(b - a)
            case Binary("<", a, b) | Unary("not", Binary("<=", b, a)):
                yield affine(b - a - 1)
            case Unary("not", Binary("<", a, b)):
                yield affine(a - b)


def tightened(form: Affine) -> Affine:
    """The least form that is >= 0 where `form` is: 4 * i - 6 >= 0 means 4 * i - 8 >= 0."""
    factor = gcd(*(c for _, c in form.terms))
    return form if factor < 2 else Affine(form.terms, form.constant // factor * factor)


def divided(form: Affine, divisor: int) -> Affine:
    """e <= k means e // divisor <= k // divisor, for a form k - e that is >= 0."""
    e = Affine(form.terms, 0).scale(-1).to_expr()
    return Affine((), form.constant // divisor) + affine(Binary("//", e, Const(divisor))).scale(-1)


def consequences(form: Affine) -> Iterator[Affine]:
    """Forms that are >= 0 where `form` is: e // d >= k means e >= k * d, and e % d is e - e // d * d. Only for sizes
    that vary: for others intervals are enough."""
    yield form
    if not any(_varies(atom) for atom, _ in form.terms):
        return
    match form.terms:
        case ((Binary("//", e, Const(d, _)), 1),) if d > 0:
            yield from consequences(affine(e) + Affine((), form.constant * int(d)))
        case ((Binary("%", e, Const(d, _) as divisor), c),) if d > 0:
            quotient = affine(Binary("//", e, divisor))
            yield (affine(e) + quotient.scale(-int(d))).scale(c) + Affine((), form.constant)


def _varies(e: Expr) -> bool:
    """Whether a size that a run decides is in an expression, or the length of a loop in it."""
    return any(isinstance(n, Scalar) or (isinstance(n, Var) and n.length is not None) for n in walk(e))
