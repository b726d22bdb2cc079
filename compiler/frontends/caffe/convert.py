"""From a Caffe model to an ONNX model, whose nodes and values have the names of layers and blobs."""

from __future__ import annotations

from collections import Counter

import onnx

from ...errors import InputError, UnsupportedError
from ..images import Images
from ..model_builder import ModelBuilder
from ..ranked_call import Value
from ..unsupported import Unsupported, named
from .call import Call
from .layers import LAYERS
from .read_model import DAMAGES, Input, Layer, Model, is_of_training

_WEIGHTED = frozenset(
    {"BatchNorm", "Convolution", "ConvolutionDepthwise", "Deconvolution", "DepthwiseConvolution", "Embed"}
    | {"InnerProduct", "Normalize", "PReLU", "Parameter"}
)
_ALSO_WEIGHTED = frozenset({"Bias", "Scale"})
"""Layers whose weights may be a second operand."""


def convert(model: Model) -> onnx.ModelProto:
    """Outputs are blobs that no layer reads. Raises UnsupportedError, which names all that is not supported, and
    InputError for a damaged model or one without its weights."""
    layers = of_inference(model)
    _check_weights(model, layers)
    unsupported = Unsupported(model.name, "layer", "Replace or remove these layers, or give the model as ONNX.")
    unsupported.add_kinds(unsupported_kinds(model))
    builder = ModelBuilder(model.name)
    images = Images(builder)
    values: dict[str, Value | None] = {}
    """By blob; None where a layer that is not supported would compute it."""
    for i in model.inputs:
        shape = declared(i)
        values[i.name] = Value(builder.input(i.name, onnx.TensorProto.FLOAT, shape), len(shape))
    names = output_names(model)
    outputs = {name: builder.name(name) for name in names}  # what is an output keeps that name for itself
    for layer in layers:
        missing = [b for b in layer.bottoms if b not in values]
        if missing:
            raise InputError(
                f"{model.name}: nothing computes {missing[0]!r}, which {layer.kind} ({layer.name!r}) reads; give the "
                "whole network"
            )
        operands = [v for b in layer.bottoms if (v := values[b]) is not None]
        found: list[Value] | None = None
        if len(operands) == len(layer.bottoms) and layer.kind in LAYERS:
            found = _converted(model, Call(builder, images, layer, operands), unsupported)
        results: list[Value | None] = [*found] if found is not None else [None] * len(layer.tops)
        values.update(zip(layer.tops, results, strict=True))
    unsupported.check()
    for name in names:
        value = values[name]
        assert value is not None
        builder.node("Identity", [value.name], name, outputs=[outputs[name]])
        builder.output(outputs[name], onnx.TensorProto.FLOAT, None)
    return builder.model()


def _converted(model: Model, call: Call, unsupported: Unsupported) -> list[Value] | None:
    """The values of a layer's tops; None where it needs what is not supported."""
    layer = call.layer
    try:
        found = LAYERS[layer.kind](call)
    except UnsupportedError as error:
        unsupported.add(str(error))
        return None
    except DAMAGES as error:
        raise InputError(
            f"{model.name} is not a valid Caffe model, or {model.weights or 'its weights'} are not its weights: "
            f"{layer.kind} ({layer.name!r}): {type(error).__name__}: {error}; download both again"
        ) from error
    return [found] * len(layer.tops) if isinstance(found, Value) else list(found)


def of_inference(model: Model) -> list[Layer]:
    """The layers without those that compare results with labels. Of these, the ones that contain a softmax or a
    sigmoid are that, unless the network has it besides."""
    probabilities = {layer.bottoms[:1] for layer in model.layers if layer.kind in ("Softmax", "Sigmoid")}
    found = []
    for layer in model.layers:
        if layer.kind in ("SoftmaxWithLoss", "SigmoidCrossEntropyLoss"):
            if layer.bottoms and layer.bottoms[:1] not in probabilities:
                found.append(_without_label(layer))
        elif not is_of_training(layer.kind) and layer.kind != "Silence":
            found.append(layer)
    return found


def _without_label(layer: Layer) -> Layer:
    tops = layer.tops[:1] or (layer.name,)
    return Layer(layer.name, layer.kind, layer.bottoms[:1], tops, layer.message, layer.blobs)


def output_names(model: Model) -> list[str]:
    """The blobs that no layer reads, in order."""
    unread: dict[str, None] = {}
    for layer in of_inference(model):
        for b in layer.bottoms:
            unread.pop(b, None)
        unread.update(dict.fromkeys(layer.tops))
    for layer in model.layers:
        for b in layer.bottoms if layer.kind == "Silence" else ():
            unread.pop(b, None)
    return list(unread)


def declared(i: Input) -> tuple[int | str, ...]:
    """The channels of an input are fixed, its other dimensions are free and named after it. Without a shape it is an
    image."""
    if i.shape is None:
        return tuple(f"{i.name}_{d}" for d in range(4))
    return tuple(n if d == 1 and n > 0 else f"{i.name}_{d}" for d, n in enumerate(i.shape))


def usual_sizes(model: Model) -> dict[str, int]:
    """The size that the file has for each free dimension, by its name."""
    return {
        name: n
        for i in model.inputs
        for name, n in zip(declared(i), i.shape or (), strict=False)
        if isinstance(name, str) and n > 0
    }


def unsupported_kinds(model: Model) -> dict[str, list[str]]:
    """The kinds of layers that are not taken, with the names of these."""
    found: dict[str, list[str]] = {}
    for layer in of_inference(model):
        if layer.kind not in LAYERS:
            found.setdefault(layer.kind, []).append(layer.name)
    return found


def count_layers(model: Model) -> dict[str, int]:
    return dict(Counter(layer.kind for layer in of_inference(model)).most_common())


def _check_weights(model: Model, layers: list[Layer]) -> None:
    lacking = [
        layer.name
        for layer in layers
        if not layer.blobs and (layer.kind in _WEIGHTED or (layer.kind in _ALSO_WEIGHTED and len(layer.bottoms) == 1))
    ]
    if not lacking:
        return
    if not model.weights:
        beside = model.name.rpartition(".")[0] or "net"
        raise InputError(
            f"{model.name} has the layers of a Caffe model, and its weights are in another file: put "
            f"{beside}.caffemodel beside it, and give the path of {model.name}"
        )
    raise InputError(
        f"{model.weights} lacks the weights of {named(lacking, 'layer')} of {model.name}; give the weights that belong "
        "to this network"
    )
