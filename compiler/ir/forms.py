"""Forms of a kernel's results: known of their tensors, and carried to the schedule beside the loops.

    Form = Map() | Reduction(op, dtype) | Contraction(a, b, sum) | Transform(rows, columns)

A naive kernel has a form for each of its results, by which its schedule is chosen; scheduled kernels have none. Element
types and matrices are part of a form. The roles of a contraction's loops are not: which loop moves which operand stands
in the indices after every step, and `find_contraction` reads it from there. Halos, filled with zeros, are no part of a
result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..dtypes import F32, DType
from ..errors import InternalError
from .contraction import find_contraction, loaded_operand
from .entry import Entry
from .nest import Nest, Pointwise
from .nodes import Binary, Buffer, Const, Expr, Kernel, Load, Var
from .rewrite import free_vars

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Map:
    """Each element by itself."""

    def __str__(self) -> str:
        return "map"


@dataclass(frozen=True, slots=True)
class Reduction:
    """Values combined by `op`, the operator of a Binary, in `dtype`."""

    op: str
    dtype: DType

    def __str__(self) -> str:
        return f"reduction by {self.op} in {self.dtype}"


@dataclass(frozen=True, slots=True)
class Contraction:
    """Sums, in the type `sum`, of products of two operands, as they are written. `a` and `b` are the types of their
    elements, before they are widened."""

    a: DType
    b: DType
    sum: DType

    def __str__(self) -> str:
        return f"contraction of {self.a} and {self.b} in {self.sum}"


@dataclass(frozen=True, slots=True)
class Transform:
    """rows * x * columns', for small tiles x: a sum over both of their dimensions, of fixed sizes. Of a matrix of which
    the result has fewer rows, those alone."""

    rows: Matrix
    columns: Matrix

    def __str__(self) -> str:
        sizes = (f"{len(m)} x {len(m[0])}" for m in (self.rows, self.columns))
        return f"transform by matrices of {' and '.join(sizes)}"


Form = Map | Reduction | Contraction | Transform


def form_of(op: str, loops: Sequence[Var], over: Sequence[Var], value: Expr, start: Expr) -> Form:
    """The form of results that combine a simplified `value` over the loops `over`, from `start` on, for each iteration
    of `loops`; loops of one iteration are gone."""
    if op == "+":
        transform = _transform(loops, over, value, start)
        if transform is not None:
            return transform
        product = find_contraction(loops, over, value)
        if product is not None:
            return Contraction(_element_type(product.a), _element_type(product.b), value.dtype)
    return Reduction(op, value.dtype)


def form_of_nest(nest: Nest) -> Form:
    """The form of a naive nest, read from its loops: for those that come with none, and to verify."""
    if isinstance(nest, Pointwise):
        return Map()
    return form_of(nest.op, nest.loops, nest.over, nest.value, nest.start.value)


def _element_type(operand: Expr) -> DType:
    load = loaded_operand(operand)
    return operand.dtype if load is None else load.dtype


def _transform(loops: Sequence[Var], over: Sequence[Var], value: Expr, start: Expr) -> Transform | None:
    if any(v.length is not None for v in (*loops, *over)) or start != Const(0.0, F32):
        return None
    product = entries(value)
    if product is None or not isinstance(product[0], Load) or len(over) != 2 or set(product[1]) != set(over):
        return None
    rows, columns = (product[1][v] for v in over)
    places = [free_vars(e.row) for e in (rows, columns)]
    if any(len(p) != 1 for p in places) or places[0] == places[1]:
        return None
    (i,), (j,) = places
    return Transform(rows.matrix[: i.extent], columns.matrix[: j.extent])


def entries(value: Expr) -> tuple[Expr, dict[Expr, Entry]] | None:
    """The element of a product with two matrices' entries, and these by their columns; None for other values."""
    factors = _factors(value)
    elements = [f for f in factors if not isinstance(f, Entry)]
    by_column: dict[Expr, Entry] = {f.column: f for f in factors if isinstance(f, Entry)}
    return (elements[0], by_column) if (len(elements), len(by_column), len(factors)) == (1, 2, 3) else None


def _factors(e: Expr) -> list[Expr]:
    """The factors of a product of float32."""
    return _factors(e.a) + _factors(e.b) if isinstance(e, Binary) and e.op == "*" and e.dtype == F32 else [e]


def forms_of(kernel: Kernel) -> dict[Buffer, Form]:
    """The forms of a naive kernel's results."""
    if len(kernel.forms) != kernel.outputs:
        raise InternalError(f"kernel {kernel.name} has {len(kernel.forms)} forms for {kernel.outputs} results")
    return dict(zip(kernel.params[len(kernel.params) - kernel.outputs :], kernel.forms, strict=True))


def retyped(form: Form, held: Callable[[DType], DType]) -> Form:
    """The form where elements of each type are `held` as another one."""
    match form:
        case Reduction(op, dtype):
            return Reduction(op, held(dtype))
        case Contraction(a, b, total):
            return Contraction(held(a), held(b), held(total))
    return form
