"""Comparisons, tests of floats, and the choice by them."""

from __future__ import annotations

import math

from ...dtypes import BOOL
from ...ir.construct import select, unary
from ...ir.nodes import Const, Expr
from ...tensor import Tensor
from ..broadcast import binary_operator, pointwise, unary_operator
from ..call import Call


def _is_inf(call: Call) -> Tensor:
    negative, positive = call.attribute("detect_negative", 1), call.attribute("detect_positive", 1)

    def body(x: Expr) -> Expr:
        if negative and positive:
            return unary("isinf", x)
        if negative or positive:
            return x.eq(-math.inf if negative else math.inf)
        return Const(False, BOOL)

    return pointwise(call, body, call.input(0))


def where(call: Call) -> Tensor:
    """The second input where the first is true, the third elsewhere."""
    return pointwise(call, select, call.input(0), call.input(1), call.input(2))


OPERATORS = {
    "Equal": binary_operator(lambda a, b: a.eq(b)),
    "Less": binary_operator(lambda a, b: a < b),
    "LessOrEqual": binary_operator(lambda a, b: a <= b),
    "Greater": binary_operator(lambda a, b: a > b),
    "GreaterOrEqual": binary_operator(lambda a, b: a >= b),
    "IsNaN": unary_operator(lambda x: unary("isnan", x)),
    "IsInf": _is_inf,
    "Where": where,
}
