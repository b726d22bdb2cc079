"""Sizes as plain data, of which JSON can be made.

Expression = int | [number of a scalar] | [operation, Expression*]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..dtypes import BOOL
from ..errors import InternalError
from .nodes import Binary, Cast, Const, Expr, Scalar, Select, Unary
from .sizes import Size, size, text_of


def expression_data(e: Size, numbers: Mapping[Scalar, int]) -> Any:
    """An expression of scalars, which are known by these numbers."""
    match e:
        case int():
            return e
        case Const(value=value):
            return int(value)
        case Scalar():
            return [numbers[e]]
        case Cast(a=a) if not a.dtype.is_float and not e.dtype.is_float:
            return expression_data(a, numbers)
        case Unary(op=op, a=a):
            return [op, expression_data(a, numbers)]
        case Binary(op=op, a=a, b=b):
            return [op, expression_data(a, numbers), expression_data(b, numbers)]
        case Select(cond=cond, a=a, b=b):
            return ["select", *(expression_data(x, numbers) for x in (cond, a, b))]
    raise InternalError(f"no size: {text_of(e)}")


def size_from_data(data: Any, scalars: Sequence[Scalar]) -> Size:
    """The inverse, where scalars have the numbers of their places."""
    return data if isinstance(data, int) else size(_expression(data, scalars))


def _expression(data: Any, scalars: Sequence[Scalar]) -> Expr:
    if isinstance(data, int):
        return Const(data)
    op, *operands = data
    if isinstance(op, int):
        return scalars[op]
    parts = [_expression(x, scalars) for x in operands]
    if op == "select":
        cond, a, b = parts
        return Select(cond if cond.dtype == BOOL else cond.ne(0), a, b)
    return Unary(op, parts[0]) if len(parts) == 1 else Binary(op, parts[0], parts[1])
