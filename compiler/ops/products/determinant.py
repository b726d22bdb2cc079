"""Determinants: of small matrices by minors, of others by elimination with pivots."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.construct import maximum, minimum, select, unary
from ...ir.nodes import Const, Expr, Scalar
from ...ir.sizes import shown
from ...tensor import Tensor, compute
from ...tensor.structure import loop
from ..call import Call
from ..reductions.reduction import place_of_extreme

_BY_MINORS = 3
"""Rows of matrices whose determinants are one expression."""


def _det(call: Call) -> Tensor:
    """ONNX Det: matrices [*, M, M] to numbers [*]."""
    x = call.input(0)
    sizes = call.fixed(x, range(x.rank - 2, x.rank)) if x.rank > 1 else (0, 1)
    if sizes[0] != sizes[1]:
        raise call.unsupported(f"its input has shape {shown(x.shape)}, no square matrices", "check the input shape")
    batch, rows = x.shape[:-2], sizes[0]
    if rows <= _BY_MINORS:
        return compute(call.name, batch, (x,), lambda *b: _by_minors(x, b, range(rows)))
    one = compute(f"{call.name}.one", batch, (), lambda *_: Const(1.0, x.dtype))

    def eliminate(k: Scalar, carried: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        return _eliminate(call.name, rows, k, *carried), []

    (_, result), _ = loop(call.name, rows, [x, one], eliminate)
    return compute(call.name, batch, (result,), lambda *b: result.read(b))


def _by_minors(x: Tensor, at: Sequence[Expr], columns: Sequence[int]) -> Expr:
    """The determinant of the last rows of a matrix and some columns, as many."""
    row = x.shape[-1]
    assert isinstance(row, int)
    row -= len(columns)
    total: Expr | None = None
    for i, column in enumerate(columns):
        rest = [c for c in columns if c != column]
        term = x.read([*at, Const(row), Const(column)])
        if rest:
            term = term * _by_minors(x, at, rest)
        total = term if total is None else total - term if i % 2 else total + term
    return Const(1.0, x.dtype) if total is None else total


def _eliminate(name: str, rows: int, k: Scalar, a: Tensor, product: Tensor) -> list[Tensor]:
    """Matrices whose rows after `k` have nothing in column `k`, and the product of the pivots so far: of each column
    the largest number. A column of zeros makes the product 0."""
    batch = product.shape

    def size_of(*at: Expr) -> Expr:
        return select(at[-1] < k, -1.0, unary("abs", a.read([*at, k])))

    sizes = compute(f"{name}.sizes", (*batch, rows), (a,), size_of)
    pivot = place_of_extreme(name, "max", sizes, len(batch))

    def row(at: Sequence[Expr]) -> Expr:
        return maximum(minimum(pivot.read(tuple(at)), rows - 1), 0)

    def eliminated(*index: Expr) -> Expr:
        *b, i, j = index
        p = row(b)
        source = select(i.eq(k), p, select(i.eq(p), k, i))
        source = maximum(minimum(source, rows - 1), 0)
        top = a.read([*b, p, k])
        share = select(top.eq(0.0) | (i <= k), 0.0, a.read([*b, source, k]) / select(top.eq(0.0), 1.0, top))
        return a.read([*b, source, j]) - share * a.read([*b, p, j])

    def multiplied(*b: Expr) -> Expr:
        top = a.read([*b, row(b), k])
        return product.read(b) * select(row(b).eq(k), top, -top)

    reads = (a, pivot)
    return [
        compute(f"{name}.rest", a.shape, reads, eliminated),
        compute(f"{name}.product", batch, (*reads, product), multiplied),
    ]


OPERATORS = {"Det": _det}
