"""Sizes: how long a dimension is. A size is a number, or an int32 expression of scalars where that is known at run time
only. The capacity of a size is the largest value that it can have: memory is laid out for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from operator import index

from ..dtypes import I32, DType
from .affine import Affine, affine
from .construct import maximum, minimum
from .evaluate_expression import Evaluators, State
from .facts import decide, range_of
from .nodes import Const, Expr, ExprLike, Node, Scalar
from .printer import print_expression, print_node
from .rewrite import walk
from .simplify import simplify_expr

Size = int | Expr


def size(value: Size) -> Size:
    """The canonical form, in which equal sizes are equal: a number wherever there is only one value. Raises TypeError
    for what is neither an integer nor an expression of int32."""
    if isinstance(value, int):
        return value
    if not isinstance(value, Expr):
        try:
            return index(value)  # of NumPy
        except TypeError:
            raise TypeError(
                f"a size is a {type(value).__name__}: give an integer, or an expression of sizes; // divides"
            ) from None
    if value.dtype != I32:
        raise TypeError(f"a size is an expression of int32, not of {value.dtype}")
    form = affine(simplify_expr(value))
    terms = sorted(form.terms, key=lambda term: print_node(term[0]))
    return Affine(tuple(terms), form.constant).to_expr() if terms else form.constant


def capacity(value: Size) -> int:
    """The largest value."""
    return value if isinstance(value, int) else _bounds(value)[1]


def least(value: Size) -> int:
    """The smallest value."""
    return value if isinstance(value, int) else _bounds(value)[0]


def _bounds(value: Expr) -> tuple[int, int]:
    interval = range_of(value)
    if interval is None:
        raise AssertionError(f"no size: {value!r}")
    return max(interval[0], 0), max(interval[1], 0)


def capacities(shape: Iterable[Size]) -> tuple[int, ...]:
    """The shape that memory is laid out for."""
    return tuple(map(capacity, shape))


def equal(a: Size, b: Size) -> bool | None:
    """Whether two sizes are the same; None where that differs from run to run."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return decide("==", number(a), number(b))


def is_one(a: Size) -> bool:
    """Whether it is always 1: then a dimension is broadcast."""
    return isinstance(a, int) and a == 1


def known_less(a: Size, b: Size) -> bool:
    """Whether `a` is less than `b` in every run."""
    if isinstance(a, int) and isinstance(b, int):
        return a < b
    return decide("<", number(a), number(b)) is True


def known_at_least(a: Size, b: Size) -> bool:
    """Whether `a` is `b` or more in every run."""
    if isinstance(a, int) and isinstance(b, int):
        return a >= b
    return decide("<", number(a), number(b)) is False


def larger(a: Size, b: Size) -> Size:
    """The larger of two sizes."""
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else size(maximum(number(a), b))


def smaller(a: Size, b: Size) -> Size:
    """The smaller of two sizes."""
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else size(minimum(number(a), b))


def divides(a: Size, b: Size) -> bool:
    """Whether `b` is a multiple of `a` in every run."""
    return least(a) > 0 and size(number(b) % a) == 0


def divided(a: Size, b: Size) -> Size:
    """a / b, rounded down, for a positive b."""
    return a // b if isinstance(a, int) and isinstance(b, int) else size(number(a) // b)


def ceiling(a: Size, divisor: int) -> Size:
    """a / divisor, rounded up."""
    return -(-a // divisor) if isinstance(a, int) else size((a + (divisor - 1)) // divisor)


def reciprocal(count: Size, dtype: DType) -> ExprLike:
    """1 / count, as a factor of floats; 1 where there is nothing to divide by."""
    if isinstance(count, int):
        return 1 / max(count, 1)
    return 1 / number(larger(count, 1), dtype)


def number(value: Size, dtype: DType = I32) -> Expr:
    """A size as an operand of arithmetic in `dtype`."""
    if isinstance(value, Expr):
        return value.cast(dtype)
    return Const(float(value) if dtype.is_float else value, dtype)


def product(shape: Iterable[Size]) -> Size:
    """The number of elements."""
    result: Size = 1
    for extent in shape:
        result = result * extent
    return size(result)


def shown(shape: Iterable[Size]) -> str:
    """A shape as messages show it."""
    return f"[{', '.join(map(text_of, shape))}]"


def counter_of(name: str, trips: Size) -> Scalar:
    """A scalar that counts `trips` iterations from 0 on."""
    return Scalar(name, max(capacity(trips), 1), None if isinstance(trips, int) else trips)


def text_of(n: Size) -> str:
    """A size as messages show it."""
    if isinstance(n, int):
        return str(n)
    text, parts = print_expression(n)
    text = text[1:-1] if text.startswith("(") else text
    text = f"{text} where {', '.join(parts)}" if parts else text
    for s in scalars_of(n):  # the scalar rows/8 of a dimension that comes in multiples of 8
        name, _, multiple = s.name.rpartition("/")
        text = re.sub(rf"\(?{re.escape(s.name)} \* {multiple}\b\)?", name, text) if multiple.isdigit() else text
    return text


def value_of(n: Size, scalars: Mapping[Scalar, int]) -> int:
    """The size where scalars have these values; 0 where that would be negative."""
    if isinstance(n, int):
        return n
    if isinstance(n, Scalar):
        return max(scalars[n], 0)
    return max(int(Evaluators().of(n)(State({}, dict(scalars.items())))), 0)


def scalars_of(*nodes: Node) -> tuple[Scalar, ...]:
    """The scalars that occur, in lengths of loops too, in order."""
    return tuple(dict.fromkeys(n for node in nodes for n in walk(node) if isinstance(n, Scalar)))
