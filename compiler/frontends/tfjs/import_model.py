"""From a layers model of TensorFlow.js to a Graph, by way of an ONNX model."""

from __future__ import annotations

from pathlib import Path

from ...errors import InputError
from ...graph.ir import Graph
from ...system.limits import CompileMemory
from ..keras import convert, describe_read
from ..model_card import ModelCard
from ..model_inputs import ModelInputs
from ..onnx import import_model as import_onnx
from .read_model import read_model
from .read_shards import read_json, shard_paths


def import_model(
    model: str | Path | bytes, inputs: ModelInputs | None = None, memory: CompileMemory | None = None
) -> Graph:
    """The graph of a model.json. Raises InputError for what is no such file or does not fit `inputs`, and one
    UnsupportedError that names everything that is not supported."""
    return import_onnx(convert(read_model(model)), inputs, memory)


def describe(model: str | Path | bytes) -> ModelCard:
    """Raises InputError for what is no layers model."""
    return describe_read(read_model(model))


def shards(path: Path) -> list[Path]:
    """The files with the weights of a model.json; none where it cannot be read."""
    try:
        return [path.parent / location for location in shard_paths(read_json(path))]
    except InputError:
        return []
