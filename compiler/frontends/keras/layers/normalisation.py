"""Normalisation, by statistics of the training or of the values themselves, and scaling."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..call import Call, Handler, Value
from .merging import normalised

_EPSILON = 1e-7
"""Keras's own, which divisors are at least."""


def _axes(call: Call, rank: int, default: int = -1) -> list[int]:
    given = call.option("axis", default)
    return sorted(int(a) % rank for a in (given if isinstance(given, list | tuple) else [given]))


def _scale_and_centre(call: Call, size: int | Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """gamma and beta, or ones and zeros in place of those that the layer lacks."""
    has_scale, has_centre = bool(call.option("scale", True)), bool(call.option("center", True))
    gamma = call.weight(0) if has_scale else np.ones(size, np.float32)
    beta = call.weight(int(has_scale)) if has_centre else np.zeros(size, np.float32)
    return gamma, beta


def _batch_normalization(call: Call) -> Value:
    """By statistics of the training: a BatchNormalization of channels, or a product and a sum along another axis."""
    x = call.x
    axes = _axes(call, x.rank)
    own = sum(bool(call.option(name, True)) for name in ("scale", "center"))
    mean, variance = call.weight(own), call.weight(own + 1)
    gamma, beta = _scale_and_centre(call, mean.shape)
    epsilon = float(call.option("epsilon", 1e-3))
    channels_last = axes == [x.rank - 1] and x.rank > 2 and x.name in call.images
    if axes == [1] or channels_last:
        names = (("gamma", gamma), ("beta", beta), ("mean", mean), ("variance", variance))
        constants = [call.constant(data, name) for name, data in names]
        operand = call.images.planar(x.name, x.rank) if channels_last else x.name
        result = call.node("BatchNormalization", [operand, *constants], epsilon=epsilon)
        return call.interleaved(result, x.rank) if channels_last else Value(result, x.rank)
    factor = gamma.astype(np.float64) / np.sqrt(variance.astype(np.float64) + epsilon)
    shift = beta - mean * factor
    return call.with_constant(
        "Add", call.with_constant("Mul", x, _along(factor, axes, x.rank)), _along(shift, axes, x.rank)
    )


def _along(data: np.ndarray, axes: Sequence[int], rank: int) -> np.ndarray:
    """A vector along an axis, or what has several, with the rank of a value without its batch."""
    shape = [1] * rank
    for axis, size in zip(axes, data.shape, strict=True):
        shape[axis] = size
    return data.reshape(shape[1:])


def _layer_normalization(call: Call) -> Value:
    x = call.x
    axes = _axes(call, x.rank)
    if call.option("rms_scaling", False):
        raise call.unsupported("its rms_scaling is not supported; use RMSNormalization")
    epsilon = float(call.option("epsilon", 1e-3))
    if axes == list(range(axes[0], x.rank)) and (call.option("scale", True) or call.option("center", True)):
        size = call.weight(0).shape
        gamma, beta = _scale_and_centre(call, size)
        operands = [x.name, call.constant(gamma, "gamma"), call.constant(beta, "beta")]
        return Value(call.node("LayerNormalization", operands, axis=axes[0], epsilon=epsilon), x.rank)
    mean = call.node("ReduceMean", [x.name, call.integers(axes)], keepdims=1)
    centred = call.node("Sub", [x.name, mean])
    result = _divided(call, Value(centred, x.rank), axes, epsilon)
    if call.option("scale", True):
        result = call.with_constant("Mul", result, _along(call.weight(0), axes, x.rank))
    if call.option("center", True):
        beta = call.weight(int(bool(call.option("scale", True))))
        result = call.with_constant("Add", result, _along(beta, axes, x.rank))
    return result


def _divided(call: Call, x: Value, axes: Sequence[int], epsilon: float) -> Value:
    """By the root of the mean of its squares along `axes`."""
    squares = call.node("ReduceMean", [call.node("Mul", [x.name, x.name]), call.integers(axes)], keepdims=1)
    root = call.node("Sqrt", [call.node("Add", [squares, call.number(epsilon)])])
    return Value(call.node("Div", [x.name, root]), x.rank)


def _rms_normalization(call: Call) -> Value:
    x = call.x
    axes = _axes(call, x.rank)
    result = _divided(call, x, axes, float(call.option("epsilon", 1e-6)))
    return call.with_constant("Mul", result, _along(call.weight(0), axes, x.rank))


def _group_normalization(call: Call) -> Value:
    """By the channels of a group at all positions. As many groups as -1 are one for each channel."""
    x = call.x
    (axis,) = _axes(call, x.rank)
    if not call.option("scale", True) and not call.option("center", True):
        raise call.unsupported("it has neither scale nor center, which say how many channels there are")
    channels = call.weight(0).shape[0]
    gamma, beta = _scale_and_centre(call, channels)
    groups = int(call.option("groups", 32))
    vectors = [call.constant(gamma, "gamma"), call.constant(beta, "beta")]
    attributes = {"num_groups": channels if groups == -1 else groups, "epsilon": float(call.option("epsilon", 1e-3))}
    if x.rank == 2:
        wide = call.node("Unsqueeze", [x.name, call.integers([2])])
        result = call.node("GroupNormalization", [wide, *vectors], **attributes)
        return Value(call.node("Squeeze", [result, call.integers([2])]), 2)
    if axis == 1:
        return Value(call.node("GroupNormalization", [x.name, *vectors], **attributes), x.rank)
    if axis != x.rank - 1:
        raise call.unsupported(f"its axis {axis} is neither the first nor the last behind the batch")
    planar = call.images.planar(x.name, x.rank)
    return call.interleaved(call.node("GroupNormalization", [planar, *vectors], **attributes), x.rank)


def _unit_normalization(call: Call) -> Value:
    x = call.x
    return normalised(call, x, _axes(call, x.rank))


def _normalization(call: Call) -> Value:
    """By a mean and a variance that are weights, or were given."""
    x = call.x
    given = call.layer.config.get("axis", -1)
    axes = [] if given is None else _axes(call, x.rank)
    mean, variance = (
        np.asarray(call.option(name) if call.option(name) is not None else call.weight(i), np.float64)
        for i, name in enumerate(("mean", "variance"))
    )
    if mean.ndim == len(axes):
        mean, variance = (_along(a, axes, x.rank) for a in (mean, variance))
    else:  # given ones are broadcast, and may have the dimension of the batch
        mean, variance = (a.reshape(a.shape[1:] if a.ndim == x.rank else a.shape) for a in (mean, variance))
    deviation = np.maximum(np.sqrt(variance), _EPSILON)
    if call.option("invert", False):
        return call.with_constant("Add", call.with_constant("Mul", x, deviation), mean)
    return call.with_constant("Div", call.with_constant("Sub", x, mean), deviation)


def _rescaling(call: Call) -> Value:
    """Both may be vectors along the last axis."""
    scale, offset = (np.asarray(_number(call.option(name, default))) for name, default in (("scale", 1), ("offset", 0)))
    x = call.with_constant("Mul", call.x, scale)
    return x if not offset.any() else call.with_constant("Add", x, offset)


def _layer_scale(call: Call) -> Value:
    """A factor for each channel, in ConvNeXt of Keras's applications."""
    return call.with_constant("Mul", call.x, call.weight(0))


def _spectral_normalization(call: Call) -> Value | Sequence[Value] | None:
    """The layer inside, whose kernel training has normalised."""
    (layer,) = call.layer.inner
    return call.apply(layer, *call.args)


def _number(given: object) -> object:
    """Keras 3 serialises arrays as {"class_name": "__numpy__", "config": {"value": ...}}."""
    return given["config"]["value"] if isinstance(given, dict) else given


LAYERS: dict[str, Handler] = {
    "BatchNormalization": _batch_normalization,
    "GroupNormalization": _group_normalization,
    "LayerNormalization": _layer_normalization,
    "LayerScale": _layer_scale,
    "Normalization": _normalization,
    "RMSNormalization": _rms_normalization,
    "Rescaling": _rescaling,
    "SpectralNormalization": _spectral_normalization,
    "UnitNormalization": _unit_normalization,
}
