"""Reads a Core ML model: a `.mlmodel` file, or a `.mlpackage`, a folder of such a file and of weights apart from it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from ...errors import InputError, UnsupportedError
from ..beside_model import model_folders
from ..open_file import read_file, read_model_file
from .schema import MESSAGES, NETWORKS, PIPELINES, UNREAD_KINDS

MANIFEST = "Manifest.json"
"""The file by which a package is recognised."""

_LONGEST = 2**20
"""Bytes of a manifest, which has about a thousand."""

_KINDS = [f.name for f in MESSAGES["Model"].DESCRIPTOR.fields if f.name not in ("specificationVersion", "description")]

DAMAGES = (LookupError, ValueError, TypeError, ArithmeticError, AttributeError, MemoryError, RuntimeError, OSError)
"""Exceptions that protobuf, json and NumPy raise for what is not as Core ML writes it."""

FROM_SOURCE = "convert the model that it was made from to ONNX, and give that"


@dataclass(slots=True)
class Model:
    """A file of this `name`, or a part of a pipeline. `description` has the inputs and outputs; one of `network`,
    `program`, the block of the function that is compiled, and `classical`, the message of another model of this `kind`,
    is there, or else `parts`, the models of a pipeline in order. Files of weights lie in `folder`, None where the model
    is bytes, and are read once; `roots` are the folders that they may not leave."""

    name: str
    proto: Any
    description: Any
    kind: str = ""
    network: Any = None
    program: Any = None
    classical: Any = None
    parts: Sequence[Model] = ()
    inputs: Sequence[Any] = ()
    folder: Path | None = None
    roots: tuple[Path, ...] = ()
    files: dict[str, bytes] = field(default_factory=dict)

    def weights(self, path: str) -> bytes:
        """The file that a model names as `@model_path/weights/weight.bin`. Raises InputError where there is none."""
        if path not in self.files:
            self.files[path] = self._read(path)
        return self.files[path]

    def _read(self, path: str) -> bytes:
        location = relative(path)
        if self.folder is None:
            raise InputError(
                f"{self.name} has its weights in {location!r}, a file of a .mlpackage; give the path of that folder"
            )
        found = _inside(self.roots, self.folder / location)
        if found is None:
            raise InputError(
                f"{self.name} names the weights {path!r}, which lie outside of it; get the model elsewhere"
            )
        if not found.exists():
            raise InputError(f"{self.name}: its weights {location!r} are missing; give the whole .mlpackage")
        return read_file(found, "weights of a Core ML model")


def relative(path: str) -> str:
    """Where a file of weights lies beside the model's, by the path that this has for it."""
    return path.removeprefix("@model_path/")


@contextmanager
def valid(name: str) -> Iterator[None]:
    """Makes what reading a part of the model of this name raises for a damaged one an InputError."""
    try:
        yield
    except DAMAGES as error:
        raise InputError(
            f"{name} is not a valid Core ML model: {type(error).__name__}: {error}; convert or download it again"
        ) from error


def read_model(model: str | Path | bytes) -> Model:
    """Raises InputError for what is no Core ML model or a damaged one, UnsupportedError for kinds of models that
    are not taken."""
    folder: Path | None = None
    roots: tuple[Path, ...] = ()
    if not isinstance(model, bytes) and Path(model).is_dir():
        root = Path(model)
        name, roots = root.name, (root.resolve(), *model_folders(root / MANIFEST))
        file = _file_of_package(root, roots)
        data, folder = read_file(file, "the model of a Core ML package"), file.parent
        if not data:
            raise InputError(f"{name}: its {file.name} is empty; convert or download the model again")
    else:
        data, name = read_model_file(model, "a Core ML file", "convert or download")
        if not isinstance(model, bytes):
            folder, roots = Path(model).parent, model_folders(Path(model))
    try:
        proto = MESSAGES["Model"].FromString(data)
        read = _select(Model(name, proto, proto.description, folder=folder, roots=roots))
    except (DecodeError, *DAMAGES) as error:
        raise InputError(
            f"{name} is truncated or damaged: its {len(data)} bytes are not a whole Core ML model "
            f"({type(error).__name__}: {error}); convert or download it again"
        ) from None
    return read


def _file_of_package(root: Path, roots: tuple[Path, ...]) -> Path:
    """The model's file, which the manifest names by an identifier."""
    again = "convert or download the package again"
    data = read_file(root / MANIFEST, "the manifest of a Core ML package", _LONGEST)
    try:
        manifest = json.loads(data)
        entry = manifest["itemInfoEntries"][manifest["rootModelIdentifier"]]["path"]
        found = _inside(roots, root / "Data" / entry)
    except (*DAMAGES, RecursionError) as error:
        raise InputError(
            f"{root.name}: its {MANIFEST} names no model ({type(error).__name__}: {error}); {again}"
        ) from None
    if found is None:
        raise InputError(f"{root.name}: its {MANIFEST} names {entry!r}, which lies outside of the package; {again}")
    return found


def _inside(roots: tuple[Path, ...], path: Path) -> Path | None:
    """`path`, None where it leads out of all `roots`. Links lead to a root where a cache keeps all files so, as that of
    Hugging Face's hub."""
    try:
        resolved = path.resolve()
    except (OSError, ValueError, RuntimeError):
        return None
    return path if any(resolved.is_relative_to(root) for root in roots) else None


def _select(model: Model) -> Model:
    proto = model.proto
    model.kind = next((n for n in _KINDS if proto.HasField(n)), "")
    if not model.kind:
        raise InputError(f"{model.name} is not a Core ML model: it has no model of any kind; give another file")
    if model.kind in UNREAD_KINDS:
        raise UnsupportedError(
            f"{model.name} is a Core ML model of the kind {model.kind}, which is not supported; {FROM_SOURCE}"
        )
    if model.kind in PIPELINES:
        model.parts = _parts(model)
    elif model.kind == "mlProgram":
        _select_function(model)
    elif model.kind in NETWORKS:
        model.network = getattr(proto, model.kind)
    else:
        model.classical = getattr(proto, model.kind)
    return model


def _parts(model: Model) -> list[Model]:
    message = getattr(model.proto, model.kind)
    pipeline = message if model.kind == "pipeline" else message.pipeline
    parts = []
    for i, proto in enumerate(pipeline.models):
        named = f" ({pipeline.names[i]})" if i < len(pipeline.names) else ""
        name = f"{model.name}: part {i}{named}"
        part = Model(name, proto, proto.description, folder=model.folder, roots=model.roots, files=model.files)
        parts.append(_select(part))
    return parts


def _select_function(model: Model) -> None:
    """Programs with several functions state which of them is meant by default."""
    functions = model.proto.mlProgram.functions
    name = model.description.defaultFunctionName or "main"
    if name not in functions:
        raise ValueError(f"there is no function {name!r}")
    function = functions[name]
    described = next((f for f in model.description.functions if f.name == name), None)
    if described is not None and not model.description.input:
        model.description = described
    block = function.block_specializations
    if function.opset not in block:
        raise ValueError(f"the function {name!r} has no block for {function.opset!r}")
    model.program, model.inputs = block[function.opset], function.inputs
