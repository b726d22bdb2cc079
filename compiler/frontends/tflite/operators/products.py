"""Convolutions and products of matrices."""

from __future__ import annotations

from collections.abc import Sequence

from ...operators.images import transposed_padding
from ..call import Call, Handler
from ..types import stored_type
from .images import window


def _order(call: Call, i: int, perm: Sequence[int]) -> str:
    """Operand `i` in real numbers and another order; constants as they are are put in that order here."""
    tensor = call.tensor(i)
    stem = f"{tensor.name}.ordered"
    if tensor.data is None:
        return call.builder.node("Transpose", [call.read(i)], stem, perm=list(perm))
    axis = None if tensor.quantization is None else list(perm).index(tensor.quantization.axis % len(perm))
    return call.dequantised(call.builder.constant(tensor.data.transpose(perm), stem, stored_type(tensor)), tensor, axis)


def _biased(call: Call, operands: list[str], i: int) -> list[str]:
    return [*operands, call.read(i)] if call.has(i) else operands


def _conv_2d(call: Call) -> None:
    """Weights are O, H, W, I; of fewer input channels than the image has they are those of groups."""
    o = call.options
    _, height, width, channels = call.shape(1)
    attributes = window(call, [height, width], [o.StrideH(), o.StrideW()], [o.DilationHFactor(), o.DilationWFactor()])
    operands = _biased(call, [call.planar(0), _order(call, 1, (0, 3, 1, 2))], 2)
    result = call.node("Conv", operands, group=call.shape(0)[3] // channels, **attributes)
    call.write(call.activated(call.interleaved(result), o.FusedActivationFunction()))


def _depthwise_conv_2d(call: Call) -> None:
    """Weights are 1, H, W, O, where each input channel has O / C results, which follow each other."""
    o = call.options
    _, height, width, _ = call.shape(1)
    attributes = window(call, [height, width], [o.StrideH(), o.StrideW()], [o.DilationHFactor(), o.DilationWFactor()])
    operands = _biased(call, [call.planar(0), _order(call, 1, (3, 0, 1, 2))], 2)
    result = call.node("Conv", operands, group=call.shape(0)[3], **attributes)
    call.write(call.activated(call.interleaved(result), o.FusedActivationFunction()))


def _conv_3d(call: Call) -> None:
    """Weights are D, H, W, I, O."""
    o = call.options
    strides = [o.StrideD(), o.StrideH(), o.StrideW()]
    dilations = [o.DilationDFactor(), o.DilationHFactor(), o.DilationWFactor()]
    operands = _biased(call, [call.planar(0), _order(call, 1, (4, 3, 0, 1, 2))], 2)
    result = call.node("Conv", operands, **window(call, list(call.shape(1)[:3]), strides, dilations))
    call.write(call.activated(call.interleaved(result), o.FusedActivationFunction()))


def _conv_3d_transpose(call: Call) -> None:
    """Weights are D, H, W, O, I."""
    o = call.options
    strides, sizes = [o.StrideD(), o.StrideH(), o.StrideW()], list(call.shape(1)[:3])
    if {o.DilationDFactor(), o.DilationHFactor(), o.DilationWFactor()} != {1}:
        raise call.unsupported("it is dilated")
    _transposed(call, 2, 1, (4, 3, 0, 1, 2), 3, strides, sizes, o.Padding() == 0)


def convolution_transpose(call: Call, data: int, weights: int, bias: int, strides: list[int], same: bool) -> None:
    """Weights are O, H, W, I. Under SAME padding the result is cut as a convolution of it would have been padded."""
    _transposed(call, data, weights, (3, 0, 1, 2), bias, strides, list(call.shape(weights)[1:3]), same)


def _transposed(
    call: Call,
    data: int,
    weights: int,
    perm: Sequence[int],
    bias: int,
    strides: list[int],
    sizes: list[int],
    same: bool,
) -> None:
    """A transposed convolution, whose weights are I, O, ... in the order `perm`, of these spatial `sizes`."""
    try:
        attributes = transposed_padding(call.shape(data)[1:-1], call.result().shape[1:-1], sizes, strides, same)
    except ValueError as error:
        raise call.unsupported(str(error)) from None
    operands = _biased(call, [call.planar(data), _order(call, weights, perm)], bias)
    call.write(call.activated(call.interleaved(call.node("ConvTranspose", operands, **attributes)), _fused(call)))


def _fused(call: Call) -> int:
    o = call.operator.options
    return int(o.FusedActivationFunction()) if hasattr(o, "FusedActivationFunction") else 0


def _transpose_conv(call: Call) -> None:
    o = call.options
    convolution_transpose(call, 2, 1, 3, [o.StrideH(), o.StrideW()], o.Padding() == 0)


def _fully_connected(call: Call) -> None:
    """Weights are outputs x inputs; the operand is a matrix of rows of as many inputs."""
    o = call.options
    if o.WeightsFormat():
        raise call.unsupported("its weights are shuffled")
    inputs = call.shape(1)[1]
    x = call.read(0)
    shape = call.shape(0)
    if o.KeepNumDims() and len(shape) != 2:
        result = call.node("MatMul", [x, _order(call, 1, (1, 0))])
        result = call.node("Add", [result, call.read(2)]) if call.has(2) else result
    else:
        flat = x if len(shape) == 2 and shape[1] == inputs else call.node("Reshape", [x, call.integers([-1, inputs])])
        result = call.node("Gemm", _biased(call, [flat, call.read(1)], 2), transB=1)
    call.write(call.activated(result, o.FusedActivationFunction()))


def _batch_matmul(call: Call) -> None:
    o = call.options

    def across(i: int, swapped: bool) -> str:
        rank = len(call.shape(i))
        return _order(call, i, (*range(rank - 2), rank - 1, rank - 2)) if swapped else call.read(i)

    call.write(call.node("MatMul", [across(0, o.AdjX()), across(1, o.AdjY())]))


OPERATORS: dict[str, Handler] = {
    "BATCH_MATMUL": _batch_matmul,
    "CONV_2D": _conv_2d,
    "CONV_3D": _conv_3d,
    "CONV_3D_TRANSPOSE": _conv_3d_transpose,
    "DEPTHWISE_CONV_2D": _depthwise_conv_2d,
    "FULLY_CONNECTED": _fully_connected,
    "TRANSPOSE_CONV": _transpose_conv,
}
