"""Random numbers of ONNX: equal ones in every run, on every target, by the number of the element and the seed.

The key of the generator is the seed's bits and 0, or without a seed the CRC-32 of the node's name and 2, so that nodes
draw independently of each other. Numbers are not those of onnxruntime: ONNX leaves them open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import tau
from zlib import crc32

import numpy as np

from ...dtypes import F16, F32, F64, STORAGE_TYPES, U32, DType, StorageType
from ...ir.construct import unary
from ...ir.nodes import Expr
from ...ir.sizes import Size, shown
from ...tensor import Tensor, compute
from ..call import Call
from ..reductions.reduction import place_of_extreme
from ..unravel import ravel
from .casting import onnx_dtype
from .pcg import Words, exponential, high, pcg
from .storage import stored_as

_SIGNIFICANT = {F16: 11, F32: 24, F64: 53}
"""Bits of a float's significand."""

_FLOAT = 1
"""The number of float32 in ONNX."""


def _words(call: Call) -> Callable[[Sequence[Expr], Sequence[Size]], Words]:
    """The random words of each element of a shape."""
    seed = call.attribute("seed", 0.0)
    given = "seed" in call.attributes
    key = (int(np.float32(seed).view(np.uint32)), 0) if given else (crc32(call.name.encode()), 2)
    return lambda at, shape: pcg(ravel(at, shape).cast(U32), key)


def _uniform(words: Words, bits: int) -> Expr:
    """A multiple of 2**-bits from 0 on, less than 1: float32, or float64 of more than 24 bits."""
    x, y = words
    if bits <= 24:
        return high(x, bits).cast(F32) * 2.0**-bits
    low = bits - 27
    return (high(x, 27).cast(F64) * 2.0**low + high(y, low).cast(F64)) * 2.0**-bits


def _normal(words: Words) -> Expr:
    """A number of the standard normal distribution, float32 (G. E. P. Box and M. E. Muller, 1958)."""
    x, y = words
    radius = unary("sqrt", unary("log", (high(x, 23).cast(F32) + 0.5) * 2.0**-23) * -2.0)
    return radius * unary("cos", high(y, 24).cast(F32) * (tau * 2.0**-24))


def _float_type(call: Call, default: int) -> tuple[DType, StorageType | None]:
    """The dtype of the attribute `dtype`, and which storage type its values have. Raises UnsupportedError unless it is
    of floats."""
    number = call.attribute("dtype", default)
    stored = STORAGE_TYPES.get(number)
    dtype = onnx_dtype(call, "dtype", default) if number or not call.inputs else call.input(0).dtype
    if not dtype.is_float:
        raise call.unsupported(f"its result is of {dtype}, where floats are expected", "set its attribute dtype")
    return dtype, stored


def _random(kind: str, *, like: bool) -> Callable[[Call], Tensor]:
    """Numbers of one distribution, of the shape of an attribute, or of the input's shape and, unless `dtype` is
    given, its type."""

    def operator(call: Call) -> Tensor:
        none: tuple[int, ...] = ()
        shape = call.input(0).shape if like else call.attribute("shape", none)
        if any(isinstance(n, int) and n < 0 for n in shape):
            raise call.unsupported(f"attribute shape is {shown(shape)}", "the model is invalid")
        dtype, stored = _float_type(call, 0 if like else _FLOAT)
        words = _words(call)
        if kind == "normal":
            factor, offset = call.attribute("scale", 1.0), call.attribute("mean", 0.0)
        else:
            offset = call.attribute("low", 0.0)
            factor = call.attribute("high", 1.0) - offset
        format_ = None if stored is None else stored.format
        bits = _SIGNIFICANT[dtype] if format_ is None else format_.mantissa + 1

        def element(*at: Expr) -> Expr:
            drawn = words(at, shape)
            number = _normal(drawn) if kind == "normal" else _uniform(drawn, bits)
            number = number.cast(F64 if dtype == F64 else F32) * factor + offset
            return number.cast(dtype) if stored is None else stored_as(number, stored)

        return compute(call.name, shape, (), element)

    return operator


def _bernoulli(call: Call) -> Tensor:
    """1 where a uniform number is less than the probability."""
    p = call.input(0)
    dtype = onnx_dtype(call, "dtype", 0) if call.attribute("dtype", 0) else p.dtype
    words = _words(call)
    bits = _SIGNIFICANT[F64 if p.dtype == F64 else F32]

    def element(*at: Expr) -> Expr:
        drawn = _uniform(words(at, p.shape), bits)
        return (drawn < p[at].cast(drawn.dtype)).cast(dtype)

    return compute(call.name, p.shape, (p,), element)


def _multinomial(call: Call) -> Tensor:
    """Classes drawn by their logarithms of probabilities [batch, classes], which need not be normalised: (batch,
    sample_size). The largest sum of logarithm and Gumbel's number is at a class by its probability."""
    scores = call.input(0, (None, None))
    samples = call.attribute("sample_size", 1)
    if samples < 0 or scores.shape[1] == 0:
        raise call.unsupported(f"it draws {samples} of a tensor {shown(scores.shape)}", "the model is invalid")
    words = _words(call)
    shape = (scores.shape[0], samples, scores.shape[1])

    def raced(b: Expr, s: Expr, c: Expr) -> Expr:
        return scores[b, c].cast(F32) - unary("log", exponential(words((b, s, c), shape)))

    sums = compute(f"{call.name}.sums", shape, (scores,), raced)
    drawn = place_of_extreme(call.name, "max", sums, 2)
    dtype = onnx_dtype(call, "dtype", 6)
    return compute(call.name, drawn.shape, (drawn,), lambda *at: drawn[at].cast(dtype))


OPERATORS: dict[str, Callable[[Call], Tensor]] = {
    "Bernoulli": _bernoulli,
    "Multinomial": _multinomial,
    "RandomNormal": _random("normal", like=False),
    "RandomNormalLike": _random("normal", like=True),
    "RandomUniform": _random("uniform", like=False),
    "RandomUniformLike": _random("uniform", like=True),
}
