"""Operands of rows of TFLite's operators, of random elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from tflite_models import Operand, Result, seeded

ACTIVATIONS = {"none": 0, "relu": 1, "relu_n1_to_1": 2, "relu6": 3, "tanh": 4}
SAME, VALID = 0, 1
INT8 = Result("int8", (0.05, -3))
RNG = seeded("rows")


def x(*shape: int, low: float = -3, high: float = 3) -> Operand:
    """An input of real numbers."""
    return Operand(RNG.uniform(low, high, shape).astype(np.float32))


def c(data: Any, dtype: str = "float32") -> Operand:
    """A constant."""
    return Operand(np.asarray(data, dtype), is_constant=True)


def w(*shape: int) -> Operand:
    """Constant real numbers."""
    return Operand(RNG.uniform(-0.5, 0.5, shape).astype(np.float32), is_constant=True)


def n(*shape: int, dtype: str = "int32", low: int = -9, high: int = 9) -> Operand:
    """An input of integers."""
    return Operand(RNG.integers(low, high, shape).astype(dtype))


def of(data: Any, dtype: str = "float32") -> Operand:
    """An input of these elements."""
    return Operand(np.asarray(data, dtype))


def b(*shape: int) -> Operand:
    return Operand(RNG.integers(0, 2, shape).astype(bool))


def q(*shape: int, scale: float = 0.04, zero: int = 5, dtype: str = "int8") -> Operand:
    """An input of quanta."""
    info = np.iinfo(dtype)
    return Operand(RNG.integers(info.min, info.max, shape, endpoint=True).astype(dtype), quanta=(scale, zero))


def qw(*shape: int, axis: int = 0, dtype: str = "int8") -> Operand:
    """Constant quanta with a scale for each index along an axis."""
    info = np.iinfo(dtype)
    scales = RNG.uniform(0.002, 0.02, shape[axis])
    data = RNG.integers(info.min + 1, info.max, shape, endpoint=True).astype(dtype)
    return Operand(data, True, (scales, np.zeros(shape[axis], int), axis))


def qb(scale: float, weights: Operand) -> Operand:
    """Biases in the steps of the sums of an input of this scale with `weights`."""
    assert weights.quanta is not None
    scales = np.atleast_1d(weights.quanta[0]) * scale
    return Operand(RNG.integers(-900, 900, len(scales)).astype("int32"), True, (scales, np.zeros(len(scales), int), 0))


def conv(padding: int, stride: int = 1, dilation: int = 1, activation: int = 0) -> dict[str, Any]:
    return {
        "padding": padding,
        "strideH": stride,
        "strideW": stride,
        "dilationHFactor": dilation,
        "dilationWFactor": dilation,
        "fusedActivationFunction": activation,
    }
