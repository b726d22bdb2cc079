"""Rows of TFLite's operators in quanta."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from tflite_models import Operand, Result, Row
from tflite_operands import INT8, SAME, c, conv, n, q, qb, qw, w, x


def quantised_rows() -> Iterator[Row]:
    """A step of the result is allowed: LiteRT's arithmetic is in fixed point."""
    one = {"tolerance": 1.0}
    for kind in ("ADD", "SUB", "MUL"):
        yield Row(kind, "int8", (q(2, 3, 5, 4), q(2, 3, 5, 4, scale=0.03, zero=-7)), results=(INT8,), version=2, **one)
    for kind, result in (("LOGISTIC", (1 / 256, -128)), ("TANH", (1 / 128, 0)), ("SOFTMAX", (1 / 256, -128))):
        fields = {"beta": 1.0} if kind == "SOFTMAX" else {}
        yield Row(kind, "int8", (q(3, 40),), fields, results=(Result("int8", result),), version=2, **one)
    for dtype, zero in (("int8", 5), ("uint8", 120)):
        result = Result(dtype, (0.1, zero))
        weights = (
            qw(5, 3, 3, 6, axis=0) if dtype == "int8" else Operand(q(5, 3, 3, 6, dtype="uint8").data, True, (0.01, 130))
        )
        bias = qb(0.04, weights) if dtype == "int8" else Operand(n(5).data, True, (0.0004, 0))
        operands = q(2, 9, 8, 6, dtype=dtype, zero=zero), weights, bias
        yield Row("CONV_2D", dtype, operands, conv(SAME, 2, 1, 1), "Conv2DOptions", (result,), version=3, **one)
    weights = qw(1, 3, 3, 6, axis=3)
    operands = q(2, 9, 8, 6), weights, qb(0.04, weights)
    fields = conv(SAME, 1, 1, 3) | {"depthMultiplier": 1}
    yield Row("DEPTHWISE_CONV_2D", "int8", operands, fields, "DepthwiseConv2DOptions", (INT8,), version=3, **one)
    matrix = Operand(qw(7, 11).data, True, (0.01, 0))
    bias = Operand(n(7, low=-500, high=500).data, True, (0.0004, 0))
    yield Row("FULLY_CONNECTED", "int8", (q(3, 11), matrix, bias), results=(INT8,), version=4, **one)
    same = Result("int8", (0.04, 5))
    fields = {"padding": SAME, "strideH": 2, "strideW": 2, "filterHeight": 3, "filterWidth": 3}
    for kind in ("MAX_POOL_2D", "AVERAGE_POOL_2D"):
        yield Row(kind, "int8", (q(2, 9, 8, 6),), fields, "Pool2DOptions", (same,), version=2, **one)
    yield Row("RESHAPE", "int8", (q(2, 6), c((3, 4), "int32")), results=(same,))
    yield Row("PAD", "int8", (q(2, 6), c(((1, 1), (0, 2)), "int32")), results=(same,), version=2)
    yield Row("CONCATENATION", "int8", (q(2, 3), q(2, 4)), {"axis": 1}, results=(same,), version=2)
    yield Row(
        "MEAN",
        "int8",
        (q(2, 5, 4, 6), c((1, 2), "int32")),
        {"keepDims": True},
        "ReducerOptions",
        (INT8,),
        version=2,
        **one,
    )
    yield Row("QUANTIZE", "f32-int8", (x(3, 40),), results=(INT8,))
    yield Row("QUANTIZE", "int8-uint8", (q(3, 40),), results=(Result("uint8", (0.06, 100)),), version=2, **one)
    yield Row("DEQUANTIZE", "int8", (q(3, 40),))
    yield Row("HARD_SWISH", "int8", (q(3, 40),), results=(INT8,), **one)
    yield Row("LEAKY_RELU", "int8", (q(3, 40),), {"alpha": 0.1}, results=(INT8,), version=2, **one)
    yield from _quanta_of_16_bits()
    yield from _weights_of_4_bits()
    half = Operand(w(3, 4).data.astype("float16"), True)
    yield Row("DEQUANTIZE", "f16", (half,), version=3)


def _quanta_of_16_bits() -> Iterator[Row]:
    """Activations of int16 with weights of int8 and biases of int64, as the converter's 16x8 mode has them."""
    few = {"tolerance": 2.0}

    def a(*shape: int) -> Operand:
        return q(*shape, scale=1e-4, zero=0, dtype="int16")

    def biases(weights: Operand) -> Operand:
        plain = qb(1e-4, weights)
        return Operand(plain.data.astype("int64") * 100, True, plain.quanta)

    def result(scale: float) -> tuple[Result, ...]:
        return (Result("int16", (scale, 0)),)

    for kind in ("ADD", "SUB", "MUL"):
        fields = {} if kind == "MUL" else {"potScaleInt16": False}
        yield Row(kind, "int16", (a(2, 3, 5), a(2, 3, 5)), fields, results=result(4e-4), version=2, **few)
    for kind in ("LOGISTIC", "TANH"):
        yield Row(kind, "int16", (a(3, 40),), results=result(1 / 32768), version=3, **few)
    yield Row("SOFTMAX", "int16", (a(3, 40),), {"beta": 1.0}, results=result(1 / 32768), version=3, **few)
    weights = qw(5, 3, 3, 6, axis=0)
    operands = a(2, 9, 8, 6), weights, biases(weights)
    yield Row("CONV_2D", "int16", operands, conv(SAME, 2, 1, 1), "Conv2DOptions", result(5e-4), version=5, **few)
    weights = qw(1, 3, 3, 6, axis=3)
    fields = conv(SAME, 1, 1, 3) | {"depthMultiplier": 1}
    operands = a(2, 9, 8, 6), weights, biases(weights)
    yield Row("DEPTHWISE_CONV_2D", "int16", operands, fields, "DepthwiseConv2DOptions", result(5e-4), version=5, **few)
    matrix = Operand(qw(7, 11).data, True, (0.01, 0))
    operands = a(3, 11), matrix, Operand(n(7, low=-90000, high=90000, dtype="int64").data, True, (1e-6, 0))
    yield Row("FULLY_CONNECTED", "int16", operands, results=result(5e-4), version=7, **few)
    fields = {"padding": SAME, "strideH": 2, "strideW": 2, "filterHeight": 3, "filterWidth": 3}
    for kind in ("MAX_POOL_2D", "AVERAGE_POOL_2D"):
        yield Row(kind, "int16", (a(2, 9, 8, 6),), fields, "Pool2DOptions", result(1e-4), version=3, **few)
    yield Row("QUANTIZE", "f32-int16", (x(3, 40),), results=result(1e-4), version=1)
    yield Row("DEQUANTIZE", "int16", (a(3, 40),), version=3)


def _weights_of_4_bits() -> Iterator[Row]:
    def of_4_bits(weights: Operand) -> Operand:
        return replace(weights, data=np.clip(weights.data // 16, -7, 7), is_int4=True)

    one = {"tolerance": 1.0}
    weights = of_4_bits(qw(5, 3, 3, 5, axis=0))
    operands = q(2, 9, 8, 5), weights, qb(0.04, weights)
    yield Row("CONV_2D", "int4", operands, conv(SAME, 2, 1, 1), "Conv2DOptions", (INT8,), version=7, **one)
    weights = of_4_bits(qw(1, 3, 3, 5, axis=3))
    fields = conv(SAME, 1, 1, 3) | {"depthMultiplier": 1}
    operands = q(2, 9, 8, 5), weights, qb(0.04, weights)
    yield Row("DEPTHWISE_CONV_2D", "int4", operands, fields, "DepthwiseConv2DOptions", (INT8,), version=7, **one)
    matrix = of_4_bits(Operand(qw(7, 11).data, True, (0.01, 0)))
    bias = Operand(n(7, low=-500, high=500).data, True, (0.0004, 0))
    yield Row("FULLY_CONNECTED", "int4", (q(3, 11), matrix, bias), results=(INT8,), version=8, **one)
