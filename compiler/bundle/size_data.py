"""Sizes as data for the runtime, which computes them for each run.

Size       = int | { text, most, value: Expression }
Expression = int | [number of a scalar] | [operation, Expression*]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import InternalError
from ..ir.nodes import Binary, Cast, Const, Expr, Scalar, Select, Unary
from ..ir.sizes import Size, capacity, scalars_of, text_of
from ..program.dimensions import Dimension
from ..program.program import TensorSpec

Numbers = Mapping[Scalar, int]
"""The number by which the runtime knows a scalar."""


def number_scalars(
    dimensions: Sequence[Dimension], outputs: Sequence[TensorSpec], others: Iterable[Scalar] = ()
) -> dict[Scalar, int]:
    """Those of dimensions first, then those of the shapes of outputs: all backends of a bundle agree on these."""
    shapes = scalars_of(*(n for spec in outputs for n in spec.shape if isinstance(n, Expr)))
    return {s: i for i, s in enumerate(dict.fromkeys((*(d.scalar for d in dimensions), *shapes, *others)))}


def size_data(n: Size, numbers: Numbers) -> int | dict[str, Any]:
    """A size of a shape."""
    if isinstance(n, int):
        return n
    return {"text": text_of(n), "most": capacity(n), "value": expression_data(n, numbers)}


def expression_data(e: Size, numbers: Numbers) -> Any:
    """An expression of scalars."""
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


def dimension_data(d: Dimension, inputs: Sequence[TensorSpec]) -> dict[str, Any]:
    """`least` and `most` are of the size, in which the scalar counts multiples."""
    entry: dict[str, Any] = {"name": d.name, "least": d.least, "most": d.most, "multiple": d.multiple}
    if d.value_of is not None:
        entry["input"] = next(i for i, spec in enumerate(inputs) if spec.name == d.value_of)
    return entry
