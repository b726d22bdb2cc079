"""From a neural network to an ONNX model of the same layers, whose values keep their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx

from ...errors import InputError, UnsupportedError
from ..model_builder import ModelBuilder
from .classes import add_classes
from .features import BGR, Feature, blue_first, read_feature
from .layers import LAYERS
from .network_call import Array, Layer, NetworkScope
from .problems import collect
from .read_model import DAMAGES, Model
from .read_value import Value
from .read_weights import stored
from .types import onnx_type

_EXACT, _RANK_4 = 1, 1
_FIRST_KIND = 100
"""The number of the first field of a layer that says its kind."""


def convert_network(model: Model) -> onnx.ModelProto:
    """Raises UnsupportedError, which names all that is not supported."""
    problems = collect(model.name, unsupported_layers(model), "layer")
    problems.check()
    builder = ModelBuilder(model.name)
    is_of_five = model.network.arrayInputShapeMapping != _EXACT
    scope = NetworkScope(model.name, builder, is_of_five, problems, _convert_layers)
    for feature in network_inputs(model):
        _add_input(scope, model, feature)
    outputs = [read_feature(f) for f in model.description.output]
    # What is an output keeps that name for itself.
    reserved = {f.name: builder.name(f.name) for f in outputs}
    scope.convert(scope, model.network)
    problems.check()
    labels = [
        f
        for f in outputs
        if f.name in (model.description.predictedFeatureName, model.description.predictedProbabilitiesName)
    ]
    for feature in outputs:
        if feature not in labels:
            _add_output(scope, model, feature, reserved[feature.name])
    if labels:
        _add_labels(scope, model, reserved)
    return builder.model(model.proto.description.metadata.shortDescription)


def network_inputs(model: Model) -> list[Feature]:
    """The inputs. Images are 1 x channels x height x width."""
    features = [read_feature(f) for f in model.description.input]
    return [
        Feature(
            f.name,
            f.kind,
            "int32" if f.dtype == "int32" else "float32",
            (1, *f.shape) if f.is_image else f.shape,
            f.usual,
            f.color,
        )
        for f in features
    ]


def _kind(layer: Any) -> str:
    """The kind of a layer; "unknown" for one of a later specification."""
    return next((f.name for f, _ in layer.ListFields() if f.number >= _FIRST_KIND), "unknown")


def layers(network: Any) -> Iterator[tuple[str, Any]]:
    """All layers with their kinds, those of branches and loops included."""
    for layer in network.layers:
        yield _kind(layer), layer
        inner = [getattr(layer.branch, n) for n in ("ifBranch", "elseBranch")] if layer.HasField("branch") else []
        inner += [getattr(layer.loop, n) for n in ("conditionNetwork", "bodyNetwork")] if layer.HasField("loop") else []
        for network_inside in inner:
            yield from layers(network_inside)


def unsupported_layers(model: Model) -> dict[str, list[str]]:
    """Names of layers by the kind that is not taken."""
    found: dict[str, list[str]] = {}
    for kind, layer in layers(model.network):
        if kind not in LAYERS:
            found.setdefault(kind, []).append(layer.name)
    return found


def count_layers(model: Model) -> dict[str, int]:
    return dict(Counter(kind for kind, _ in layers(model.network)).most_common())


def constants(model: Model) -> Iterator[Value]:
    """The types of all weights."""
    for layer in model.network.layers:
        for dtype, count in stored(layer):
            yield Value(dtype, (count,))


def _add_input(scope: NetworkScope, model: Model, feature: Feature) -> None:
    builder = scope.builder
    name = builder.input(feature.name, onnx_type(feature.dtype), feature.shape)
    if feature.dtype != "float32":
        name = builder.node("Cast", [name], f"{feature.name}.real", to=onnx.TensorProto.FLOAT)
    rank = len(feature.shape)
    if feature.is_image:
        if feature.color == BGR:
            name = blue_first(builder, name)
        name = _preprocessed(builder, model, feature, name)
        if not scope.is_of_five and model.network.imageInputShapeMapping != _RANK_4:
            name, rank = builder.node("Unsqueeze", [name, builder.integers([0])], feature.name), 5
    elif scope.is_of_five:
        name, rank = _of_five(builder, feature, name), 4
    scope.values[feature.name] = Array(name, rank)


def _of_five(builder: ModelBuilder, feature: Feature, name: str) -> str:
    """An array as sequence x channels x height x width: of one dimension it is channels, of three an image, of five it
    has a batch, of one, behind the sequence."""
    match len(feature.shape):
        case 1:
            return builder.node("Unsqueeze", [name, builder.integers([0, 2, 3])], feature.name)
        case 3:
            return builder.node("Unsqueeze", [name, builder.integers([0])], feature.name)
        case 5 if feature.shape[1] == 1:
            return builder.node("Squeeze", [name, builder.integers([1])], feature.name)
    raise UnsupportedError(
        f"the input {feature.name!r} has the shape {list(feature.shape)}; networks of this version take channels, "
        "channels x height x width, or sequence x 1 x channels x height x width"
    )


def _preprocessed(builder: ModelBuilder, model: Model, feature: Feature, name: str) -> str:
    """An image after its scalers and mean images; those that name no input are of all of them."""
    for step in model.network.preprocessing:
        if step.featureName and step.featureName != feature.name:
            continue
        if step.HasField("meanImage"):
            mean = np.asarray(step.meanImage.meanImage, np.float32).reshape([int(n) for n in feature.shape])
            name = builder.node("Sub", [name, builder.constant(mean, "mean")], feature.name)
            continue
        scaler = step.scaler
        color = [scaler.redBias, scaler.greenBias, scaler.blueBias]
        bias = [scaler.grayBias] if feature.shape[1] == 1 else color[::-1] if feature.color == BGR else color
        scale = scaler.channelScale if scaler.HasField("channelScale") else 1.0
        factor = builder.constant(np.asarray(scale, np.float32), "scale")
        scaled = builder.node("Mul", [name, factor], feature.name)
        name = builder.node(
            "Add", [scaled, builder.constant(np.asarray(bias, np.float32).reshape(-1, 1, 1), "bias")], feature.name
        )
    return name


def _convert_layers(scope: NetworkScope, network: Any) -> None:
    """Others can still be checked where one is not supported: the model is refused at the end, so nothing computes its
    results."""
    for layer in network.layers:
        kind = _kind(layer)
        call = Layer(scope, layer, kind)
        try:
            results = LAYERS[kind](call)
            listed = [results] if isinstance(results, Array) else list(results)
            if len(listed) < len(layer.output):
                raise call.unsupported(f"it has {len(layer.output)} outputs")
            scope.values.update(zip(layer.output, listed, strict=False))
        except UnsupportedError as error:
            scope.problems.add(str(error))
            placeholders = {name: Array(scope.builder.name(name), 4) for name in layer.output}
            scope.values.update(placeholders)
        except DAMAGES as error:
            raise InputError(
                f"{scope.name} is not a valid Core ML model: {kind} ({layer.name!r}): {type(error).__name__}: {error}; "
                "convert it again, or report this with the model"
            ) from error


def _value(scope: NetworkScope, model: Model, name: str) -> Array:
    if name not in scope.values:
        raise UnsupportedError(f"{model.name}: nothing computes its output {name!r}")
    return scope.values[name]


def _add_output(scope: NetworkScope, model: Model, feature: Feature, name: str) -> None:
    """In the shape that is declared, or else in that of the last layer."""
    builder, value = scope.builder, _value(scope, model, feature.name).name
    fixed: list[int] = [n for n in feature.shape if isinstance(n, int) and n > 0]
    if feature.shape and len(fixed) == len(feature.shape) and scope.is_of_five:
        value = builder.node("Reshape", [value, builder.integers(fixed)], name)
    dtype = onnx_type("int32" if feature.dtype == "int32" else "float32")
    builder.node("Cast", [value], name, outputs=[name], to=dtype)
    builder.output(name, dtype, None)


def _add_labels(scope: NetworkScope, model: Model, reserved: dict[str, str]) -> None:
    """Scores are the values that the network names, or else its last result."""
    network, description = model.network, model.description
    classes = list(network.stringClassLabels.vector) or [int(n) for n in network.int64ClassLabels.vector]
    if not classes:
        raise UnsupportedError(f"{model.name}: it is a classifier without labels; convert it with them")
    named = network.labelProbabilityLayerName
    last = network.layers[-1].output[0] if network.layers else ""
    scores = _value(scope, model, named if named in scope.values else last).name
    names = (description.predictedFeatureName, description.predictedProbabilitiesName)
    add_classes(scope.builder, scores, classes, *(reserved.get(n, "") for n in names))
