"""float16 is storage only: conversions become integer arithmetic on its bits, so no target needs half instructions."""

from __future__ import annotations

from dataclasses import replace

from ..dtypes import F16, F32, F64, I32, U16
from ..ir.lanes import Splat, lanes_of
from ..ir.nodes import Bitcast, Cast, Const, Expr, Kernel, Node, Select
from ..ir.rewrite import rewrite
from ..ir.round_to_odd import round_to_odd
from .float_bits import round_to_half
from .math_functions import Num


def lower_float16(kernel: Kernel) -> Kernel:
    """float32(h) and float16(f)   ->   shifts and a multiplication on the bits (IEEE 754, round to nearest even);
    float32(float16(f))            ->   `f` rounded as a float32, in fewer operations, none of 16 bits;
    float16(float64)               ->   by way of a float32 rounded to odd, so that it is rounded once."""

    def rounding(n: Node) -> Expr | None:
        match n:
            case Cast(to, Cast(middle, a)) if middle == F16 and a.dtype != F16:
                rounded = round_to_half(Num(_single(a), lanes_of(a))).e
                return rounded if to == F32 else Cast(to, rounded)
        return None

    def rule(n: Node) -> Expr | None:
        match n:
            case Cast(to, a) if a.dtype == F16:
                wide = _widen(Num(a, lanes_of(a))).e
                return wide if to == F32 else Cast(to, wide)
            case Cast(to, a) if to == F16:
                return _narrow(Num(_single(a), lanes_of(a))).e
        return None

    body = rewrite(rewrite(kernel.body, rounding, {Cast}), rule, {Cast})
    return kernel if body is kernel.body else replace(kernel, body=body)


def _single(a: Expr) -> Expr:
    """A float32 that rounds to the same float16: integers of more than 24 bits are beyond all of these."""
    if a.dtype == F64:
        return round_to_odd(a)
    return a if a.dtype == F32 else Cast(F32, a)


def _widen(h: Num) -> Num:
    bits = Num(Cast(I32, Bitcast(U16, h.e)), h.lanes)
    sign = bits.op("and", 0x8000).op("shl", 16)
    rest = bits.op("and", 0x7FFF).op("shl", 13)
    # The exponent is too small by 112; a multiplication mends it, for subnormals as well.
    size = rest.bits(F32) * 2.0**112
    special = Num((Num(_const(0x0F800000 - 1, h.lanes), h.lanes) < rest).e, h.lanes)
    whole = Num(Select(special.e, rest.op("or", 0x7F800000).e, size.bits(I32).e), h.lanes)
    return whole.op("or", sign).bits(F32)


def _narrow(f: Num) -> Num:
    bits = f.bits(I32)
    sign = bits.op("shr", 16).op("and", 0x8000)
    size = bits.op("and", 0x7FFFFFFF)
    magnitude = size.bits(F32)
    # Normal: rebias the exponent, round by adding just under half plus the lowest kept bit.
    odd = size.op("shr", 13).op("and", 1)
    normal = (size + ((15 - 127) << 23) + 0xFFF + odd).op("shr", 13)
    # Subnormal: adding 0.5 lets the float32 adder round at the right place.
    subnormal = (magnitude + 0.5).bits(I32) - (126 << 23)
    small = size < (113 << 23)
    result = Num(Select(small.e, subnormal.e, normal.e), f.lanes)
    overflow = Num((Num(_const(0x477FEFFF, f.lanes), f.lanes) < size).e, f.lanes)
    nan = Num((Num(_const(0x7F800000, f.lanes), f.lanes) < size).e, f.lanes)
    beyond = Num(Select(nan.e, _const(0x7E00, f.lanes), _const(0x7C00, f.lanes)), f.lanes)
    half = Num(Select(overflow.e, beyond.e, result.e), f.lanes).op("or", sign)
    return Num(Bitcast(F16, Cast(U16, half.e)), f.lanes)


def _const(value: int, lanes: int) -> Expr:
    return Splat(Const(value), lanes) if lanes > 1 else Const(value)
