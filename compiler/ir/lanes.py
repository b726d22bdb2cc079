"""The width of an expression after vectorisation."""

from __future__ import annotations

from .nodes import Expr, Load, Ramp, Splat
from .rewrite import children


def lanes_of(e: Expr) -> int:
    """1 for a scalar, else the number of lanes."""
    match e:
        case Ramp(_, lanes) | Splat(_, lanes):
            return lanes
        case Load(_, indices, _):
            return max((lanes_of(i) for i in indices), default=1)
    return max((lanes_of(c) for c in children(e) if isinstance(c, Expr)), default=1)
