"""Operators of a domain of one's own: `webnn-compile model.onnx --ops my_ops.py --out bundle/`."""

from __future__ import annotations

import numpy as np
from webnn_compile.custom import Call, Tensor, apply, compute, exp, number, operator, pointwise, reduce_axes, sqrt


def swish_reference(x: np.ndarray, beta: float = 1.0) -> np.ndarray:
    """The same by NumPy, for --verify."""
    return x / (1 + np.exp(-beta * x))


@operator("com.example", "Swish", reference=swish_reference)
def swish(call: Call) -> Tensor:
    """x / (1 + exp(-beta x)), elementwise."""
    beta = call.attribute("beta", 1.0)
    return pointwise(call, lambda x: x / (1 + exp(-beta * x)), call.input(0))


@operator("com.example", "RMSNorm")
def rms_norm(call: Call) -> tuple[Tensor, Tensor]:
    """x / sqrt(mean(x^2) + epsilon) * scale along the last axis, and the mean square of each row."""
    x = call.input(0)
    last = x.rank - 1
    length = x.shape[last]
    scale = call.input(1, (length,))
    epsilon = call.attribute("epsilon", 1e-5)
    total = reduce_axes(f"{call.name}.total", "sum", x.shape, (last,), (x,), lambda *i: x[i] * x[i])
    mean = compute(f"{call.name}.mean", total.shape, (total,), lambda *i: total[i] / number(length, x.dtype))
    y = compute(call.name, x.shape, (x, scale, mean), lambda *i: x[i] / sqrt(mean[i[:-1]] + epsilon) * scale[i[-1]])
    return y, mean


@operator("com.example", "GatedUnit", since=2)
def gated_unit(call: Call) -> Tensor:
    """Relu(a) * Swish(b), of operators that there are: one of ONNX, and one of this file."""
    opened = apply(call, "Relu", call.input(0))
    gate = apply(call, swish, call.input(1), beta=call.attribute("beta", 1.0))
    return apply(call, "Mul", opened, gate)
