"""Describes a Caffe model by what the file says of itself."""

from __future__ import annotations

from pathlib import Path

from ..model_card import ModelCard, Port
from .convert import count_layers, declared, of_inference, output_names, unsupported_kinds
from .read_model import read_model


def describe(model: str | Path | bytes) -> ModelCard:
    """Raises InputError for what is no Caffe model."""
    read = read_model(model)
    parameters = sum(blob.size for layer in of_inference(read) for blob in layer.blobs)
    return ModelCard(
        name=read.name,
        producer="Caffe",
        opset=0,
        operators=count_layers(read),
        parameters=parameters,
        inputs=tuple(Port(i.name, "float32", declared(i)) for i in read.inputs),
        outputs=tuple(Port(name, "float32", None) for name in output_names(read)),
        weights={"float32": 4 * parameters} if parameters else {},
        unsupported=tuple(unsupported_kinds(read)),
    )
