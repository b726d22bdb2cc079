"""Mathematics that survives compilers of shaders. They may take sums in another order, take subnormal numbers for zero
and assume that there are no NaNs and infinities; and there is no float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..dtypes import F32, I32
from ..ir.lanes import Splat, lanes_of
from ..ir.nodes import Binary, Bitcast, Const, Expr, Kernel, Select, Unary
from ..ir.reduction import WITHOUT_NAN
from ..ir.rewrite import rewrite
from .float_bits import INFINITY
from .lower_math import OPERATIONS, lower_math
from .math_functions import ROUNDER, ROUNDER_BITS, Num


def legalise_floats(kernel: Kernel) -> Kernel:
    """lower_math for devices: isnan(x), max_nan(x, y)   ->   tests of the bits;
    x + 1.5 * 2**23 - 1.5 * 2**23   ->   the integer extracted from the bits, which no compiler simplifies."""
    body = rewrite(kernel.body, _before, OPERATIONS)
    lowered = lower_math(kernel if body is kernel.body else replace(kernel, body=body))
    body = rewrite(lowered.body, _after, OPERATIONS)
    return lowered if body is lowered.body else replace(lowered, body=body)


def _before(n: object) -> Expr | None:
    match n:
        case Unary(op, a) if op in FUNCTIONS and a.dtype == F32:
            return FUNCTIONS[op](Num(a, lanes_of(a))).e
        case Binary("max_nan" | "min_nan" as op, a, b) if a.dtype == F32:
            return Select(is_nan(Num(b, lanes_of(b))).e, b, Binary(WITHOUT_NAN[op], a, b))
    return None


def _after(n: object) -> Expr | None:
    match n:
        case Binary("-", Binary("+", _, Const(x) | Splat(Const(x), _)) as total, Const(y) | Splat(Const(y), _)) if (
            x == y == ROUNDER
        ):
            return (Num(Bitcast(I32, total), lanes_of(total)) - ROUNDER_BITS).cast(F32).e
    return None


def size_of(x: Num) -> Num:
    """The bits of |x|, in the order of the numbers that they stand for."""
    return x.bits(I32).op("and", 0x7FFFFFFF)


def is_nan(x: Num) -> Num:
    size = size_of(x)
    return size.of(INFINITY) < size


def is_infinite(x: Num) -> Num:
    return size_of(x).eq(INFINITY)


FUNCTIONS: dict[str, Callable[[Num], Num]] = {"isnan": is_nan, "isinf": is_infinite}
