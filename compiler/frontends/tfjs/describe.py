"""Describes a model of TensorFlow.js by what the file says of itself."""

from __future__ import annotations

from pathlib import Path

from ...errors import InputError
from ..keras import describe_read
from ..model_card import ModelCard
from ..tensorflow import describe_read as describe_graph
from ..tensorflow.read_model import Model as GraphModel
from .read_model import read_model
from .read_shards import read_json, shard_paths


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
