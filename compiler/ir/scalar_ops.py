"""The scalar operations and their meaning in NumPy: the one table that folding and interpretation share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dtypes import BOOL, I8, I16, I32, U8, DType

Array = np.ndarray[Any, np.dtype[Any]]

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _divide(a: Array, b: Array) -> Array:
    """The quotient of floats, or of integers towards zero; the least integer by -1 wraps."""
    if a.dtype.kind == "f":
        return np.divide(a, b)
    b = _divisor(b)
    quotient = np.floor_divide(a, b)
    up = ((a < 0) != (b < 0)) & (quotient * b != a)
    return np.asarray(quotient + up)


def _divisor(b: Array) -> Array:
    """An integer divided by zero is as divided by one: defined nowhere, but the same everywhere."""
    return b if b.dtype.kind == "f" else np.where(b == 0, np.ones((), b.dtype), b)


def _erf_like(a: Array) -> Array:
    return np.asarray(_erf(a.astype(np.float64))).astype(a.dtype)


@dataclass(frozen=True, slots=True)
class Dot:
    """Sums, in int32, of the products of `group` elements of two words. The first operand is an int32, of elements of
    the type `a`; the second is an integer of as many signed elements, of which none is beyond `most`, or its negative.
    Elements of the lowest bits are multiplied with each other, and so on."""

    group: int
    a: DType
    most: int | None = None

    @property
    def words(self) -> dict[DType, DType]:
        """Types of the second operand, by the types of its elements."""
        return {e: word for e, word in ((I8, I16), (I8, I32), (I16, I32)) if word.bits == self.group * e.bits}

    def value(self, a: Array, b: Array) -> Array:
        signed = _elements(b, b.dtype.itemsize * 8 // self.group)
        first = _elements(a.astype(np.uint32) if self.a.kind == "uint" else a, self.a.bits)
        products = [x.astype(np.int32) * y for x, y in zip(first, signed, strict=True)]
        return np.asarray(sum(products[1:], products[0]))


def _elements(word: Array, bits: int) -> list[Array]:
    """The elements of each word, the one in the low bits first."""
    kind = word.dtype.type
    size = word.dtype.itemsize * 8
    return [word << kind(size - bits - at) >> kind(size - bits) for at in range(0, size, bits)]


PAIRS, SIGNED_QUADS, UNSIGNED_QUADS, NARROW_QUADS = Dot(2, I16), Dot(4, I8), Dot(4, U8), Dot(4, U8, 64)

QUADS, SIGNED = "dot_unsigned_quads", "dot_signed_quads"

DOTS = {
    "dot_pairs": PAIRS,
    QUADS: UNSIGNED_QUADS,
    "vnni_dot_unsigned_quads": UNSIGNED_QUADS,
    "neon_dot_signed_quads": SIGNED_QUADS,
    "wasm_dot_pairs": PAIRS,
    "wasm_dot_signed_quads": SIGNED_QUADS,
    "wasm_dot_unsigned_quads": UNSIGNED_QUADS,
    "wasm_dot_narrow_quads": NARROW_QUADS,
    SIGNED: SIGNED_QUADS,
}
"""Operations that sum products of words. One named for wasm, VNNI or NEON means the same as the others of its kind, and
is that instruction. The relaxed instructions of wasm take an engine on which they are exact: `bundle/artifact` names
them."""


def pairs_of(dots: Iterable[str]) -> str | None:
    """The dot of two int16 among operations; None for none."""
    return next((op for op in dots if DOTS[op] == PAIRS), None)


def quads_of(dots: Iterable[str]) -> Dot | None:
    """The dot of four bytes among operations; None for none."""
    return next((DOTS[op] for op in dots if DOTS[op].group == 4), None)


def _short_dots(a: Array, b: Array) -> Array:
    """Words of two int16: the sums of the products of the lower two bytes, and of the upper two."""
    products = [x.astype(np.int32) * y for x, y in zip(_elements(a.astype(np.uint32), 8), _elements(b, 8), strict=True)]
    return _in_word(products[0] + products[1], products[2] + products[3])


def _add_shorts(a: Array, b: Array) -> Array:
    return _in_word(*(x + y for x, y in zip(_elements(a, 16), _elements(b, 16), strict=True)))


def _in_word(low: Array, high: Array) -> Array:
    return np.asarray((low & 0xFFFF) | (high << 16))


SHORT_DOTS, ADD_SHORTS = "wasm_short_dots", "add_shorts"

SHORT_ONES = 1 | 1 << 16
"""A word of two int16, by which the products of pairs are the sums of words of two."""

SHORTS: dict[str, Callable[[Array, Array], Array]] = {
    SHORT_DOTS: _short_dots,
    "avx_short_dots": _short_dots,
    ADD_SHORTS: _add_shorts,
}
"""Operations on int32 whose results are words of two int16. The first two, instructions of relaxed SIMD and of AVX,
multiply bytes, those of the first operand unsigned, of at most 7 bits (8 on x86, where sums fit), and add two products
each."""


UNARY: dict[str, Callable[[Array], Array]] = {
    "neg": np.negative,
    "not": np.logical_not,  # of a bool; for integers see `apply_unary`
    "abs": np.abs,
    "exp": np.exp,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,  # half to even, as ONNX Round
    "trunc": np.trunc,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": _erf_like,
    "isnan": np.isnan,
    "isinf": np.isinf,
}

BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": _divide,
    "//": lambda a, b: np.floor_divide(a, _divisor(b)),
    "%": lambda a, b: np.mod(a, _divisor(b)),  # sign of the divisor
    "fmod": lambda a, b: np.fmod(a, _divisor(b)),  # sign of the dividend
    "pow": np.power,
    "max": lambda a, b: np.where(a < b, b, a),
    "min": lambda a, b: np.where(b < a, b, a),
    "max_nan": np.maximum,
    "min_nan": np.minimum,
    "relaxed_max": lambda a, b: np.where(a < b, b, a),
    "relaxed_min": lambda a, b: np.where(b < a, b, a),
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shl": np.left_shift,
    "shr": np.right_shift,  # arithmetic for signed, logical for unsigned
    **{op: dot.value for op, dot in DOTS.items()},
    **SHORTS,
}

COMPARISONS = frozenset(("==", "!=", "<", "<="))
"""Operations whose result is a bool for any dtype."""


def apply_unary(op: str, a: Array) -> Array:
    """The value of Unary(op, a); keeps the dtype, except for the predicates."""
    with np.errstate(all="ignore"):
        if op == "not" and a.dtype.kind != "b":
            return np.asarray(np.invert(a))
        if op in ("floor", "ceil", "round", "trunc") and a.dtype.kind != "f":
            return a
        result = np.asarray(UNARY[op](a))
    return result if op in ("isnan", "isinf") else result.astype(a.dtype)


def apply_binary(op: str, a: Array, b: Array) -> Array:
    """The value of Binary(op, a, b); both operands are of one dtype, but for DOTS."""
    with np.errstate(all="ignore"):
        return np.asarray(compute_binary(op, a, b))


def compute_binary(op: str, a: Array, b: Array) -> Array:
    """`apply_binary` of NumPy's arrays and scalars; of scalars the result is one, too. For callers that turned its
    warnings off."""
    result = BINARY[op](a, b)
    return result if op in COMPARISONS or result.dtype == a.dtype else result.astype(a.dtype)


def apply_cast(dtype: DType, a: Array) -> Array:
    """Cast: float to integer truncates and saturates (NaN gives 0); integers wrap; anything to bool is `!= 0`."""
    a = np.asarray(a)
    if dtype == BOOL:
        return np.asarray(a != 0)
    if dtype.is_int and a.dtype.kind == "f":
        info = np.iinfo(dtype.name)
        wide = np.nan_to_num(np.trunc(a.astype(np.float64)), nan=0.0, posinf=np.inf, neginf=-np.inf)
        result = np.zeros(a.shape, dtype.numpy)
        with np.errstate(all="ignore"):
            inside = (wide > float(info.min)) & (wide < float(info.max))
            result[...] = np.where(inside, wide, 0).astype(dtype.numpy)
        result[wide <= float(info.min)] = info.min
        result[wide >= float(info.max)] = info.max
        return result
    with np.errstate(all="ignore"):
        return a.astype(dtype.numpy)
