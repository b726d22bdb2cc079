"""Describes a Keras model by what the file says of itself."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from ..model_card import ModelCard, Port
from .convert import all_layers, output_names, unsupported_kinds
from .read_config import input_layers, input_shape, input_type
from .read_model import Model, read_model


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
