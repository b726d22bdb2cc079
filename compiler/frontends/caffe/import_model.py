"""From a Caffe model to a Graph, by way of an ONNX model."""

from __future__ import annotations

from pathlib import Path

from ...graph.ir import Graph
from ...system.limits import CompileMemory
from ..model_card import ModelCard, Port
from ..model_inputs import ModelInputs
from ..usual_sizes import import_at_usual_sizes
from .convert import convert, count_layers, declared, of_inference, output_names, unsupported_kinds, usual_sizes
from .read_model import read_model


def import_model(
    model: str | Path | bytes, inputs: ModelInputs | None = None, memory: CompileMemory | None = None
) -> Graph:
    """The graph of a Caffe model. Free dimensions that `inputs` leave open have the sizes that the file has for them.

    Raises InputError for what is no such file or does not fit `inputs`, and one UnsupportedError that names everything
    that is not supported.
    """
    read = read_model(model)
    return import_at_usual_sizes(lambda: convert(read), usual_sizes(read), inputs, memory)


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
