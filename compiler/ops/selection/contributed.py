"""Operators of com.microsoft that select, compare or mask elements, most of them as those of ai.onnx."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...dtypes import F32, F64
from ...ir.construct import unary
from ...ir.nodes import Expr
from ...tensor import Tensor, compute
from ..call import Call
from ..movement.slicing import trilu
from ..reductions.reduce_axes import reduce_over
from .selecting import unique


def _distances(call: Call) -> Tensor:
    """The distance of each row of A (M, K) and each of B (N, K), or its square: (M, N)."""
    call.check_dtypes((0, 1), F32, F64)
    a = call.input(0, (None, None))
    b = call.input(1, (None, a.shape[1]))
    metric = call.attribute("metric", "sqeuclidean")
    if metric not in ("euclidean", "sqeuclidean"):
        raise call.unsupported(f"attribute metric={metric!r} is unknown", "use euclidean or sqeuclidean")

    def square(i: Expr, j: Expr) -> Expr:
        def term(k: Expr) -> Expr:
            difference = a[i, k] - b[j, k]
            return difference * difference

        return reduce_over("sum", a.shape[1:], term)

    squares = compute(f"{call.name}.squares", (a.shape[0], b.shape[0]), (a, b), square)
    if metric == "sqeuclidean":
        return squares
    return compute(call.name, squares.shape, (squares,), lambda i, j: unary("sqrt", squares[i, j]))


def _unique(call: Call) -> tuple[Tensor, ...]:
    """The distinct elements of a vector in the order of their first ones, the place of each element among them, and how
    many there are of each."""
    call.input(0, (None,))
    values, _, places, counts = unique(replace(call, attributes={"sorted": 0}, outputs=4))
    return values, places, counts


OPERATORS: dict[str, Callable[[Call], Tensor | tuple[Tensor, ...]]] = {
    "CDist": _distances,
    "Trilu": trilu,
    "Unique": _unique,
}
