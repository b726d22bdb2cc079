"""Reads a model of TensorFlow.js: a configuration of Keras, written by TensorFlow.js or by its converter, or a graph of
TensorFlow, and weights in shards."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError
from ..keras.read_model import DAMAGES, Dialect, Model, network_of
from ..tensorflow.read_model import Model as GraphModel
from ..tensorflow.read_model import read_json_graph
from .named_weights import NamedWeights
from .read_shards import ModelJson, read_json, read_weights

_GRAPH, _LAYERS = "graph-model", "layers-model"
_DIALECT = Dialect(
    hard_sigmoid_slope=1 / 5,
    up_sampling="asymmetric",
    masks_means=False,
    zeroes_both_directions=False,
    masks_of_keras_3=False,
)
"""As TensorFlow.js computes, whatever wrote the model."""


def read_model(model: str | Path | bytes) -> Model | GraphModel:
    """A layers model or a graph model. Raises InputError for what is neither, and for a damaged one."""
    read = read_json(model)
    topology = _topology(read)
    if read.content.get("format", _LAYERS) == _GRAPH or "node" in topology:
        return read_json_graph(read.content, read_weights(read), read.name)
    try:
        config = topology.get("model_config", topology)
        writer = str(read.content.get("generatedBy") or f"Keras {topology.get('keras_version', '')}")
        weights = NamedWeights([(tuple(n.split("/")), _real(w)) for n, w in read_weights(read).items()])
        return Model(read.name, writer.strip(), _DIALECT, network_of(config, weights, read.name))
    except DAMAGES as error:
        raise InputError(
            f"{read.name} is damaged: its modelTopology is not a whole model ({type(error).__name__}: {error}); save "
            "or download it again"
        ) from None


def _topology(read: ModelJson) -> Mapping[str, Any]:
    topology = read.content.get("modelTopology")
    if not isinstance(topology, Mapping):
        raise InputError(
            f"{read.name} is not a model of TensorFlow.js: its JSON has no modelTopology; give the model.json that "
            "model.save or tensorflowjs_converter writes"
        )
    return topology


def _real(data: np.ndarray) -> np.ndarray:
    """Elements that layers have: reals are float32, as they are."""
    if data.dtype.kind not in "fiub":
        raise ValueError(f"a weight has elements of type {data.dtype}")
    return data
