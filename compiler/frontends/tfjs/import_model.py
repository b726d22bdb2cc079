"""From a model of TensorFlow.js to a Graph, by way of an ONNX model."""

from __future__ import annotations

from pathlib import Path

import onnx

from ...errors import InputError
from ...graph.ir import Graph
from ...system.limits import CompileMemory
from ..keras import convert as convert_layers
from ..keras import describe_read
from ..keras.read_model import Model
from ..model_card import ModelCard
from ..model_inputs import ModelInputs
from ..onnx import import_model as import_onnx
from ..tensorflow import convert as convert_graph
from ..tensorflow import describe_read as describe_graph
from ..tensorflow.read_model import Model as GraphModel
from .read_model import read_model
from .read_shards import read_json, shard_paths


def import_model(
    model: str | Path | bytes, inputs: ModelInputs | None = None, memory: CompileMemory | None = None
) -> Graph:
    """The graph of a model.json. Raises InputError for what is no such file or does not fit `inputs`, and one
    UnsupportedError that names everything that is not supported."""
    return import_onnx(convert(read_model(model)), inputs, memory)


def convert(model: Model | GraphModel) -> onnx.ModelProto:
    """An ONNX model. Raises InputError and UnsupportedError as the converters of Keras and TensorFlow do."""
    return convert_graph(model) if isinstance(model, GraphModel) else convert_layers(model)


def describe(model: str | Path | bytes) -> ModelCard:
    """Raises InputError for what is no model of TensorFlow.js."""
    read = read_model(model)
    return describe_graph(read) if isinstance(read, GraphModel) else describe_read(read)


def shards(path: Path) -> list[Path]:
    """The files with the weights of a model.json; none where it cannot be read."""
    try:
        return [path.parent / location for location in shard_paths(read_json(path))]
    except InputError:
        return []
