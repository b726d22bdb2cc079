"""The one analysis of contractions: which axes move which operand of a summed product, in tensors and in loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..dtypes import I8, I16, I32, U8
from .nodes import Binary, Cast, Expr, Load, Var
from .rewrite import free_vars, loads
from .scalar_ops import DOTS

PRODUCTS = {*DOTS, "*"}


@dataclass(frozen=True, slots=True)
class Contraction:
    """The sum of a * b, or of the products in two words, over the reduction axes. Of the parallel axes, `rows` move `a`
    alone, `columns` `b` alone and `batch` both; `over` are the reduction axes that move both. All in the order of the
    axes."""

    a: Expr
    b: Expr
    rows: tuple[Var, ...]
    columns: tuple[Var, ...]
    batch: tuple[Var, ...]
    over: tuple[Var, ...]

    @property
    def transposed(self) -> Contraction:
        """This contraction with its operands exchanged."""
        return Contraction(self.b, self.a, self.columns, self.rows, self.batch, self.over)

    @property
    def orientations(self) -> Iterator[Contraction]:
        """Both ways to name the operands, as written first."""
        yield self
        yield self.transposed


def find_contraction(axes: Sequence[Var], over: Sequence[Var], value: Expr) -> Contraction | None:
    """The contraction that a sum of `value` over the axes `over` is, for each element of `axes`; None where `value` is
    no product. An operand is moved by an axis that the indices or the guard of one of its loads mention."""
    if not isinstance(value, Binary) or value.op not in PRODUCTS:
        return None
    of_a, of_b = _moving(value.a), _moving(value.b)
    return Contraction(
        value.a,
        value.b,
        rows=tuple(v for v in axes if v in of_a and v not in of_b),
        columns=tuple(v for v in axes if v in of_b and v not in of_a),
        batch=tuple(v for v in axes if v in of_a and v in of_b),
        over=tuple(v for v in over if v in of_a and v in of_b),
    )


def loaded_operand(operand: Expr) -> Load | None:
    """The load that an operand is: all of it, or what is widened. None for computed operands."""
    match operand:
        case Load():
            return operand
        case Cast(to, Load(dtype=source) as load) if to == I32 and source in (I8, U8, I16):
            return load
    return None


def _moving(operand: Expr) -> frozenset[Var]:
    return frozenset().union(*(free_vars(x) for x in loads(operand)))
