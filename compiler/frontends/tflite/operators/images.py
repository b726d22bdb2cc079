"""Pooling, resizing and rearranging of images."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...operators.images import resize_attributes
from ..call import Call, Handler

_SAME = 0


def window(call: Call, sizes: list[int], strides: list[int], dilations: list[int] | None = None) -> dict[str, Any]:
    """The attributes of a window: TFLite pads as ONNX does under SAME_UPPER."""
    dilated = {} if dilations is None or set(dilations) == {1} else {"dilations": dilations}
    padding = "SAME_UPPER" if call.options.Padding() == _SAME else "VALID"
    return {"kernel_shape": sizes, "strides": strides, "auto_pad": padding, **dilated}


def _pool(op: str) -> Handler:
    def convert(call: Call) -> None:
        o = call.options
        sizes, strides = [o.FilterHeight(), o.FilterWidth()], [o.StrideH(), o.StrideW()]
        x = call.planar(0)
        if op == "LpPool":  # the mean of squares, not their sum
            squares = call.builder.node("Mul", [x, x], f"{call.stem}.squares")
            means = call.node("AveragePool", [squares], **window(call, sizes, strides))
            result = call.node("Sqrt", [means])
        else:
            result = call.node(op, [x], **window(call, sizes, strides))
        call.write(call.activated(call.interleaved(result), o.FusedActivationFunction()))

    return convert


def _resize(mode: str) -> Handler:
    def convert(call: Call) -> None:
        o = call.options
        size = [int(n) for n in call.constant(1, "the size").reshape(-1)]
        batch, _, _, channels = call.result().shape
        attributes = resize_attributes(mode, o.AlignCorners(), o.HalfPixelCenters())
        sizes = call.integers([batch, channels, *size])
        resized = call.node("Resize", [call.planar(0), "", "", sizes], **attributes)
        call.write(call.interleaved(resized))

    return convert


def _blocks(op: str) -> Handler:
    """Both formats order the channels by the place in the block first."""

    def convert(call: Call) -> None:
        call.write(call.interleaved(call.node(op, [call.planar(0)], blocksize=call.options.BlockSize())))

    return convert


def _local_response_normalization(call: Call) -> None:
    """ONNX divides alpha by the size of the window."""
    o = call.options
    size = 2 * o.Radius() + 1
    attributes = {"size": size, "bias": o.Bias(), "alpha": o.Alpha() * size, "beta": o.Beta()}
    call.write(call.interleaved(call.node("LRN", [call.planar(0)], **attributes)))


def _convolution_2d_transpose_bias(call: Call) -> None:
    """MediaPipe's own: weights O, H, W, I; the padding and the strides are the options' three integers."""
    from .products import convolution_transpose

    padding, stride_w, stride_h = np.frombuffer(call.operator.custom[:12], np.int32).tolist()
    convolution_transpose(call, 0, 1, 2, [stride_h, stride_w], padding == 1)


OPERATORS: dict[str, Handler] = {
    "AVERAGE_POOL_2D": _pool("AveragePool"),
    "DEPTH_TO_SPACE": _blocks("DepthToSpace"),
    "L2_POOL_2D": _pool("LpPool"),
    "LOCAL_RESPONSE_NORMALIZATION": _local_response_normalization,
    "MAX_POOL_2D": _pool("MaxPool"),
    "RESIZE_BILINEAR": _resize("linear"),
    "RESIZE_NEAREST_NEIGHBOR": _resize("nearest"),
    "SPACE_TO_DEPTH": _blocks("SpaceToDepth"),
}

CUSTOM: dict[str, Handler] = {
    "Convolution2DTransposeBias": _convolution_2d_transpose_bias,
}
