"""Convolutions and products of matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...operators.images import transposed_padding
from ..call import Call, Handler
from ..values import Batched, Value
from .elementwise import clip


def ordered(call: Call, i: int, perm: Sequence[int]) -> str:
    """Operand `i` in another order; constants are put in it here."""
    data = call.fact(i).data
    if data is None:
        return call.node("Transpose", [call.read(i)], perm=list(perm))
    return call.builder.constant(np.ascontiguousarray(data.transpose(perm)), f"{call.stem}.weights")


def _extents(call: Call, i: int) -> list[int]:
    """The shape of weights. Raises UnsupportedError where it is not known."""
    shape = call.shape(i)
    if shape is None or None in shape:
        raise call.unsupported("the shape of its weights is not known")
    return [n or 0 for n in shape]


def window(call: Call, sizes: Sequence[int], strides: Sequence[int], dilations: Sequence[int]) -> dict[str, Any]:
    """The attributes of a window: SAME pads as ONNX does under SAME_UPPER; explicit padding is listed for all
    dimensions."""
    found: dict[str, Any] = {"kernel_shape": list(sizes), "strides": list(strides)}
    if call.batched is not None:
        return found | {
            "dilations": list(call.batched.block),
            "pads": [p[i] for i in range(2) for p in call.batched.pads],
        }
    if set(dilations) != {1}:
        found["dilations"] = list(dilations)
    match call.text("padding", "VALID"):
        case "SAME":
            found["auto_pad"] = "SAME_UPPER"
        case "EXPLICIT":
            explicit = call.numbers("explicit_paddings")
            found["pads"] = [*call.spatial(explicit[::2]), *call.spatial(explicit[1::2])]
        case "VALID":
            pass
        case other:
            raise call.unsupported(f"the padding {other!r}")
    return found


def _window_of(call: Call, sizes: Sequence[int]) -> dict[str, Any]:
    ones = [1] * (len(sizes) + 2)
    strides, dilations = (call.numbers(name) or ones for name in ("strides", "dilations"))
    return window(call, sizes, call.spatial(strides), call.spatial(dilations))


def _convolved(call: Call) -> str:
    """N, C, ... of a convolution, whose weights have spatial extents, then input and output channels; fewer of the
    former than the image has are those of groups."""
    *sizes, inputs, _ = _extents(call, 1)
    n = len(sizes)
    x = call.planar(0, n + 2)
    shape = call.facts[x].shape
    channels = None if shape is None else shape[1]
    group = 1 if channels is None or not inputs else channels // inputs
    weights = ordered(call, 1, (n + 1, n, *range(n)))
    return call.node("Conv", [x, weights], group=group, **_window_of(call, sizes))


def _dilated(convolve: Callable[[Call], str]) -> Handler:
    """A convolution; one of blocks is a dilated one, as TensorFlow wrote these."""

    def convert(call: Call) -> Value:
        rank, image = len(_extents(call, 1)), call.operand(0)
        strides, dilations = call.numbers("strides"), call.numbers("dilations")
        plain = set(strides + dilations) == {1} and call.text("padding") == "VALID" and not call.channels_first
        if not isinstance(image, Batched) or not plain:
            return call.image(convolve(call), rank)
        more = rank - 2 - len(image.block)
        block, pads = image.block + (1,) * more, image.pads + ((0, 0),) * more
        call.operands[0], call.batched = image.value, Batched(image.value, block, pads)
        return Batched(call.image(convolve(call), rank), image.block, ((0, 0),) * len(image.block))

    return convert


def _depthwise_convolved(call: Call) -> str:
    """Weights are height, width, channels, and results of each channel, which follow each other."""
    height, width, channels, multiplier = _extents(call, 1)
    data = call.fact(1).data
    if data is None:
        across = call.node("Transpose", [call.read(1)], perm=[2, 3, 0, 1])
        weights = call.node("Reshape", [across, call.integers([channels * multiplier, 1, height, width])])
    else:
        whole = data.transpose(2, 3, 0, 1).reshape(channels * multiplier, 1, height, width)
        weights = call.builder.constant(whole, f"{call.stem}.weights")
    attributes = _window_of(call, [height, width])
    return call.node("Conv", [call.planar(0, 4), weights], group=channels, **attributes)


def _transposed(call: Call) -> str:
    """Weights have output channels before input channels. Without known extents results are as Keras has them: as
    many times larger as the stride is."""
    *sizes, _, _ = _extents(call, 1)
    n = len(sizes)
    strides = call.spatial(call.numbers("strides") or [1] * (n + 2))
    dilations = call.spatial(call.numbers("dilations") or [1] * (n + 2))
    if set(dilations) != {1}:
        raise call.unsupported("it is dilated")
    padding = call.text("padding", "VALID")
    if padding not in ("SAME", "VALID"):
        raise call.unsupported(f"the padding {padding!r}")
    same = padding == "SAME"
    numbers, shape = call.fact(0).numbers, call.shape(2)
    wanted = None if (data := call.known(0)) is None else [int(d) for d in data.reshape(-1)]
    full = [None] * (n + 2)
    out = call.spatial(numbers or wanted or full)  # type: ignore[arg-type]
    extents = call.spatial(shape or full)  # type: ignore[arg-type]
    for d, (k, stride) in enumerate(zip(sizes, strides, strict=True)):
        if extents[d] is None and out[d] is not None:
            extents[d] = -(-out[d] // stride) if same else (out[d] - k) // stride + 1
        elif extents[d] is None or out[d] is None:
            extents[d] = extents[d] or k
            out[d] = extents[d] * stride if same else (extents[d] - 1) * stride + max(k, stride)
    try:
        attributes = transposed_padding(extents, out, sizes, strides, same)
    except ValueError as error:
        raise call.unsupported(str(error)) from None
    weights = ordered(call, 1, (n + 1, n, *range(n)))
    return call.image(call.node("ConvTranspose", [call.planar(2, n + 2), weights], **attributes), n + 2)


def _fused_convolution(convolve: Handler) -> Handler:
    """A convolution, and the functions of `fused_ops`, whose operands follow."""

    def convert(call: Call) -> str:
        y, rank = convolve(call), 4
        assert isinstance(y, str)
        return call.image(_fused(call, y, planar=True), rank)

    return convert


_FUSED = ("Relu", "Elu", "Tanh", "Sigmoid")


def _fused(call: Call, y: str, planar: bool) -> str:
    """The functions of `fused_ops` of `y`; `planar` where it is N, C, ..."""
    at = 2

    def along_channels(i: int) -> str:
        shape = call.integers([-1, 1, 1])
        return call.node("Reshape", [call.read(i), shape]) if planar else call.read(i)

    for op in call.texts("fused_ops"):
        if op == "BiasAdd":
            y, at = call.node("Add", [y, along_channels(at)]), at + 1
        elif op == "FusedBatchNorm" and planar:
            operands = [call.read(at + i) for i in range(4)]
            y, at = call.node("BatchNormalization", [y, *operands], epsilon=call.real("epsilon", 1e-4)), at + 4
        elif op in _FUSED:
            y = call.node(op, [y])
        elif op == "Relu6":
            y = clip(call, y, 0, 6)
        elif op == "LeakyRelu":
            y = call.node("LeakyRelu", [y], alpha=call.real("leakyrelu_alpha", 0.2))
        elif op == "Prelu":
            slope, at = call.read(at), at + 1
            rank = call.rank_of(call.facts[slope].shape, at - 1)
            if planar and rank > 1:
                slope = call.node("Transpose", [slope], perm=[*range(rank - 3), rank - 1, rank - 3, rank - 2])
            elif planar:
                slope = along_channels(at - 1)
            y = call.node("PRelu", [y, slope])
        else:
            raise call.unsupported(f"the fused function {op}")
    return y


def _multiplied(call: Call) -> str:
    across = {name: int(call.flag(f"transpose_{name.lower()}")) for name in "AB"}
    x, y = call.read(0), call.read(1)
    if not call.is_real(0):
        x, y = (
            call.node("Transpose", [v], perm=[1, 0]) if t else v for v, t in zip((x, y), across.values(), strict=True)
        )
        return call.node("MatMul", [x, y])
    if not any(across.values()):
        return call.node("MatMul", [x, y])
    return call.node("Gemm", [x, y], **{f"trans{name}": t for name, t in across.items() if t})


def _fused_matmul(call: Call) -> str:
    return _fused(call, _multiplied(call), planar=False)


def _batch_matmul(call: Call) -> str:
    def across(i: int, swapped: bool) -> str:
        if not swapped:
            return call.read(i)
        rank = call.rank(i)
        return ordered(call, i, (*range(rank - 2), rank - 1, rank - 2))

    return call.node("MatMul", [across(0, call.flag("adj_x")), across(1, call.flag("adj_y"))])


def _einsum(call: Call) -> str:
    return call.node("Einsum", call.reads(), equation=call.text("equation"))


OPERATORS: dict[str, Handler] = {
    "BatchMatMul": _batch_matmul,
    "BatchMatMulV2": _batch_matmul,
    "BatchMatMulV3": _batch_matmul,
    "Conv2D": _dilated(_convolved),
    "Conv2DBackpropInput": _transposed,
    "Conv3D": _dilated(_convolved),
    "Conv3DBackpropInputV2": _transposed,
    "DepthwiseConv2dNative": _dilated(_depthwise_convolved),
    "Einsum": _einsum,
    "FusedDepthwiseConv2dNative": _fused_convolution(_depthwise_convolved),
    "MatMul": _multiplied,
    "_FusedConv2D": _fused_convolution(_convolved),
    "_FusedDepthwiseConv2dNative": _fused_convolution(_depthwise_convolved),
    "_FusedMatMul": _fused_matmul,
}
