"""Reads a Caffe model: a network's layers from text (.prototxt), and its weights (.caffemodel), which hold the layers,
too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import text_format
from google.protobuf.message import DecodeError

from ...errors import InputError, UnsupportedError
from ..open_file import read_file, read_model_file
from .schema import Net, NetOfWeights

DAMAGES = (LookupError, ValueError, TypeError, ArithmeticError, AttributeError, MemoryError, RuntimeError)
"""Exceptions that protobuf and NumPy raise for what is not as Caffe writes it; RecursionError is among them."""

_OF_DATA = frozenset(
    {"AnnotatedData", "Data", "DummyData", "HDF5Data", "ImageData", "Input", "MemoryData", "WindowData"}
)
_STAGE = "deploy"
"""The stage of a network without training and tests, where it has stages (as NVIDIA's DIGITS writes it)."""
_OLD_NAMES = {
    "ABSVAL": "AbsVal",
    "ARGMAX": "ArgMax",
    "BNLL": "BNLL",
    "HDF5_DATA": "HDF5Data",
    "HDF5_OUTPUT": "HDF5Output",
    "LRN": "LRN",
    "MVN": "MVN",
    "RELU": "ReLU",
    "SOFTMAX_LOSS": "SoftmaxWithLoss",
    "TANH": "TanH",
}
"""The kinds of layers of version 1 whose names are others than those of today with their words capitalised."""


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """`message` has its parameters; its `blobs` are float32."""

    name: str
    kind: str
    bottoms: tuple[str, ...]
    tops: tuple[str, ...]
    message: Any
    blobs: tuple[np.ndarray, ...]


@dataclass(frozen=True, slots=True)
class Input:
    """`shape` is None where the file has none."""

    name: str
    shape: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Model:
    """`name` is the file's; `weights` names what the blobs are from, "" where there is none. `layers` are those without
    data, in order."""

    name: str
    weights: str
    inputs: tuple[Input, ...]
    layers: tuple[Layer, ...]


def read_model(model: str | Path | bytes) -> Model:
    """Reads the file and, where that is a path of one of the two, its other one of the same stem; of weights beside a
    network the only ones in the folder, too. Raises InputError for what is no Caffe model."""
    data, name = read_model_file(model, "a Caffe file", "download")
    try:
        beside = None if isinstance(model, bytes) else Path(model)
        if b"\0" in data or name.endswith(".caffemodel"):
            layers = None if beside is None else beside.with_suffix(".prototxt")
            if layers is not None and layers.is_file():
                return _network(_parsed(read_file(layers, "a Caffe network")), _weights(data), layers.name, name)
            net = Net.FromString(data)
            return _network(net, {layer.name: _blobs(layer) for layer in _layers(net)}, name, name)
        weights = None if beside is None else _weights_beside(beside)
        if weights is None:
            return _network(_parsed(data), {}, name, "")
        return _network(_parsed(data), _weights(read_file(weights, "Caffe's weights")), name, weights.name)
    except (*DAMAGES, DecodeError, text_format.Error) as error:
        raise InputError(
            f"{name} is not a valid Caffe model, or its weights are not ({type(error).__name__}: {error}); download it "
            "again"
        ) from None


def files_beside(path: Path) -> list[Path]:
    """The weights of a network, where they are expected; none of weights, which hold the layers."""
    return [path.with_suffix(".caffemodel")] if path.suffix == ".prototxt" else []


def _parsed(text: bytes) -> Any:
    return text_format.Parse(text.decode("utf-8", errors="replace"), Net(), allow_unknown_field=True)


def _weights_beside(path: Path) -> Path | None:
    own = path.with_suffix(".caffemodel")
    if own.is_file():
        return own
    found = sorted(path.parent.glob("*.caffemodel"))
    return found[0] if len(found) == 1 else None


def _weights(data: bytes) -> dict[str, tuple[np.ndarray, ...]]:
    if data.startswith(b"\x89HDF"):
        raise ValueError("weights in HDF5 are not read; save them as .caffemodel, with snapshot_format: BINARYPROTO")
    net = NetOfWeights.FromString(data)
    return {layer.name: _blobs(layer) for layer in (*net.layers, *net.layer)}


def _layers(net: Any) -> Sequence[Any]:
    layers: Sequence[Any] = net.layer or net.layers
    return layers


def _blobs(layer: Any) -> tuple[np.ndarray, ...]:
    return tuple(_array(blob) for blob in layer.blobs)


def _array(blob: Any) -> np.ndarray:
    kind, data = (np.float64, blob.double_data) if blob.double_data else (np.float32, blob.data)
    flat = np.asarray(np.frombuffer(data, np.dtype(kind).newbyteorder("<")), np.float32)
    if blob.HasField("shape"):
        shape = tuple(blob.shape.dim)
    elif any(blob.HasField(f) for f in ("num", "channels", "height", "width")):
        shape = (blob.num, blob.channels, blob.height, blob.width)
    else:
        shape = flat.shape
    if min(shape, default=0) < 0 or prod(shape) != flat.size:
        raise ValueError(f"a blob of the shape {list(shape)} has {flat.size} numbers")
    return flat.reshape(shape)


def _network(net: Any, weights: dict[str, tuple[np.ndarray, ...]], name: str, file: str) -> Model:
    messages = _layers(net)
    if not messages:
        raise InputError(f"{name} is not a Caffe network: it has no layers; give the network that is deployed")
    if any(m.HasField("layer") for m in net.layers):
        raise UnsupportedError(
            f"{name} is of Caffe's format version 0; convert it by Caffe's upgrade_net_proto_text or "
            "upgrade_net_proto_binary"
        )
    inputs = _declared(net)
    layers: list[Layer] = []
    dropped: set[str] = set()
    """Values that layers of training, or of data without a shape, would give."""
    computed = {i.name for i in inputs}
    for m in messages:
        kind = _kind(m)
        if kind in _OF_DATA or not _is_of_inference(m):
            shapes = _data_shapes(m, kind)
            if shapes is None:
                dropped.update(t for t in m.top if t not in computed)
                continue
            new = [Input(t, s) for t, s in zip(m.top, shapes, strict=True) if t not in computed]
            inputs += new
            computed.update(i.name for i in new)
            continue
        bottoms, tops = tuple(map(_text, m.bottom)), tuple(map(_text, m.top))
        layers.append(Layer(_text(m.name), _text(kind), bottoms, tops, m, weights.get(m.name, ())))
        computed.update(m.top)
    for i in inputs:
        _text(i.name)
    return Model(name, file, (*inputs, *_needed(layers, inputs, dropped)), tuple(layers))


def _needed(layers: Sequence[Layer], inputs: Iterable[Input], dropped: set[str]) -> list[Input]:
    """Inputs without a shape, for what layers read that layers left out would give."""
    known = {i.name for i in inputs}
    found: list[Input] = []
    for layer in layers:
        # The second operand of a loss is a label.
        for bottom in layer.bottoms[: 1 if is_of_training(layer.kind) else None]:
            if bottom in dropped and bottom not in known:
                known.add(bottom)
                found.append(Input(bottom, None))
        known.update(layer.tops)
    return found


def is_of_training(kind: str) -> bool:
    """Whether a layer compares results with labels."""
    return kind == "Accuracy" or kind.endswith("Loss")


def _text(name: str) -> str:
    """The name; ValueError where it is no text, which protobuf does not check."""
    return name.encode().decode()


def _kind(message: Any) -> str:
    if isinstance(message.type, str):
        return str(message.type)
    name = message.Kind.Name(message.type)
    return _OLD_NAMES.get(name) or "".join(word.title() for word in name.split("_"))


def _declared(net: Any) -> list[Input]:
    """The inputs of a network that has no layers for them."""
    names = list(net.input)
    if net.input_shape:
        shapes: list[tuple[int, ...] | None] = [tuple(s.dim) for s in net.input_shape]
        shapes = shapes * len(names) if len(shapes) == 1 else shapes
    elif net.input_dim:
        dims = list(net.input_dim)
        shapes = [tuple(dims[i : i + 4]) for i in range(0, len(dims), 4)]
    else:
        shapes = [None] * len(names)
    return [Input(n, s) for n, s in zip(names, shapes, strict=True)]


def _data_shapes(message: Any, kind: str) -> list[tuple[int, ...] | None] | None:
    """The shapes of the inputs that a layer of data is; None where the file lacks them."""
    if kind == "MemoryData" and message.memory_data_param.batch_size:
        m = message.memory_data_param
        return [(m.batch_size, m.channels, m.height, m.width), *[(m.batch_size,)] * (len(message.top) - 1)]
    if kind != "Input":
        return None
    shapes: list[tuple[int, ...] | None] = [tuple(s.dim) for s in message.input_param.shape]
    return [(shapes or [None])[0]] * len(message.top) if len(shapes) < 2 else shapes


def _is_of_inference(message: Any) -> bool:
    """Source: Net::FilterNet of Caffe, for the phase TEST and the stage "deploy"."""
    if message.include:
        return any(_meets(rule) for rule in message.include)
    return not any(_meets(rule) for rule in message.exclude)


def _meets(rule: Any) -> bool:
    return (
        (not rule.HasField("phase") or rule.phase == 1)
        and rule.min_level <= 0 <= rule.max_level
        and set(rule.stage) <= {_STAGE}
        and _STAGE not in rule.not_stage
    )
