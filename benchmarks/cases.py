"""Measured cases: models with one set of inputs each, and onnxruntime's outputs for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from webnn_compile.errors import InputError
from webnn_compile.frontends.model_inputs import ModelInputs, model_inputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.ir import Graph
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.sizes import capacities

from .folders import SHARED, WORK
from .generate import bert, lstm, mobilenetv2
from .single_operators import OPERATORS

Array = np.ndarray[Any, np.dtype[Any]]
Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Case:
    """A model by its file; `given` is what is passed to the compiler of its inputs, `sizes` how long dimensions are
    that vary. `folder` is where its inputs, outputs and bundles go."""

    name: str
    model: Path
    given: ModelInputs
    folder: Path
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def fixed(self) -> ModelInputs:
        """The inputs for a compiler that requires all sizes."""
        return replace(self.given, dims=model_inputs(dims=dict(self.sizes)).dims) if self.sizes else self.given

    def graph(self, *, fixed: bool = True) -> Graph:
        """For the sizes of this case alone, or for all that they may be."""
        return run_graph_passes(import_model(self.model, self.fixed if fixed else self.given))

    def inputs(self) -> dict[str, Array]:
        """Without constants."""
        return {name: a for name, a in self._tensors("inputs").items() if name not in self.given.constants}

    def all_inputs(self) -> dict[str, Array]:
        return self._tensors("inputs")

    def outputs(self) -> dict[str, Array]:
        return self._tensors("outputs")

    def _tensors(self, kind: str) -> dict[str, Array]:
        described = json.loads((self.folder / "case.json").read_text())[kind]
        return {t["name"]: np.fromfile(self.folder / t["file"], t["dtype"]).reshape(t["shape"]) for t in described}


TRAINED: Mapping[str, tuple[str, Shapes]] = {
    "resnet18": ("resnet18_imagenet.onnx", {"input": (1, 3, 224, 224)}),
    "squeezenet1.0": ("squeezenet1.0_imagenet.onnx", {"data": (1, 3, 227, 227)}),
    "yolox nano": ("yolox_nano_coco_416.onnx", {}),
    "ultraface": ("ultraface_rfb320.onnx", {}),
    "superres x3": ("superres_x3_core.onnx", {"_ppp5_expanded": (1, 1, 64, 56)}),
    "mnist": ("mnist.onnx", {}),
}
"""By name: the file in `SHARED / "models"`, and the shapes that it leaves open."""

GENERATED: Mapping[str, Callable[[], onnx.ModelProto]] = {"mobilenetv2": mobilenetv2, "bert": bert}
"""Well-known architectures, with random weights."""

LONGEST = 512


@dataclass(frozen=True, slots=True)
class Varying:
    """A model with sizes that vary, loops or branches: a file in `SHARED / "models"`, or what makes one in a folder."""

    source: str | Callable[[], onnx.ModelProto]
    folder: str
    given: ModelInputs = field(default_factory=ModelInputs)
    sizes: Mapping[str, int] = field(default_factory=dict)


VARYING: Mapping[str, Varying] = {
    "silero vad": Varying(
        "silero_vad_16k_op15.onnx",
        "silero-vad",
        model_inputs({"input": (1, 576), "state": (2, 1, 128)}, constants={"sr": 16000}),
    ),
    "lstm": Varying(lstm, "lstm"),
    **{
        f"bert of {n}": Varying(
            lambda: bert(tokens=None, longest=LONGEST),
            f"bert-of-{n}",
            model_inputs(dims={"tokens": (1, LONGEST)}),
            {"tokens": n},
        )
        for n in (16, 128, LONGEST)
    },
}

DEFAULT = ("resnet18", "mobilenetv2", "bert")


def find_case(name: str, shapes: Shapes) -> Case:
    """A case by its name or by the path of an ONNX file. InputError where there is neither."""
    if (make := {**GENERATED, **OPERATORS}.get(name)) is not None:
        folder = WORK / name.replace(" ", "-")
        return Case(name, _generated(make, folder), ModelInputs(), folder)
    if name in TRAINED:
        model_file, fixed = TRAINED[name]
        return Case(name, _shared(name, model_file), ModelInputs(fixed), WORK / name.replace(" ", "-"))
    if name in VARYING:
        v = VARYING[name]
        folder = WORK / v.folder
        file = _shared(name, v.source) if isinstance(v.source, str) else _generated(v.source, folder)
        return Case(name, file, v.given, folder, v.sizes)
    file = Path(name)
    if not file.is_file():
        raise InputError(
            f"model {name!r}: no such file, and none of {', '.join([*TRAINED, *GENERATED, *OPERATORS, *VARYING])}"
        )
    digest = sha256(bytes(file.resolve())).hexdigest()[:8]
    return Case(file.stem, file.resolve(), ModelInputs(shapes), WORK / "files" / f"{file.stem}-{digest}")


def _generated(make: Callable[[], onnx.ModelProto], folder: Path) -> Path:
    file = folder / "model.onnx"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        onnx.save(make(), file)
    return file


def _shared(name: str, path: str) -> Path:
    file = SHARED / "models" / path
    if not file.exists():
        raise InputError(f"model {name!r}: there is no {file}; WEBNN_SHARED names the folder of trained models")
    return file


def shown(name: str) -> str:
    """A case's name in tables: of a file without its folder."""
    return Path(name).stem if name.endswith(".onnx") else name


def write_case(case: Case) -> None:
    """Inputs of a fixed seed and onnxruntime's outputs, as files that a page can fetch."""
    import onnxruntime

    case.folder.mkdir(parents=True, exist_ok=True)
    graph = case.graph()
    generator = np.random.default_rng(7)
    inputs = {v.name: random_input(v.dtype.numpy, capacities(v.shape), generator) for v in graph.inputs}
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(case.model), options, providers=["CPUExecutionProvider"])
    inputs |= case.given.constants
    names = [o.name for o in session.get_outputs()]
    outputs = dict(zip(names, map(np.asarray, session.run(names, inputs)), strict=True))
    described = {kind: _write(case.folder, kind, arrays) for kind, arrays in (("inputs", inputs), ("outputs", outputs))}
    (case.folder / "case.json").write_text(json.dumps(described, indent=1))


def random_input(dtype: np.dtype[Any], shape: Sequence[int], generator: np.random.Generator) -> Array:
    """Normal floats; of integers zeros and ones, which are right for tokens as for masks."""
    if dtype.kind == "f":
        return generator.standard_normal(shape).astype(dtype)
    return generator.integers(0, 2, shape).astype(dtype)


def _write(folder: Path, kind: str, tensors: Mapping[str, Array]) -> list[dict[str, object]]:
    described: list[dict[str, object]] = []
    for number, (name, data) in enumerate(tensors.items()):
        file = f"{kind}-{number}.bin"
        np.ascontiguousarray(data).tofile(folder / file)
        described.append({"name": name, "dtype": str(data.dtype), "shape": list(data.shape), "file": file})
    return described
