"""Vectors: the expressions that have several lanes. They stand in a kernel from its vectorisation on."""

from __future__ import annotations

from ..dtypes import DType
from .all_reduce import AllReduce
from .frozen import frozen
from .nodes import Binary, Bitcast, Cast, Expr, Load, Select, Unary


@frozen
class Ramp(Expr):
    """The vector base, base+1, ..., base+lanes-1."""

    base: Expr
    lanes: int

    @property
    def dtype(self) -> DType:
        return self.base.dtype


@frozen
class Splat(Expr):
    """A vector all of whose lanes are `a`."""

    a: Expr
    lanes: int

    @property
    def dtype(self) -> DType:
        return self.a.dtype


@frozen
class Lanes(Expr):
    """The vector of scalars."""

    parts: tuple[Expr, ...]

    @property
    def dtype(self) -> DType:
        return self.parts[0].dtype


@frozen
class Extract(Expr):
    """One element of a vector."""

    a: Expr
    lane: int

    @property
    def dtype(self) -> DType:
        return self.a.dtype


def lanes_of(e: Expr) -> int:
    """1 for a scalar, else the number of lanes. All operands of an operation have the same."""
    while True:
        match e:
            case Ramp(_, lanes) | Splat(_, lanes):
                return lanes
            case Lanes(parts):
                return len(parts)
            case Unary(_, a) | Binary(_, a, _) | Select(_, a, _) | Cast(_, a) | Bitcast(_, a) | AllReduce(_, a, _):
                e = a
            case Load(_, (*_, index), _):
                e = index
            case _:
                return 1
