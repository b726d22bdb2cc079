"""Arithmetic and mathematics, element by element, with broadcasting (ONNX opset 7 and later)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce

import numpy as np

from ...dtypes import F32, F64, I32, highest
from ...ir.construct import maximum, maximum_nan, minimum, minimum_nan, select, unary
from ...ir.nodes import Bitcast, Expr, ExprLike, binary, expr
from ...tensor import Tensor, compute
from ..broadcast import binary_operator, fold_operands, pointwise, scalar_element, unary_operator
from ..call import Call

_CONSECUTIVE = 2**24
"""Float32 holds every integer up to this one."""


def _math(op: str) -> Callable[[Call], Tensor]:
    return unary_operator(lambda x: unary(op, x))


def _sign(x: Expr) -> Expr:
    """-1, 0 or 1; NaN of a NaN. Of float32 by the bits, since devices take subnormal numbers for zero."""
    if x.dtype == F32:
        bits = Bitcast(I32, x)
        sign = select(bits < 0, expr(-1.0, F32), 1)
        return select(unary("isnan", x), x, select((bits & highest(I32)).eq(0), expr(0.0, F32), sign))
    zero = select(unary("isnan", x), x, 0) if x.dtype.is_float else expr(0, x.dtype)
    below = zero if x.dtype.kind == "uint" else select(x < 0, expr(-1, x.dtype), zero)
    return select(x > 0, expr(1, x.dtype), below)


def _pow(call: Call) -> Tensor:
    """The result has the base's dtype. A power of integers with a fractional exponent goes through float64; where an
    integer as exponent may be one that float32 rounds, its parity gives the sign."""
    base, exponent = call.input(0), call.input(1)
    constant = exponent.data
    if constant is not None and constant.size == 1 and constant.item() in (1, 2, 3):
        return pointwise(call, lambda x, _: reduce(lambda a, b: a * b, [x] * int(constant.item())), base, exponent)
    whole = exponent.dtype.is_int or (constant is not None and bool((constant == np.rint(constant)).all()))
    wide = base.dtype if whole or base.dtype.is_float else F64
    small = constant is not None and bool((np.abs(constant.astype(np.float64)) <= _CONSECUTIVE).all())

    def body(x: Expr, y: Expr) -> Expr:
        if wide.is_float and y.dtype.is_int and not small:
            power = binary("pow", unary("abs", x), y.cast(wide))
            return select((x < 0) & (y % 2).ne(0), -power, power)
        x, y = x.cast(wide), y.cast(wide)
        if wide.kind != "int":
            power = binary("pow", x, y)
            return power if base.dtype.is_float else power.cast(base.dtype)
        # Integers have no negative powers but those of 1 and -1, which parity decides, and beyond the 63rd power all
        # others but 0 overflow.
        inverse = select(x.eq(1) | x.eq(-1), select((y % 2).ne(0), x, 1), 0)
        return select(y < 0, inverse, binary("pow", x, select(y > 63, 62 + y % 2, maximum(y, 0))))

    return pointwise(call, body, base, exponent)


def _mod(call: Call) -> Tensor:
    """Sign of the divisor, or of the dividend with fmod=1, which floats must have."""
    fmod = call.checked_flag("fmod")
    a, b = call.input(0), call.input(1)
    if a.dtype.is_float and not fmod:
        raise call.unsupported("floats need the attribute fmod=1", "export the model with fmod=1")
    return pointwise(call, lambda x, y: binary("fmod" if fmod else "%", x, y), a, b)


def _extreme(op: Callable[[Expr, Expr], Expr], plain: Callable[[Expr, Expr], Expr]) -> Callable[[Call], Tensor]:
    """Max or Min of any number of inputs; a NaN in any of them is the result, as in onnxruntime."""

    def fold(call: Call) -> Tensor:
        # Max and min keep a NaN on the left: inputs known to have none need no test, at the right.
        def combine(best: Expr, x: Expr, t: Tensor) -> Expr:
            return op(best, x) if _may_be_nan(t) else plain(best, x)

        return fold_operands(call, sorted(call.every_input(), key=_may_be_nan, reverse=True), combine)

    return fold


def _may_be_nan(t: Tensor) -> bool:
    return t.dtype.is_float and (t.data is None or bool(np.isnan(t.data).any()))


def _sum(call: Call) -> Tensor:
    return fold_operands(call, call.every_input(), lambda total, x, _: total + x)


def _mean(call: Call) -> Tensor:
    tensors = call.every_input()
    return fold_operands(call, tensors, lambda total, x, _: total + x, lambda total: total / len(tensors))


def _clip(call: Call) -> Tensor:
    """Bounds are attributes before opset 11 and scalar inputs since; either may be absent."""
    x = call.input(0)

    low: ExprLike | None
    high: ExprLike | None
    if call.opset < 11:
        low = call.attribute("min", -math.inf) if "min" in call.attributes else None
        high = call.attribute("max", math.inf) if "max" in call.attributes else None
    else:
        low, high = scalar_element(call, 1, "min"), scalar_element(call, 2, "max")

    def body(*axes: Expr) -> Expr:
        value = x.read(axes)
        value = value if low is None else maximum(value, low)
        return value if high is None else minimum(value, high)

    return compute(call.name, x.shape, call.inputs, body)


OPERATORS = {
    "Add": binary_operator(lambda a, b: a + b),
    "Sub": binary_operator(lambda a, b: a - b),
    "Mul": binary_operator(lambda a, b: a * b),
    "Div": binary_operator(lambda a, b: a / b),
    "Pow": _pow,
    "Mod": _mod,
    "Max": _extreme(maximum_nan, maximum),
    "Min": _extreme(minimum_nan, minimum),
    "Sum": _sum,
    "Mean": _mean,
    "Clip": _clip,
    "Neg": unary_operator(lambda x: -x),
    "Abs": _math("abs"),
    "Sign": unary_operator(_sign),
    "Reciprocal": unary_operator(lambda x: 1 / x),
    "Sqrt": _math("sqrt"),
    "Exp": _math("exp"),
    "Log": _math("log"),
    "Floor": _math("floor"),
    "Ceil": _math("ceil"),
    "Round": _math("round"),
    "Sin": _math("sin"),
    "Cos": _math("cos"),
    "Tan": _math("tan"),
    "Asin": _math("asin"),
    "Acos": _math("acos"),
    "Atan": _math("atan"),
    "Sinh": _math("sinh"),
    "Cosh": _math("cosh"),
    "Tanh": _math("tanh"),
    "Asinh": _math("asinh"),
    "Acosh": _math("acosh"),
    "Atanh": _math("atanh"),
    "Erf": _math("erf"),
}
