"""Reads a file, bytes or a message as an ONNX model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from ...errors import InputError
from ...graph.ir import OutputLabels
from ...system.limits import CompileMemory
from ..beside_model import model_folders
from ..open_file import read_file
from ..other_formats import TO_ONNX, find_other_format
from .number_labels import number_labels


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model came from, and the memory that reading it may take.

    `name` is for messages. `folders`, free of links, may hold its external data: the folder of the file, and where
    that is a link the folder of what it leads to (none without a file). Locations are relative to the first.
    """

    name: str
    folders: tuple[Path, ...] = ()
    memory: CompileMemory = field(default_factory=CompileMemory)
    labels: Mapping[str, OutputLabels] = field(default_factory=dict)


_IR_VERSION_TAG = b"\x08"  # the field that every exporter writes first
LARGEST_FILE = 2**31
"""Bytes of a message, by protobuf's own limit."""


def read_model(
    model: str | Path | bytes | onnx.ModelProto, memory: CompileMemory | None = None
) -> tuple[onnx.ModelProto, Source]:
    """The model as a message, with numbers of labels (`number_labels`), and its source. Raises InputError where there
    is none to be read."""
    memory = memory or CompileMemory()
    if isinstance(model, onnx.ModelProto):
        proto, source = model, Source(model.graph.name or "the model", memory=memory)
    elif isinstance(model, bytes):
        proto, source = _parse(model, "the model"), Source("the model", memory=memory)
    else:
        path = Path(model)
        data = read_file(path, "an ONNX file", LARGEST_FILE)
        proto, source = _parse(data, path.name), Source(path.name, model_folders(path), memory)
    proto, labels = number_labels(proto)
    return proto, replace(source, labels=labels)


def external_files(path: Path) -> list[Path]:
    """The files with the external data of a model's initialisers; none of a file that cannot be read as a model."""
    try:
        model, _ = read_model(path)
    except InputError:
        return []
    data = (entry for tensor in model.graph.initializer for entry in tensor.external_data)
    return list(dict.fromkeys(path.parent / entry.value for entry in data if entry.key == "location"))


def _parse(data: bytes, name: str) -> onnx.ModelProto:
    if not data:
        raise InputError(f"{name} is empty; export or download the model again")
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
        parsed = True
    except DecodeError:
        parsed = False
    if parsed and model.HasField("graph") and model.ir_version > 0:
        return model
    other = find_other_format(data)
    if other is not None:
        raise InputError(f"{name} is not an ONNX model but {other.what}; {other.advice}")
    if data.startswith(_IR_VERSION_TAG):
        raise InputError(
            f"{name} is truncated or damaged: it starts like an ONNX model, but its {len(data)} bytes are not a whole "
            "one; export or download it again"
        )
    raise InputError(f"{name} is not an ONNX model; {TO_ONNX}")
