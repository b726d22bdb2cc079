"""From a neural network to ONNX nodes of the same layers, whose values keep their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...errors import InputError, UnsupportedError
from ..model_builder import ModelBuilder
from .classes import Labels, labels_of, read_classes
from .feature_values import Features, FeatureValue, take
from .features import BGR, Feature, blue_first, described_inputs, read_feature
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


def add_network(builder: ModelBuilder, model: Model, given: Features) -> Features:
    """The outputs: float32 or int32, labels after the others. Raises UnsupportedError, which names all that is not
    supported."""
    problems = collect(model.name, unsupported_layers(model), "layer")
    problems.check()
    is_of_five = model.network.arrayInputShapeMapping != _EXACT
    scope = NetworkScope(model.name, builder, is_of_five, problems, _convert_layers)
    for feature in described_inputs(model):
        _enter(scope, model, feature, take(builder, given, feature.name, "float32", feature.shape or None))
    scope.convert(scope, model.network)
    problems.check()
    names: list[str] = []
    if model.kind != "neuralNetworkRegressor":
        names = [model.description.predictedFeatureName, model.description.predictedProbabilitiesName]
    outputs = [read_feature(f) for f in model.description.output]
    results: dict[str, FeatureValue | Labels] = {
        f.name: _output(scope, model, f) for f in outputs if f.name not in names
    }
    present = [name if any(f.name == name for f in outputs) else "" for name in names]
    return results | _labels(scope, model, *present) if any(present) else results


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


def _enter(scope: NetworkScope, model: Model, feature: Feature, name: str) -> None:
    """Makes the ONNX value of an input, float32, one of the network."""
    builder = scope.builder
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


def _output(scope: NetworkScope, model: Model, feature: Feature) -> FeatureValue:
    """In the shape that is declared, or else in that of the last layer."""
    builder, value = scope.builder, _value(scope, model, feature.name).name
    fixed: list[int] = [n for n in feature.shape if isinstance(n, int) and n > 0]
    is_declared = bool(feature.shape) and len(fixed) == len(feature.shape) and scope.is_of_five
    if is_declared:
        value = builder.node("Reshape", [value, builder.integers(fixed)], feature.name)
    dtype = "int32" if feature.dtype == "int32" else "float32"
    if dtype == "int32":
        value = builder.node("Cast", [value], feature.name, to=onnx_type(dtype))
    return FeatureValue(value, dtype, tuple(fixed) if is_declared else None)


def _labels(scope: NetworkScope, model: Model, label: str, by_label: str) -> dict[str, Labels]:
    """Scores are the values that the network names, or else its last result."""
    network = model.network
    classes = read_classes(network, model.name)
    named = network.labelProbabilityLayerName
    last = network.layers[-1].output[0] if network.layers else ""
    scores = _value(scope, model, named if named in scope.values else last).name
    return labels_of(scope.builder, scores, classes, label, by_label)
