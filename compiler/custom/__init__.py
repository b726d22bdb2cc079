"""Operators of your own: a function from a `Call` to tensors, for all targets.

    from webnn_compile.custom import Call, Tensor, exp, operator, pointwise

    @operator("com.example", "Swish")
    def swish(call: Call) -> Tensor:
        beta = call.attribute("beta", 1.0)
        return pointwise(call, lambda x: x / (1 + exp(-beta * x)), call.input(0))

`--ops FILE.py` and `operators=` take such definitions; docs/operators-of-your-own.md explains them.
"""

from __future__ import annotations

from ..dtypes import BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, DType
from ..ir.construct import maximum, minimum, select
from ..ir.nodes import Expr
from ..ir.sizes import Size, number, product
from ..ops.axes import many_axes, one_axis
from ..ops.broadcast import broadcast_element, broadcast_shape, pointwise
from ..ops.call import Call
from ..ops.reductions.reduce_axes import reduce_axes, without
from ..tensor import Tensor, compute, constant, reduce
from ..tensor.structure import loop
from .apply import apply, apply_all
from .functions import (
    absolute,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    ceil,
    cos,
    cosh,
    erf,
    exp,
    floor,
    isinf,
    isnan,
    log,
    log1p,
    power,
    round_even,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
)
from .operator import CustomOperator, operator

__all__ = [
    "BOOL",
    "F16",
    "F32",
    "F64",
    "I8",
    "I16",
    "I32",
    "I64",
    "U8",
    "U16",
    "U32",
    "U64",
    "Call",
    "CustomOperator",
    "DType",
    "Expr",
    "Size",
    "Tensor",
    "absolute",
    "acos",
    "acosh",
    "apply",
    "apply_all",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "broadcast_element",
    "broadcast_shape",
    "ceil",
    "compute",
    "constant",
    "cos",
    "cosh",
    "erf",
    "exp",
    "floor",
    "isinf",
    "isnan",
    "log",
    "log1p",
    "loop",
    "many_axes",
    "maximum",
    "minimum",
    "number",
    "one_axis",
    "operator",
    "pointwise",
    "power",
    "product",
    "reduce",
    "reduce_axes",
    "round_even",
    "select",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
    "without",
]
