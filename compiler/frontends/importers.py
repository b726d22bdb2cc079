"""The table of importers, and which of them reads a model: the only place that lists formats. A new one is a folder,
and a row here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from ..errors import InputError
from ..graph.ir import Graph
from ..system.limits import CompileMemory
from .fetch_model import located
from .model_card import ModelCard
from .model_inputs import ModelInputs
from .open_file import open_file
from .other_formats import TO_ONNX, find_other_format

if TYPE_CHECKING:
    import onnx

    Model = str | Path | bytes | onnx.ModelProto
    """A path, the bytes of a file, or what a format's own package has in memory."""

HEAD = 64
"""The bytes at the start of a file by which its format is recognised."""


@dataclass(frozen=True, slots=True)
class Importer:
    """The row of a format, by its `name`. Files of it have one of `first_bytes`, each from an offset on, or a beginning
    that matches `pattern`, or one of `suffixes` (lower case); folders of it have the file `inside`. `is_model` is true
    of what its package has in memory. `load` returns the graph, or raises InputError or UnsupportedError; `describe`
    only reads what the file says of itself; `to_onnx` is there for formats that become ONNX models first, `beside` for
    those whose file refers to others: their paths, none of a file that cannot be read."""

    name: str
    suffixes: tuple[str, ...]
    first_bytes: tuple[tuple[int, bytes], ...]
    is_model: Callable[[object], bool]
    load: Callable[[Model, ModelInputs, CompileMemory | None], Graph]
    describe: Callable[[Model, ModelInputs], ModelCard]
    to_onnx: Callable[[Model, ModelInputs], onnx.ModelProto] | None = None
    beside: Callable[[Path], list[Path]] | None = None
    pattern: re.Pattern[bytes] | None = None
    inside: str | None = None
    has_signatures: bool = False

    def recognised(self, head: bytes) -> int:
        """By how many of its first bytes a file is of the format; 0 where it is not."""
        matched = self.pattern.match(head) if self.pattern else None
        fixed = max((len(b) for offset, b in self.first_bytes if head[offset:].startswith(b)), default=0)
        return max(fixed, matched.end() if matched else 0)

    def is_folder(self, path: Path) -> bool:
        """Whether a folder is a model of the format."""
        return self.inside is not None and (path / self.inside).is_file()


def _is_onnx(model: object) -> bool:
    import onnx

    return isinstance(model, onnx.ModelProto)


def _load_onnx(model: Model, inputs: ModelInputs, memory: CompileMemory | None) -> Graph:
    from .onnx import import_model as import_onnx

    return import_onnx(model, inputs, memory)


def _describe_onnx(model: Model, inputs: ModelInputs) -> ModelCard:
    from .onnx.describe import describe

    return describe(model, inputs.operators)


def _beside_onnx(path: Path) -> list[Path]:
    from .onnx.read_model import external_files

    return external_files(path)


def _beside_caffe(path: Path) -> list[Path]:
    from .caffe import files_beside

    return files_beside(path)


def _beside_mxnet(path: Path) -> list[Path]:
    from .mxnet import files_beside

    return files_beside(path)


def _beside_tensorflow(path: Path) -> list[Path]:
    from .tensorflow import files_beside

    return files_beside(path)


def _beside_coreml(path: Path) -> list[Path]:
    from .coreml import files_beside

    return files_beside(path)


def _beside_tfjs(path: Path) -> list[Path]:
    from .tfjs import shards

    return shards(path)


def _need(format: str, *packages: str) -> None:
    """Raises InputError where a package that reads the format is missing, as in the page that compiles."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise InputError(
            f"{format} models are read by {' and '.join(packages)}, and {' and '.join(missing)} cannot be imported; "
            f"install with `pip install {' '.join(missing)}`, or give an ONNX model"
        )


def _is_torch(model: object) -> bool:
    from .pytorch import is_torch

    return is_torch(model)


def _export_torch(model: Model) -> onnx.ModelProto:
    from .pytorch import export_program, read_program

    if isinstance(model, str | Path):
        return read_program(Path(model))
    if isinstance(model, bytes):
        raise InputError("a model of PyTorch is given by the path of a .pt2 file, or as a module")
    if not hasattr(model, "graph_signature"):
        raise InputError(f"{type(model).__name__}: give example_inputs=, too, by which PyTorch exports a module")
    return export_program(model)


def _convert_torch(model: Model, _: ModelInputs) -> onnx.ModelProto:
    return _export_torch(model)


def _load_torch(model: Model, inputs: ModelInputs, memory: CompileMemory | None) -> Graph:
    return _load_onnx(_export_torch(model), inputs, memory)


def _describe_torch(model: Model, inputs: ModelInputs) -> ModelCard:
    card = _describe_onnx(_export_torch(model), inputs)
    return replace(card, name=Path(model).name) if isinstance(model, str | Path) else card


# Exporters write the version first; protobuf allows any of a ModelProto's fields there.
_ONNX_TAGS = (b"\x08", b"\x12", b"\x1a", b"\x22", b"\x28", b"\x32", b"\x3a", b"\x42", b"\x72", b"\xa2\x01", b"\xca\x01")
# The names of the first file of an archive, and the signature of HDF5.
_OF_KERAS = ((30, b"metadata.json"), (30, b"config.json"), (0, b"\x89HDF\r\n\x1a\n"))
# Networks as text; their weights begin with the name, of any length.
_OF_CAFFE = ((0, b"name:"), (0, b"layer"), (0, b"input"))
# A symbol; parameters begin as a list of arrays does.
_OF_MXNET = re.compile(rb'\{\s*"nodes"')
# The version of a SavedModel, then its graphs; no ONNX model of this version of its format is in use.
_OF_SAVED_MODEL = ((0, b"\x08\x01\x12"),)

# The version of the specification, then the description, whose first field is an input or output with its name.
_OF_COREML = re.compile(rb"\x08[\x01-\x7f]\x12[\x80-\xff]*[\x00-\x7f][\x0a\x52][\x80-\xff]*[\x00-\x7f]\x0a")


def _has_no_objects(model: object) -> bool:
    """No package has models of the format in memory."""
    return False


def _converted(
    name: str,
    suffixes: tuple[str, ...],
    first_bytes: tuple[tuple[int, bytes], ...],
    packages: tuple[str, ...] = (),
    module: str = "",
    beside: Callable[[Path], list[Path]] | None = None,
    pattern: re.Pattern[bytes] | None = None,
    inside: str | None = None,
    has_ranks: bool = True,
    has_signatures: bool = False,
) -> Importer:
    """The row of a format that becomes ONNX. The folder of its name, or `module`, which needs these `packages`, has
    `read_model`, `convert` and `describe`, and `usual_sizes` where files state sizes that a run may change; it is
    imported when a model is read. Where files do not have the ranks of inputs, `convert` is given those of `--shape`;
    where they have signatures, readers are given the one of `--signature`."""

    def folder() -> ModuleType:
        _need(name, *packages)
        return import_module(f".{module or name.lower()}", __package__)

    def signature(inputs: ModelInputs) -> tuple[str, ...]:
        return (inputs.signature,) if has_signatures else ()

    def ranks(inputs: ModelInputs) -> tuple[Mapping[str, int], ...]:
        return () if has_ranks else ({name: len(shape) for name, shape in inputs.shapes.items()},)

    def load(model: Model, inputs: ModelInputs, memory: CompileMemory | None) -> Graph:
        from .usual_sizes import import_at_usual_sizes

        reader = folder()
        read = reader.read_model(model, *signature(inputs))
        usual = reader.usual_sizes(read) if hasattr(reader, "usual_sizes") else {}
        return import_at_usual_sizes(lambda: reader.convert(read, *ranks(inputs)), usual, inputs, memory)

    def describe(model: Model, inputs: ModelInputs) -> ModelCard:
        card: ModelCard = folder().describe(model, *signature(inputs))
        return card

    def convert(model: Model, inputs: ModelInputs) -> onnx.ModelProto:
        reader = folder()
        converted: onnx.ModelProto = reader.convert(reader.read_model(model, *signature(inputs)), *ranks(inputs))
        return converted

    return Importer(
        name,
        suffixes,
        first_bytes,
        _has_no_objects,
        load,
        describe,
        convert,
        beside,
        pattern,
        inside,
        has_signatures,
    )


IMPORTERS: list[Importer] = [
    Importer(
        "ONNX",
        (".onnx",),
        tuple((0, t) for t in _ONNX_TAGS),
        _is_onnx,
        _load_onnx,
        _describe_onnx,
        beside=_beside_onnx,
    ),
    _converted("TFLite", (".tflite",), ((4, b"TFL3"),), ("tflite", "flatbuffers"), has_signatures=True),
    _converted("Keras", (".keras", ".h5", ".hdf5"), _OF_KERAS),
    _converted("TensorFlow.js", (".json",), ((0, b"{"),), module="tfjs", beside=_beside_tfjs),
    _converted(
        "TensorFlow",
        (".pb",),
        _OF_SAVED_MODEL,
        beside=_beside_tensorflow,
        inside="saved_model.pb",
        has_signatures=True,
    ),
    _converted("Caffe", (".prototxt", ".caffemodel"), _OF_CAFFE, beside=_beside_caffe),
    _converted(
        "MXNet", (".params",), ((0, b"\x12\x01" + bytes(14)),), pattern=_OF_MXNET, beside=_beside_mxnet, has_ranks=False
    ),
    _converted(
        "Core ML",
        (".mlmodel", ".mlpackage"),
        ((0, b"\x08"),),
        module="coreml",
        beside=_beside_coreml,
        pattern=_OF_COREML,
        inside="Manifest.json",
    ),
    Importer("PyTorch", (".pt2",), (), _is_torch, _load_torch, _describe_torch, _convert_torch),
]
"""The first of them reports files that cannot be read."""


def import_model(model: Model, inputs: ModelInputs | None = None, memory: CompileMemory | None = None) -> Graph:
    """The graph of a model in any format of the table. `inputs` say what its inputs are, `memory` counts constants.

    Raises InputError for what no importer reads, and what importers raise.
    """
    found, chosen = _here(model), inputs or ModelInputs()
    return _importer_for(found, chosen).load(found, chosen, memory)


def as_onnx(model: Model, inputs: ModelInputs | None = None) -> Path | bytes:
    """The file of a model as onnxruntime takes it: the file itself, or the bytes of the model that it becomes, for the
    shapes that `inputs` give. Raises what importers raise."""
    convert = None if not isinstance(model, str | Path | bytes) else find_importer(model).to_onnx
    converted = model if convert is None else convert(model, inputs or ModelInputs())
    if isinstance(converted, str | Path):
        return Path(converted)
    return converted if isinstance(converted, bytes) else bytes(converted.SerializeToString())


def files_beside(path: Path) -> list[Path]:
    """The other files to which the file of a model refers; none where no importer reads it."""
    try:
        beside = find_importer(path).beside
    except InputError:
        return []
    return beside(path) if beside is not None else []


def describe_model(model: Model, inputs: ModelInputs | None = None) -> ModelCard:
    """Describes the file, its free dimensions included; of `inputs` it takes the signature, and the operators that the
    user defines. Raises InputError for what no importer reads."""
    found, chosen = _here(model), inputs or ModelInputs()
    return _importer_for(found, chosen).describe(found, chosen)


def _importer_for(model: Model, inputs: ModelInputs) -> Importer:
    """The importer of a model. Raises InputError where a signature is chosen of a model that has none."""
    importer = find_importer(model)
    if inputs.signature and not importer.has_signatures and isinstance(model, str | Path | bytes):
        formats = " and ".join(i.name for i in IMPORTERS if i.has_signatures)
        raise InputError(
            f"the signature {inputs.signature!r} is given for a model of {importer.name}, which has none; leave it "
            f"out: models of {formats} have signatures"
        )
    return importer


def _here(model: Model) -> Model:
    """A model that is given by an address is fetched."""
    return located(model) if isinstance(model, str) else model


def find_importer(model: Model) -> Importer:
    """The importer of a model, by its type, its first bytes, the file inside a folder, then the suffix of its name.
    Raises InputError, with what to do, where none fits."""
    if not isinstance(model, str | Path | bytes):
        fitting = [i for i in IMPORTERS if i.is_model(model)]
        if not fitting:
            raise InputError(
                f"an object of type {type(model).__name__} is no model; give a path, bytes, or a model of {_formats()}"
            )
        return fitting[0]
    head = model[:HEAD] if isinstance(model, bytes) else _head(model)
    name, suffix = ("the model", "") if isinstance(model, bytes) else (Path(model).name, Path(model).suffix.lower())
    other = find_other_format(head)
    # The longest match: the offset that begins a flatbuffer may be a tag of protobuf, and an archive may be any.
    least = 1 if other is None else 1 + len(other.first_bytes)
    # Of two that match as long, the suffix decides.
    fitting = sorted(
        (i for i in IMPORTERS if i.recognised(head) >= least),
        key=lambda i: (-i.recognised(head), suffix not in i.suffixes),
    )
    named = [i for i in IMPORTERS if suffix in i.suffixes]
    if not isinstance(model, bytes):
        fitting += [i for i in IMPORTERS if i.is_folder(Path(model))]
        _check_folder(Path(model), [*fitting, *named])
    if named and not fitting and other is not None and suffix not in other.models:
        article = "an" if named[0].name in ("ONNX", "MXNet") else "a"
        raise InputError(f"{name} is not {article} {named[0].name} model but {other.what}; {other.advice}")
    fitting += named
    if fitting or not head:
        return (*fitting, IMPORTERS[0])[0]
    other = other or find_other_format(b"", suffix)
    *most, last = [i.name for i in IMPORTERS]
    names = f"{', '.join(most)} or {last}"
    if other is not None:
        raise InputError(f"{name} is not an {names} model but {other.what}; {other.advice}")
    raise InputError(f"{name} is not an {names} model; give a file of {_formats()}, or {TO_ONNX}")


def _check_folder(path: Path, fitting: list[Importer]) -> None:
    """Raises InputError for a folder that is no model, and for the file inside of a package, which is not read alone;
    `fitting` are the importers for the path."""
    of_folders = [i for i in IMPORTERS if i.inside is not None]
    for i in of_folders:
        folder = path.absolute().parent
        if path.name == i.inside and i not in fitting and folder.suffix.lower() in i.suffixes:
            raise InputError(f"{path} is a part of a {i.name} model; give its folder: {folder}")
    if path.is_dir() and not any(i.is_folder(path) for i in of_folders):
        folders = " or ".join(f"{i.inside} ({i.name})" for i in of_folders)
        raise InputError(f"{path} is a folder without a model; give a folder that holds {folders}, or a file")


def _formats() -> str:
    return ", ".join(f"{i.name} ({', '.join(i.suffixes)})" for i in IMPORTERS)


def _head(path: str | Path) -> bytes:
    """No bytes where a file cannot be read: the importer raises the error."""
    try:
        file, _ = open_file(Path(path))
        with file:
            return file.read(HEAD)
    except (OSError, ValueError):
        return b""
