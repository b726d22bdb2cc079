"""Layers that move elements, look them up, or leave them as they are; and the wrapper that has a layer on each step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx

from ..call import Call, Handler, Value

IDENTITIES = (
    "ActivityRegularization",
    "AlphaDropout",
    "Dropout",
    "GaussianDropout",
    "GaussianNoise",
    "Identity",
    "RandomBrightness",
    "RandomContrast",
    "RandomFlip",
    "RandomHeight",
    "RandomRotation",
    "RandomTranslation",
    "RandomWidth",
    "RandomZoom",
    "SpatialDropout1D",
    "SpatialDropout2D",
    "SpatialDropout3D",
    "StochasticDepth",
)
"""Layers that do something in training alone."""


def _identity(call: Call) -> Value:
    return call.values[0]


def _flatten(call: Call) -> Value:
    """Channels are last, whichever the data_format."""
    x = call.values[0]
    name = x.name
    if call.channels_first and x.rank > 2:
        name = call.node("Transpose", [name], perm=[0, *range(2, x.rank), 1])
    return replace(x, name=call.node("Reshape", [name, call.integers([0, -1])]), rank=2, mask=None)


def _reshape(call: Call) -> Value:
    """A vector that becomes an image of one position is there in both orders."""
    x, target = call.values[0], [int(n) for n in call.option("target_shape", ())]
    rank = 1 + len(target)
    if rank > 2 and x.rank == 2 and set(target[:-1]) == {1}:
        inner = call.node("Reshape", [x.name, call.integers([0, target[-1], *target[:-1]])])
        return replace(call.interleaved(inner, rank), dtype=x.dtype)
    return replace(x, name=call.node("Reshape", [x.name, call.integers([0, *target])]), rank=rank, mask=None)


def _permute(call: Call) -> Value:
    x = call.values[0]
    order = [0, *(int(d) for d in call.option("dims"))]
    return replace(x, name=call.node("Transpose", [x.name], perm=order), mask=None)


def _repeat_vector(call: Call) -> Value:
    x = call.x
    wide = call.node("Unsqueeze", [x.name, call.integers([1])])
    return Value(call.node("Tile", [wide, call.integers([1, int(call.option("n")), 1])]), 3)


def _embedding(call: Call) -> Value:
    """Rows of a table by numbers of any type, which Keras makes integers."""
    x = call.values[0]
    indices = x.name
    if not x.dtype.startswith("int"):
        indices = call.node("Cast", [indices], to=onnx.TensorProto.INT32)
    result = Value(call.node("Gather", [call.constant(call.weight(0), "embeddings"), indices], axis=0), x.rank + 1)
    if not call.option("mask_zero", False):
        return result
    zero = call.builder.constant(np.zeros((), x.dtype if x.dtype.startswith("int") else "int32"), "zero")
    return replace(result, mask=call.node("Not", [call.node("Equal", [indices, zero])]))


def _masking(call: Call) -> Value:
    """Steps of which all elements are `mask_value` are zeros and do not count."""
    x = call.x
    differs = call.node("Not", [call.node("Equal", [x.name, call.number(float(call.option("mask_value", 0)))])])
    numbers = call.node("Cast", [differs], to=onnx.TensorProto.FLOAT)
    any_differs = call.node("ReduceMax", [numbers, call.integers([-1])], keepdims=1)
    mask = call.node("Cast", [call.node("Squeeze", [any_differs, call.integers([-1])])], to=onnx.TensorProto.BOOL)
    return Value(call.node("Mul", [x.name, any_differs]), x.rank, mask=mask)


def _time_distributed(call: Call) -> Value | None:
    """A layer on each step: the steps are a part of the batch meanwhile."""
    x, (layer,) = call.values[0], call.layer.inner
    results = call.apply(layer, steps_in_batch(call, x))
    return None if results is None else steps_apart(call, results[0], x)


def steps_in_batch(call: Call, x: Value) -> Value:
    """`x`, batch x steps x ..., as batch * steps x ..."""
    behind = call.node("Shape", [x.name], start=2)
    flat = call.node("Reshape", [x.name, call.node("Concat", [call.integers([-1]), behind], axis=0)])
    return Value(flat, x.rank - 1, x.dtype)


def steps_apart(call: Call, result: Value, x: Value) -> Value:
    """The reverse for a result of as many steps as `x` has."""
    ahead, rest = call.node("Shape", [x.name], end=2), call.node("Shape", [result.name], start=1)
    whole = call.node("Reshape", [result.name, call.node("Concat", [ahead, rest], axis=0)])
    return Value(whole, result.rank + 1, result.dtype)


LAYERS: dict[str, Handler] = {
    **dict.fromkeys(IDENTITIES, _identity),
    "Embedding": _embedding,
    "Flatten": _flatten,
    "Masking": _masking,
    "Permute": _permute,
    "RepeatVector": _repeat_vector,
    "Reshape": _reshape,
    "TimeDistributed": _time_distributed,
}
