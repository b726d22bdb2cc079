"""Pooling, and normalisation by statistics that are stored or computed.

Source: the layers of BVLC/caffe by these names; Normalize is of its branch for SSD.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ranked_call import Value
from ..call import Call, Handler


def _pooling(call: Call) -> Value:
    """The last window that begins in the padding behind the input is left out; averages count padding, up to where it
    ends."""
    p, x = call.parameters("pooling_param"), call.x
    if x.rank != 4:
        raise call.unsupported(f"windows over {x.rank - 2} dimensions")
    if len(call.layer.tops) > 1:
        raise call.unsupported("the positions of maxima as a second result")
    kind = {0: "MaxPool", 1: "AveragePool"}.get(p.pool)
    if kind is None:
        raise call.unsupported("the method STOCHASTIC")
    if p.global_pooling:
        return call.apply(f"Global{kind}", x)
    attributes: dict[str, Any] = {
        "kernel_shape": _pair(p, "kernel", p.kernel_size),
        "strides": _pair(p, "stride", p.stride),
        "pads": _pair(p, "pad", p.pad) * 2,
        "ceil_mode": int(p.ceil_mode and p.round_mode == 0),
    }
    if kind == "AveragePool":
        attributes["count_include_pad"] = 1
    return call.apply(kind, x, **attributes)


def _pair(p: Any, name: str, both: int) -> list[int]:
    if p.HasField(f"{name}_h") or p.HasField(f"{name}_w"):
        return [int(getattr(p, f"{name}_h")), int(getattr(p, f"{name}_w"))]
    return [int(both)] * 2


def _lrn(call: Call) -> Value:
    p, x = call.parameters("lrn_param"), call.x
    size = int(p.local_size)
    if p.norm_region == 0:
        return call.apply("LRN", x, size=size, alpha=p.alpha, beta=p.beta, bias=p.k)
    squares = call.apply("Mul", x, x)
    window: dict[str, Any] = {"kernel_shape": [size] * 2, "pads": [(size - 1) // 2] * 4, "count_include_pad": 1}
    means = call.apply("AveragePool", squares, **window)
    return call.apply("Mul", x, call.apply("Pow", call.scaled(means, p.alpha, 1), -p.beta))


def _batch_norm(call: Call) -> Value:
    """Normalises by a mean and a variance that are stored times a factor; NVIDIA's has a scale and a bias, too."""
    p = call.parameters("batch_norm_param")
    if p.HasField("use_global_stats") and not p.use_global_stats:
        raise call.unsupported("it normalises by the batch; set use_global_stats: true to use the stored statistics")
    factor = float(call.weight(2).reshape(-1)[0])
    mean, variance = (call.weight(i).reshape(-1) * np.float32(factor and 1 / factor) for i in (0, 1))
    scale, bias = np.ones_like(mean), np.zeros_like(mean)
    if p.scale_bias:
        scale, bias = call.weight(3).reshape(-1), call.weight(4).reshape(-1)
    return _normalised(call, call.x, scale, bias, mean, variance, p.eps)


def _normalised(
    call: Call, x: Value, scale: np.ndarray, bias: np.ndarray, mean: np.ndarray, variance: np.ndarray, eps: float
) -> Value:
    vectors = {"scale": scale, "bias": bias, "mean": mean, "variance": variance}
    return call.apply("BatchNormalization", x, *(call.constant(v, n) for n, v in vectors.items()), epsilon=eps)


def _scale(call: Call) -> Value:
    """Products with a factor for each channel, or along other axes from one on; then perhaps a sum."""
    p, x = call.parameters("scale_param"), call.x
    is_learned = len(call.values) == 1
    if is_learned and p.axis == 1 and p.num_axes == 1:
        scale = call.weight(0).reshape(-1)
        shift = call.weight(1).reshape(-1) if p.bias_term else np.zeros_like(scale)
        # As a normalisation it becomes part of the convolution before it.
        return _normalised(call, x, scale, shift, np.zeros_like(scale), np.ones_like(scale), 0.0)
    product = _along(call, "Mul", x, p.axis, p.num_axes)
    if not p.bias_term:
        return product
    return _with_blob(call, "Add", product, int(is_learned), p.axis, p.num_axes if is_learned else call.value(1).rank)


def _bias(call: Call) -> Value:
    p = call.parameters("bias_param")
    return _along(call, "Add", call.x, p.axis, p.num_axes)


def _along(call: Call, op: str, x: Value, axis: int, num_axes: int) -> Value:
    """An operator on `x` and the second operand, or the first blob where there is none, from an axis of `x` on."""
    if len(call.values) == 1:
        return _with_blob(call, op, x, 0, axis, num_axes)
    other = call.value(1)
    behind = x.rank - call.axis(axis, x.rank) - other.rank
    if other.rank and behind > 0:
        other = call.apply("Unsqueeze", other, call.integers(range(other.rank, other.rank + behind)))
    return call.apply(op, x, other)


def _with_blob(call: Call, op: str, x: Value, blob: int, axis: int, num_axes: int) -> Value:
    data, first = call.weight(blob), call.axis(axis, x.rank)
    if num_axes == 1 or data.size == 1:
        data = data.reshape(-1)
    behind = x.rank - first - data.ndim if data.size > 1 else 0
    return call.apply(op, x, call.constant(data.reshape(*data.shape, *(1,) * behind), op.lower()))


def _mvn(call: Call) -> Value:
    """Less the mean, over the deviation to which eps is added."""
    p, x = call.parameters("mvn_param"), call.x
    axes = call.integers(range(1 if p.across_channels else 2, x.rank))
    centred = call.apply("Sub", x, call.apply("ReduceMean", x, axes))
    if not p.normalize_variance:
        return centred
    variance = call.apply("ReduceMean", call.apply("Mul", centred, centred), axes)
    return call.apply("Div", centred, call.scaled(call.apply("Sqrt", variance), 1, p.eps))


def _normalize(call: Call) -> Value:
    """Over the Euclidean norm of all channels, at each position or of all of them, times a factor for each channel."""
    p, x = call.parameters("norm_param"), call.x
    axes = call.integers(range(1, x.rank if p.across_spatial else 2))
    total = call.scaled(call.apply("ReduceSumSquare", x, axes), 1, p.eps)
    return _with_blob(call, "Mul", call.apply("Div", x, call.apply("Sqrt", total)), 0, 1, 1)


LAYERS: dict[str, Handler] = {
    "BatchNorm": _batch_norm,
    "Bias": _bias,
    "LRN": _lrn,
    "MVN": _mvn,
    "Normalize": _normalize,
    "Pooling": _pooling,
    "Scale": _scale,
}
