"""Products with weights: convolutions, their transposes, dense layers, embeddings.

Source: ConvolutionLayer, DeconvolutionLayer, InnerProductLayer and EmbedLayer of BVLC/caffe.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnx import TensorProto

from ...ranked_call import Axis, Value
from ..call import Call, Handler


def _numbers(call: Call, name: str, count: int, default: int) -> list[int]:
    """A parameter that is one for all dimensions, one for each of `count`, or of two has names of its own."""
    p = call.parameters("convolution_param")
    stem = name.removesuffix("_size")
    if name != "dilation" and (p.HasField(f"{stem}_h") or p.HasField(f"{stem}_w")):
        if count != 2:
            raise call.unsupported(f"{stem}_h and {stem}_w for {count} dimensions")
        return [int(getattr(p, f"{stem}_h")), int(getattr(p, f"{stem}_w"))]
    found = [int(n) for n in getattr(p, name)] or [default]
    found = found * count if len(found) == 1 else found
    if len(found) != count:
        raise call.unsupported(f"{name} is {found}, for {count} dimensions")
    return found


def _window(call: Call) -> dict[str, Any]:
    p, count = call.parameters("convolution_param"), call.x.rank - 2
    if call.axis(p.axis, call.x.rank) != 1 or count < 1:
        raise call.unsupported(f"channels along the axis {p.axis} of {call.x.rank} dimensions")
    kernel, pads = _numbers(call, "kernel_size", count, 0), _numbers(call, "pad", count, 0)
    return {
        "kernel_shape": kernel,
        "strides": _numbers(call, "stride", count, 1),
        "dilations": _numbers(call, "dilation", count, 1),
        "pads": pads * 2,
        "group": int(p.group),
    }


def _bias(call: Call, p: Any) -> list[str]:
    return [call.constant(call.weight(1).reshape(-1), "bias")] if p.bias_term else []


def _convolution(call: Call) -> Value:
    p, window = call.parameters("convolution_param"), _window(call)
    weights = call.weight(0).reshape(p.num_output, -1, *window["kernel_shape"])
    return call.apply("Conv", call.x, call.constant(weights), *_bias(call, p), **window)


def _deconvolution(call: Call) -> Value:
    p, window = call.parameters("convolution_param"), _window(call)
    weights = call.weight(0).reshape(-1, p.num_output // p.group, *window["kernel_shape"])
    return call.apply("ConvTranspose", call.x, call.constant(weights), *_bias(call, p), **window)


def _inner_product(call: Call) -> Value:
    """A product along all axes from one on, which become one."""
    p, x = call.parameters("inner_product_param"), call.x
    axis, outputs = call.axis(p.axis, x.rank), p.num_output
    weights = call.weight(0).reshape((-1, outputs) if p.transpose else (outputs, -1))
    if axis == 1:
        rows = x if x.rank == 2 else call.apply("Flatten", x, axis=1, rank=2)
        return call.apply("Gemm", rows, call.constant(weights), *_bias(call, p), transB=int(not p.transpose))
    shape: Sequence[int | Axis] = [0] * axis + [-1]
    rows = x if axis == x.rank - 1 else call.reshaped(x, shape)
    product = call.apply("MatMul", rows, call.constant(weights if p.transpose else weights.T.copy()))
    return call.apply("Add", product, *_bias(call, p)) if p.bias_term else product


def _embed(call: Call) -> Value:
    p = call.parameters("embed_param")
    weights = call.constant(call.weight(0).reshape(p.input_dim, p.num_output))
    index = call.apply("Cast", call.x, to=TensorProto.INT64)
    found = Value(call.node("Gather", [weights, index.name]), call.x.rank + 1)
    return call.apply("Add", found, *_bias(call, p)) if p.bias_term else found


LAYERS: dict[str, Handler] = {
    "Convolution": _convolution,
    "ConvolutionDepthwise": _convolution,
    "Deconvolution": _deconvolution,
    "DepthwiseConvolution": _convolution,
    "Embed": _embed,
    "InnerProduct": _inner_product,
}
