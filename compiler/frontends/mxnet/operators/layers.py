"""Products with weights, pooling and normalisation.

Source: the operators of MXNet 1.9 by these names (api/python/symbol, src/operator/nn).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from ...ranked_call import Value
from ..call import Call, Handler


def _check_layout(call: Call) -> None:
    layout = call.attribute("layout")
    if layout not in (None, "None", "NCW", "NCHW", "NCDHW"):
        raise call.unsupported(f"the layout {layout}; export the model with channels before rows and columns")


def _window(call: Call) -> dict[str, Any]:
    _check_layout(call)
    count = call.x.rank - 2
    return {
        "kernel_shape": call.numbers("kernel", count),
        "strides": call.numbers("stride", count, 1),
        "dilations": call.numbers("dilate", count, 1),
        "pads": call.numbers("pad", count, 0) * 2,
        "group": int(call.attribute("num_group", 1)),
    }


def _operands(call: Call, *, no_bias: bool = False) -> list[Value]:
    return [call.x, call.value(1), *([] if call.flag("no_bias", default=no_bias) else [call.value(2)])]


def _convolution(call: Call) -> Value:
    return call.apply("Conv", *_operands(call), rank=call.x.rank, **_window(call))


def _deconvolution(call: Call) -> Value:
    if any(call.attribute("target_shape") or ()):
        raise call.unsupported("target_shape; state pad and adj in its place")
    window, count = _window(call), call.x.rank - 2
    window["output_padding"] = call.numbers("adj", count, 0)
    return call.apply("ConvTranspose", *_operands(call, no_bias=True), rank=call.x.rank, **window)


def _fully_connected(call: Call) -> Value:
    x, weights, *bias = _operands(call)
    if call.flag("flatten", default=True):
        rows = x if x.rank == 2 else call.apply("Flatten", x, axis=1, rank=2)
        return call.apply("Gemm", rows, weights, *bias, rank=2, transB=1)
    product = call.apply("MatMul", x, call.apply("Transpose", weights, perm=[1, 0]), rank=x.rank)
    return call.apply("Add", product, *bias) if bias else product


def _embedding(call: Call) -> Value:
    index = call.apply("Cast", call.x, to=TensorProto.INT64)
    return call.apply("Gather", call.value(1), index, rank=call.x.rank + 1)


def _pooling(call: Call) -> Value:
    """With the convention "full" sizes are rounded up."""
    _check_layout(call)
    kind, convention = call.attribute("pool_type", "max"), call.attribute("pooling_convention", "valid")
    op = {"max": "MaxPool", "avg": "AveragePool", "sum": "AveragePool", "lp": "LpPool"}.get(kind)
    if op is None or convention not in ("valid", "full"):
        raise call.unsupported(f"the kind {kind!r} by the convention {convention!r}")
    attributes: dict[str, Any] = {"p": int(call.attribute("p_value", 2))} if kind == "lp" else {}
    x, count = call.x, call.x.rank - 2
    if call.flag("global_pool"):
        if kind == "sum":
            return call.apply("ReduceSum", x, call.integers(range(2, x.rank)))
        return call.apply(f"Global{op}", x, **attributes)
    kernel = call.numbers("kernel", count)
    attributes |= {
        "kernel_shape": kernel,
        "strides": call.numbers("stride", count, 1),
        "pads": call.numbers("pad", count, 0) * 2,
        "ceil_mode": int(convention == "full"),
    }
    if op == "AveragePool":
        attributes["count_include_pad"] = int(kind == "sum" or call.flag("count_include_pad", default=True))
    if kind == "sum" and convention == "full":
        raise call.unsupported("sums of windows by the convention 'full'")
    pooled = call.apply(op, x, **attributes)
    return call.scaled(pooled, float(np.prod(kernel)), 0) if kind == "sum" else pooled


def _batch_norm(call: Call) -> Value:
    """With fix_gamma the scale is one, whatever is stored."""
    x, eps = call.x, call.number_of("eps", 1e-3)
    axis = call.axis(int(call.attribute("axis", 1)), x.rank)
    gamma, beta = call.weight(1, "_gamma"), call.weight(2, "_beta")
    mean, variance = call.weight(3, "_moving_mean"), call.weight(4, "_moving_var")
    if call.flag("fix_gamma", default=True):
        gamma = np.ones_like(gamma)
    if axis == 1:
        vectors = {"gamma": gamma, "beta": beta, "mean": mean, "variance": variance}
        constants = [call.constant(v, name) for name, v in vectors.items()]
        return call.apply("BatchNormalization", x, *constants, epsilon=eps)
    factor = gamma / np.sqrt(variance + np.float32(eps))
    behind = (1,) * (x.rank - 1 - axis)
    scaled = call.apply("Mul", x, call.constant(factor.reshape(-1, *behind), "factor"))
    return call.apply("Add", scaled, call.constant((beta - mean * factor).reshape(-1, *behind), "shift"))


def _layer_norm(call: Call) -> Value:
    x = call.x
    if call.axis(int(call.attribute("axis", -1)), x.rank) != x.rank - 1:
        raise call.unsupported("an axis that is not the last one")
    eps = call.number_of("eps", 1e-5)
    return call.apply("LayerNormalization", x, call.value(1), call.value(2), axis=-1, epsilon=eps)


def _instance_norm(call: Call) -> Value:
    eps = call.number_of("eps", 1e-3)
    return call.apply("InstanceNormalization", call.x, call.value(1), call.value(2), epsilon=eps)


def _l2_normalization(call: Call) -> Value:
    x, mode = call.x, call.attribute("mode", "instance")
    axes = {"instance": range(1, x.rank), "channel": range(1, 2), "spatial": range(2, x.rank)}.get(mode)
    if axes is None:
        raise call.unsupported(f"the mode {mode!r}")
    total = call.scaled(call.apply("ReduceSumSquare", x, call.integers(axes)), 1, call.number_of("eps", 1e-10))
    return call.apply("Div", x, call.apply("Sqrt", total))


def _lrn(call: Call) -> Value:
    names = {"alpha": ("alpha", 1e-4), "beta": ("beta", 0.75), "bias": ("knorm", 2.0)}
    attributes: dict[str, Any] = {ours: call.number_of(name, default) for ours, (name, default) in names.items()}
    return call.apply("LRN", call.x, size=int(call.attribute("nsize")), **attributes)


def _dot(call: Call) -> Value:
    """The last axis of the first operand, and the first one of the second."""
    a, b = _transposed(call, (call.x, call.value(1)))
    if b.rank > 2:
        raise call.unsupported(f"a second operand of {b.rank} dimensions")
    return call.apply("MatMul", a, b, rank=a.rank + b.rank - 2)


def _transposed(call: Call, values: tuple[Value, Value]) -> list[Value]:
    found = []
    for v, name in zip(values, ("transpose_a", "transpose_b"), strict=True):
        order = list(range(v.rank))
        if v.rank > 1:
            order[-2:] = order[-1], order[-2]
        if v.rank > 3 and call.flag(name):
            raise call.unsupported(f"{name} for an operand of {v.rank} dimensions")
        found.append(call.apply("Transpose", v, perm=order) if call.flag(name) else v)
    return found


def _batch_dot(call: Call) -> Value:
    return call.apply("MatMul", *_transposed(call, (call.x, call.value(1))))


def _up_sampling(call: Call) -> Value:
    """Nearest elements, or a transposed convolution with weights of the file."""
    scale, x = int(call.attribute("scale", 1)), call.x
    if call.attribute("sample_type") == "bilinear":
        pad = scale // 2
        window: dict[str, Any] = {
            "kernel_shape": [2 * scale - scale % 2] * 2,
            "strides": [scale] * 2,
            "pads": [pad] * 4,
        }
        return call.apply("ConvTranspose", x, call.value(1), group=int(call.attribute("num_filter", 1)), **window)
    if len(call.values) > 1:
        raise call.unsupported("several operands")
    scales = call.constant(np.array([1, 1, scale, scale], np.float32), "scales")
    nearest: dict[str, Any] = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric"}
    return call.apply("Resize", x, "", scales, nearest_mode="floor", **nearest)


def _bilinear_resize(call: Call) -> Value:
    """Corners to corners, unless align_corners says otherwise."""
    if call.attribute("mode", "size") != "size" or len(call.values) > 1:
        raise call.unsupported(f"the mode {call.attribute('mode', 'like')!r}; state height and width")
    if call.attribute("scale_height") is not None:
        raise call.unsupported("scales; state height and width")
    sizes = call.integers([int(call.attribute(n, 1)) for n in ("height", "width")])
    way = "align_corners" if call.flag("align_corners", default=True) else "half_pixel"
    return call.resized(call.x, sizes, mode="linear", coordinate_transformation_mode=way)


def _adaptive_average(call: Call) -> Value:
    sizes = call.attribute("output_size")
    if sizes not in (None, (), 1, (1,), (1, 1)):
        raise call.unsupported(f"results of {sizes} elements; 1 is taken")
    return call.apply("GlobalAveragePool", call.x)


OPERATORS: dict[str, Handler] = {
    "BatchNorm": _batch_norm,
    "BatchNorm_v1": _batch_norm,
    "Convolution": _convolution,
    "Convolution_v1": _convolution,
    "Deconvolution": _deconvolution,
    "Embedding": _embedding,
    "FullyConnected": _fully_connected,
    "InstanceNorm": _instance_norm,
    "L2Normalization": _l2_normalization,
    "LRN": _lrn,
    "LayerNorm": _layer_norm,
    "Pooling": _pooling,
    "Pooling_v1": _pooling,
    "UpSampling": _up_sampling,
    "_contrib_AdaptiveAvgPooling2D": _adaptive_average,
    "_contrib_BilinearResize2D": _bilinear_resize,
    "batch_dot": _batch_dot,
    "dot": _dot,
}
