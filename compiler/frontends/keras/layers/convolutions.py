"""Dense layers and convolutions. Kernels are spatial axes first, then input and output channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..call import Call, Handler, Value
from .activations import activated


def dense(call: Call) -> Value:
    """A product along the last axis."""
    x, kernel = call.x, call.weight(0)
    if x.rank == 2:
        bias = [call.constant(call.weight(1), "bias")] if call.option("use_bias", True) else []
        return activated(call, Value(call.node("Gemm", [x.name, call.constant(kernel, "kernel"), *bias]), 2))
    product = Value(call.node("MatMul", [x.name, call.constant(kernel, "kernel")]), x.rank)
    if call.option("use_bias", True):
        product = call.with_constant("Add", product, call.weight(1))
    return activated(call, product)


def _einsum_dense(call: Call) -> Value:
    """A product by an equation; an ellipsis has the dimensions that it leaves out."""
    x, equation = call.x, "".join(str(call.option("equation")).split())
    operands, _, result = equation.partition("->")
    labels, more = operands.partition(",")[0].replace(".", ""), result.replace(".", "")
    rank = len(more) + (x.rank - len(labels) if "..." in equation else 0)
    product = Value(call.node("Einsum", [x.name, call.constant(call.weight(0), "kernel")], equation=equation), rank)
    if call.option("bias_axes"):
        product = call.with_constant("Add", product, call.weight(1))
    return activated(call, product)


def window(call: Call, sizes: Sequence[int], strides: Sequence[int], dilations: Sequence[int]) -> dict[str, Any]:
    """The attributes of a window: Keras pads as ONNX does under SAME_UPPER; causal padding is all before."""
    found: dict[str, Any] = {"kernel_shape": list(sizes), "strides": list(strides)}
    if set(dilations) != {1}:
        found["dilations"] = list(dilations)
    match str(call.option("padding", "valid")).lower():
        case "same":
            found["auto_pad"] = "SAME_UPPER"
        case "causal":
            found["pads"] = [(k - 1) * d for k, d in zip(sizes, dilations, strict=True)] + [0] * len(sizes)
        case "valid":
            pass
        case other:
            raise call.unsupported(f"the padding {other!r}")
    return found


def window_of(call: Call, kernel: np.ndarray) -> dict[str, Any]:
    """The attributes of a convolution with this kernel, by the layer's options."""
    n = kernel.ndim - 2
    return window(call, kernel.shape[:n], call.numbers("strides", n), call.numbers("dilation_rate", n))


def _bias(call: Call, i: int) -> list[str]:
    return [call.constant(call.weight(i), "bias")] if call.option("use_bias", True) else []


def _convolution(call: Call) -> Value:
    x, kernel = call.x, call.weight(0)
    n = kernel.ndim - 2
    weights = call.constant(kernel.transpose(n + 1, n, *range(n)), "kernel")
    operands = [call.planar(x), weights, *_bias(call, 1)]
    result = call.node("Conv", operands, group=int(call.option("groups", 1)), **window_of(call, kernel))
    return activated(call, call.image(result, x.rank))


def _deep(call: Call, kernel: np.ndarray) -> tuple[str, dict[str, Any]]:
    """The weights and attributes of a convolution of each channel by itself, with `depth_multiplier` results of each,
    which follow each other."""
    n = kernel.ndim - 2
    channels, multiplier = kernel.shape[n:]
    weights = kernel.transpose(n, n + 1, *range(n)).reshape(channels * multiplier, 1, *kernel.shape[:n])
    return call.constant(weights, "depthwise_kernel"), {"group": channels, **window_of(call, kernel)}


def _depthwise(call: Call) -> Value:
    x = call.x
    weights, attributes = _deep(call, call.weight(0))
    result = call.node("Conv", [call.planar(x), weights, *_bias(call, 1)], **attributes)
    return activated(call, call.image(result, x.rank))


def _separable(call: Call) -> Value:
    x, pointwise = call.x, call.weight(1)
    n = pointwise.ndim - 2
    weights, attributes = _deep(call, call.weight(0))
    inner = call.node("Conv", [call.planar(x), weights], **attributes)
    mixing = call.constant(pointwise.transpose(n + 1, n, *range(n)), "pointwise_kernel")
    result = call.node("Conv", [inner, mixing, *_bias(call, 2)], kernel_shape=[1] * n)
    return activated(call, call.image(result, x.rank))


def _transposed(call: Call) -> Value:
    """Kernels have output channels before input channels. A convolution without padding gives (n - 1) * stride + size
    elements; those beyond what Keras keeps are cut, and those that it adds behind them are output_padding."""
    x, kernel = call.x, call.weight(0)
    n = kernel.ndim - 2
    strides, dilations = call.numbers("strides", n), call.numbers("dilation_rate", n)
    own = call.option("output_padding")
    added = [None] * n if own is None else call.numbers("output_padding", n)
    same = str(call.option("padding", "valid")).lower() == "same"
    begin, end, more = [], [], []
    for k, stride, d, add in zip(kernel.shape[:n], strides, dilations, added, strict=True):
        first, last = _cut((k - 1) * d + 1, stride, add, same)
        begin.append(first)
        end.append(max(last, 0))
        more.append(max(-last, 0))
    attributes: dict[str, Any] = {"kernel_shape": list(kernel.shape[:n]), "strides": strides, "pads": begin + end}
    if set(dilations) != {1}:
        attributes["dilations"] = dilations
    if any(more):
        attributes["output_padding"] = more
    weights = call.constant(kernel.transpose(n + 1, n, *range(n)), "kernel")
    operands = [call.planar(x), weights, *_bias(call, 1)]
    return activated(call, call.image(call.node("ConvTranspose", operands, **attributes), x.rank))


def _cut(size: int, stride: int, added: int | None, same: bool) -> tuple[int, int]:
    """The elements that are cut before and behind; below zero those that are added."""
    if not same:
        return 0, -(max(stride - size, 0) if added is None else added)
    padding = stride + size - 2 if added is None else size + size % 2 - 2 + added
    left = min(padding // 2 + padding % 2, size - 1)
    return size - 1 - left, size - 1 - (padding - left)


LAYERS: dict[str, Handler] = {
    "Conv1D": _convolution,
    "Conv1DTranspose": _transposed,
    "Conv2D": _convolution,
    "Conv2DTranspose": _transposed,
    "Conv3D": _convolution,
    "Conv3DTranspose": _transposed,
    "Dense": dense,
    "DepthwiseConv1D": _depthwise,
    "DepthwiseConv2D": _depthwise,
    "EinsumDense": _einsum_dense,
    "SeparableConv1D": _separable,
    "SeparableConv2D": _separable,
}
