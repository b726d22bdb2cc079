"""The p-norm in its two halves, around the sum over whatever a node reduces."""

from __future__ import annotations

from ...ir.construct import unary
from ...ir.nodes import Expr, binary
from ..call import Call


def norm_order(call: Call) -> float:
    """The attribute p, 2 by default. Raises UnsupportedError for p < 1, where it is no norm."""
    p = call.attribute("p", 2.0)
    if not p >= 1:
        raise call.unsupported(f"p={p:g} is less than 1, so there is no such norm", "the model is invalid")
    return float(p)


def norm_term(x: Expr, p: float) -> Expr:
    """|x| ** p."""
    if p == 1:
        return unary("abs", x)
    return x * x if p == 2 else power(unary("abs", x), p)


def norm_root(total: Expr, p: float) -> Expr:
    """total ** (1/p), for a total that is not negative."""
    return total if p == 1 else power(total, 1 / p)


def power(x: Expr, exponent: float) -> Expr:
    """x ** exponent for x >= 0, by square roots where these are enough."""
    if exponent == 1:
        return x
    if exponent == 0.5:
        return unary("sqrt", x)
    if exponent == 0.75:
        root = unary("sqrt", x)
        return root * unary("sqrt", root)
    return binary("pow", x, exponent)
