"""Convolutions, pooling, padding and resizing of images."""

from __future__ import annotations

from typing import Any

from ..network_call import Array, Layer, LayerHandler
from ..operators.images import resized, scaled_sizes

_MAX, _AVERAGE = 0, 1
_CUSTOM, _SAME_3D = 0, 2


def _borders(amounts: Any, rank: int) -> list[int]:
    """Begins, then ends, of each dimension."""
    edges = [(int(e.startEdgeSize), int(e.endEdgeSize)) for e in amounts.borderAmounts] or [(0, 0)] * rank
    return [*(b for b, _ in edges), *(e for _, e in edges)]


def _padding(params: Any, rank: int) -> dict[str, Any]:
    if params.HasField("same"):
        return {"auto_pad": "SAME_LOWER" if params.same.asymmetryMode else "SAME_UPPER"}
    return {"pads": _borders(params.valid.paddingAmounts, rank)}


def _numbers(values: Any, rank: int, default: int = 1) -> list[int]:
    return [int(n) for n in values] or [default] * rank


def _convolution(layer: Layer) -> Array:
    p = layer.params
    sizes = _numbers(p.kernelSize, 2, 3)
    groups = max(int(p.nGroups), 1)
    outputs, inputs = int(p.outputChannels), int(p.kernelChannels)
    shape = (inputs, outputs // groups, *sizes) if p.isDeconvolution else (outputs, inputs, *sizes)
    window = {"strides": _numbers(p.stride, 2), "dilations": _numbers(p.dilationFactor, 2)}
    operands = [layer.weights(p.weights, *shape)]
    operands += [layer.weights(p.bias, outputs)] if p.hasBias else []
    attributes: dict[str, Any] = {"group": groups, **window, **_padding(p, 2)}
    if p.isDeconvolution:
        attributes |= _transposed(layer, sizes, window)
        attributes.pop("auto_pad", None)
    op = "ConvTranspose" if p.isDeconvolution else "Conv"
    return layer.per_image(layer.x, lambda x: layer.node(op, [x, *operands], **attributes))


def _transposed(layer: Layer, sizes: list[int], window: dict[str, list[int]]) -> dict[str, Any]:
    """The padding of a deconvolution: under `same` the result is the operand's size times the stride."""
    p = layer.params
    pads = _borders(p.valid.paddingAmounts, 2)
    more = [0, 0]
    for i, (size, stride, dilation) in enumerate(zip(sizes, window["strides"], window["dilations"], strict=True)):
        span = (size - 1) * dilation + 1
        if p.HasField("same"):
            cut = max(span - stride, 0)
            less = cut - cut // 2 if p.same.asymmetryMode else cut // 2
            pads[i], pads[2 + i], more[i] = less, cut - less, max(stride - span, 0)
        elif p.outputShape:
            # The rest of the size by the stride: what a convolution leaves out at the end.
            more[i] = (int(p.outputShape[i]) - (span - pads[i] - pads[2 + i])) % stride
    return {"pads": pads, "output_padding": more}


def _convolution_3d(layer: Layer) -> Array:
    p = layer.params
    if p.isDeconvolution:
        raise layer.unsupported("it is a deconvolution of three dimensions")
    axes = ("Depth", "Height", "Width")
    sizes, strides, dilations = (
        [max(getattr(p, f"{name}{a}"), 1) for a in axes] for name in ("kernel", "stride", "dilation")
    )
    groups = max(p.nGroups, 1)
    weights = [layer.weights(p.weights, p.outputChannels, p.inputChannels // groups, *sizes)]
    weights += [layer.weights(p.bias, p.outputChannels)] if p.hasBias else []
    window = {"strides": strides, "dilations": dilations, "group": groups, **_padding_3d(p)}
    return Array(layer.node("Conv", [layer.x.name, *weights], **window), layer.x.rank)


def _padding_3d(p: Any) -> dict[str, Any]:
    if p.paddingType == _SAME_3D:
        return {"auto_pad": "SAME_UPPER"}
    if p.paddingType != _CUSTOM:
        return {"pads": [0] * 6}
    sides = ("Front", "Top", "Left", "Back", "Bottom", "Right")
    return {"pads": [getattr(p, f"customPadding{side}") for side in sides]}


def _pooling(layer: Layer) -> Array:
    p = layer.params
    op = {_MAX: "MaxPool", _AVERAGE: "AveragePool"}.get(p.type, "LpPool")
    if p.globalPooling:
        return layer.per_image(layer.x, lambda x: layer.node(f"Global{op}", [x]))
    attributes: dict[str, Any] = {"kernel_shape": _numbers(p.kernelSize, 2, 3), "strides": _numbers(p.stride, 2)}
    if p.HasField("includeLastPixel"):
        amounts = _numbers(p.includeLastPixel.paddingAmounts, 2, 0)
        attributes |= {"pads": amounts * 2, "ceil_mode": 1}
    else:
        attributes |= _padding(p, 2)
    if op == "AveragePool" and not p.avgPoolExcludePadding:
        attributes["count_include_pad"] = 1
    return layer.per_image(layer.x, lambda x: layer.node(op, [x], **attributes))


def _pooling_3d(layer: Layer) -> Array:
    p = layer.params
    axes = ("Depth", "Height", "Width")
    sizes, strides = ([max(getattr(p, f"{name}{a}"), 1) for a in axes] for name in ("kernel", "stride"))
    attributes: dict[str, Any] = {"kernel_shape": sizes, "strides": strides, **_padding_3d(p)}
    if p.type == _AVERAGE and not p.countExcludePadding:
        attributes["count_include_pad"] = 1
    op = "AveragePool" if p.type == _AVERAGE else "MaxPool"
    return Array(layer.node(op, [layer.x.name], **attributes), layer.x.rank)


def _global_pooling_3d(layer: Layer) -> Array:
    op = "GlobalAveragePool" if layer.params.type == _AVERAGE else "GlobalMaxPool"
    return Array(layer.node(op, [layer.x.name]), layer.x.rank)


def _pad(layer: Layer) -> Array:
    p = layer.params
    mode = "reflect" if p.HasField("reflection") else "edge" if p.HasField("replication") else "constant"
    pads, axes = layer.integers(_borders(p.paddingAmounts, 2)), layer.integers([-2, -1])
    value = layer.number(p.constant.value)
    return Array(layer.node("Pad", [layer.x.name, pads, value, axes], mode=mode), layer.x.rank)


def _crop(layer: Layer) -> Array:
    """Crops by amounts at the borders, or to the size of a second operand, from an offset on."""
    p, operands = layer.params, layer.operands
    axes = layer.integers([-2, -1])
    if len(operands) == 1:
        top, left, bottom, right = _borders(p.cropAmounts, 2)
        ends = [-n or 2**31 - 1 for n in (bottom, right)]
        cut = [layer.integers([top, left]), layer.integers(ends), axes]
    else:
        begins = layer.integers(_numbers(p.offset, 2, 0))
        size = layer.node("Shape", [operands[1].name], start=operands[1].rank - 2)
        cut = [begins, layer.node("Add", [begins, size]), axes]
    return Array(layer.node("Slice", [operands[0].name, *cut]), operands[0].rank)


def _upsample(layer: Layer) -> Array:
    p = layer.params
    factors = [float(f) for f in p.fractionalScalingFactor or p.scalingFactor] or [1.0, 1.0]
    place = ("asymmetric", "align_corners", "half_pixel")[p.linearUpsampleMode] if p.mode else "asymmetric"
    x = layer.x
    sizes = scaled_sizes(layer, x.name, x.rank, factors)
    return Array(resized(layer, x.name, sizes, place, nearest=not p.mode), x.rank)


_SAMPLING = {0: "align_corners", 1: "align_corners", 2: "asymmetric"}


def _resize_bilinear(layer: Layer) -> Array:
    p = layer.params
    sizes = _numbers(p.targetSize, 2)
    mode = p.mode.samplingMethod
    if mode not in _SAMPLING or (mode == 1 and 1 in sizes):
        raise layer.unsupported("its sampling mode is not supported for this size; convert the model with another one")
    return Array(resized(layer, layer.x.name, sizes, _SAMPLING[mode]), layer.x.rank)


def _reorganize(layer: Layer) -> Array:
    """Space to depth, depth to space, or pixel shuffling."""
    p = layer.params
    if p.mode not in (0, 1, 2):
        raise layer.unsupported(f"the mode {p.mode}")
    op = "SpaceToDepth" if p.mode == 0 else "DepthToSpace"
    order = {"mode": "CRD"} if p.mode == 2 else {}
    return layer.per_image(layer.x, lambda x: layer.node(op, [x], blocksize=int(p.blockSize), **order))


LAYERS: dict[str, LayerHandler] = {
    "convolution": _convolution,
    "convolution3d": _convolution_3d,
    "crop": _crop,
    "globalPooling3d": _global_pooling_3d,
    "padding": _pad,
    "pooling": _pooling,
    "pooling3d": _pooling_3d,
    "reorganizeData": _reorganize,
    "resizeBilinear": _resize_bilinear,
    "upsample": _upsample,
}
