"""From a Keras model to a Graph, by way of an ONNX model."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from ...graph.ir import Graph
from ...system.limits import CompileMemory
from ..model_card import ModelCard, Port
from ..model_inputs import ModelInputs
from ..onnx import import_model as import_onnx
from .convert import all_layers, convert, output_names, unsupported_kinds
from .read_config import input_layers, input_shape, input_type
from .read_model import Model, read_model


def import_model(
    model: str | Path | bytes, inputs: ModelInputs | None = None, memory: CompileMemory | None = None
) -> Graph:
    """The graph of a Keras model. Raises InputError for what is no such file or does not fit `inputs`, and one
    UnsupportedError that names everything that is not supported."""
    return import_onnx(convert(read_model(model)), inputs, memory)


def describe(model: str | Path | bytes) -> ModelCard:
    """Raises InputError for what is no Keras model."""
    return describe_read(read_model(model))


def describe_read(read: Model) -> ModelCard:
    """The card of a model that is read."""
    layers = [layer for _, layer in all_layers(read.network) if layer.kind != "InputLayer"]
    weights = [w for layer in layers for w in layer.weights]
    sizes: Counter[str] = Counter()
    for w in weights:
        sizes[str(w.dtype)] += w.nbytes
    return ModelCard(
        name=read.name,
        producer=read.writer,
        opset=0,
        operators=dict(Counter(layer.kind for layer in layers).most_common()),
        parameters=sum(w.size for w in weights),
        inputs=tuple(Port(i.name, input_type(i), input_shape(i)) for i in input_layers(read.network)),
        outputs=tuple(Port(name, "float32", None) for name in output_names(read.network)),
        weights=dict(sizes.most_common()),
        unsupported=tuple(unsupported_kinds(read.network)),
    )
