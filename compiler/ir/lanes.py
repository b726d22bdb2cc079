"""The width of an expression after vectorisation."""

from __future__ import annotations

from .nodes import Binary, Bitcast, Cast, Expr, Load, Ramp, Select, Splat, Unary


def lanes_of(e: Expr) -> int:
    """1 for a scalar, else the number of lanes. All operands of an operation have the same."""
    while True:
        match e:
            case Ramp(_, lanes) | Splat(_, lanes):
                return lanes
            case Unary(_, a) | Binary(_, a, _) | Select(_, a, _) | Cast(_, a) | Bitcast(_, a):
                e = a
            case Load(_, (*_, index), _):
                e = index
            case _:
                return 1
