"""Products of sizes and of variables of loops: the atoms of polynomials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .nodes import Binary, Const, Expr, Scalar, Unary, Var

if TYPE_CHECKING:
    from .affine import Affine


def factors(atom: Expr) -> tuple[Expr, ...] | None:
    """The variables, parts of variables, and other expressions of scalars, whose product an atom is; None for another
    one. The parts of v are v // c and v % c."""
    match atom:
        case Binary("*", a, b):
            first, last = factors(a), factors(b)
            return None if first is None or last is None else (*first, *last)
        case Binary("//" | "%", Var(), Const()):
            return (atom,)
    return (atom,) if isinstance(atom, Var) or is_size(atom) else None


def is_size(e: Expr) -> bool:
    """Whether an expression is made of scalars and constants alone."""
    match e:
        case Binary(_, a, b):
            return is_size(a) and is_size(b)
        case Unary(_, a):
            return is_size(a)
    return isinstance(e, Scalar | Const)


def has_scalars(form: Affine) -> bool:
    """Whether a term is a product of which a factor is made of scalars."""
    return any(is_size(v) for a, _ in form.terms for v in factors(a) or ())


def product(several: tuple[Expr, ...]) -> Expr:
    """The factors in one order, so that equal products are equal."""
    ordered = sorted(several, key=lambda e: (is_size(e), e.name if isinstance(e, Var) else repr(e)))
    result: Expr = ordered[0]
    for v in ordered[1:]:
        result = Binary("*", result, v)
    return result
