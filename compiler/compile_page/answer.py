"""The compiler's requests and answers in the page's worker: both are JSON, files are beside them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from traceback import walk_tb
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from ..answers.formats import DETECTORS, EXAMPLES, answers_of
from ..answers.labels import labels_of
from ..bundle.render_snippets import render_page
from ..driver.build import Built, build_files
from ..driver.options import Options
from ..driver.quantization_data import quantization_data
from ..errors import InputError, InternalError
from ..frontends.importers import describe_model
from ..frontends.model_inputs import model_inputs
from ..generation.decoder import parse_generate
from ..pictures.formats import PICTURES
from ..program.count_products import count_products
from ..quantization.settings import QuantizeOptions, parse_weights
from ..sounds.formats import SOUNDS
from ..system.collector import collect_less_often
from ..system.watch_limits import OWN, described, excess_of_memory
from ..text.explain import explain

if TYPE_CHECKING:
    from .tune_here import Page

Request = Mapping[str, Any]
Answer = dict[str, Any]
Files = list[tuple[str, bytes]]
Say = Callable[[str], None]
"""Receives each phase as it begins."""

TARGETS = ("webgpu", "webgl")

collect_less_often()


class Heap(Protocol):
    """The interpreter's memory in the page's worker, which only grows: bytes beyond those of its start."""

    def grown(self) -> int: ...

    def limit(self, growth: int) -> None:
        """Allocations fail that would take more, until this request is answered: in Python by a MemoryError."""

    def refused(self) -> int:
        """The memory with the last growth, if the limit has refused that; else 0. Lifts the limit."""


def answer(
    operation: str, request: str, say: Say, page: Page | None = None, heap: Heap | None = None
) -> tuple[str, Files]:
    """The answer to a request and the files that go with it. Where the operation fails the answer has `error`: the
    message of the command line, and as `kind` whose mistake it was. A search measures on the `page`. `ended` is there
    where the worker has to end: that alone gives the memory of its `heap` back."""
    phases = [""]

    def phase(name: str) -> None:
        phases.append(name)
        say(name)

    result: Answer
    files: Files = []
    refused, memory = 0, None
    try:
        fields = json.loads(request)
        memory = fields.get("compileMemory")
        if heap is not None and memory is not None:
            heap.limit(memory + OWN)
        if operation == "tune" and page is not None:
            from .tune_here import tune_here  # modules that are downloaded for the first search

            result = tune_here(fields, options_of(fields), page)
        else:
            result, files = _OPERATIONS[operation](fields, phase)
    except Exception as error:
        explained = explain(error, phases[-1] or None)
        if heap is not None and memory is not None and (refused := heap.refused()):
            explained = InputError(described(excess_of_memory(memory, refused), phases[-1], _innermost(error)))
        kind = "fault" if isinstance(explained, InternalError) else "input"
        result = {"error": {"kind": kind, "message": str(explained)}}
    if heap is not None and (refused or heap.grown() > OWN):
        result["ended"] = True
    return json.dumps(result), files


def _innermost(error: Exception) -> FrameType | None:
    """The frame that raised the error, or the one from which it was made."""
    while (cause := error.__cause__ or error.__context__) and isinstance(cause, Exception):
        error = cause
    return list(walk_tb(error.__traceback__))[-1][0] if error.__traceback__ else None


def _formats(_: Request, __: Say) -> tuple[Answer, Files]:
    """The compiler's tables of what fills inputs and of what runs return, without text: the page has no tokenizers."""
    answers = {
        kind: {"presets": list(DETECTORS.named) if kind == "detect" else [], "file": kind == "detect", "example": text}
        for kind, text in EXAMPLES.items()
        if kind != "text"
    }
    return {"pictures": PICTURES.data(), "sounds": SOUNDS.data(), "answers": answers}, []


def _describe(request: Request, _: Say) -> tuple[Answer, Files]:
    path = Path(request["model"])
    return {**asdict(describe_model(path)), "bytes": path.stat().st_size}, []


def _compile(request: Request, say: Say) -> tuple[Answer, Files]:
    built = build_files(Path(request["model"]), options_of(request), say)
    files = [(f.name, f.data) for f in built.files]
    name = built.artifact.name
    code = render_page(built.artifact, f"./{quote(name, safe='')}/model.js")
    return {"name": name, "manifest": built.manifest.fields, "code": code, "report": _report(built)}, files


def options_of(request: Request) -> Options:
    """The options of a build in a page: shaders alone, no files beside the model."""
    records, weights, generate = request.get("records"), request.get("weights"), request.get("generate", False)
    return Options(
        model_inputs(
            request.get("shapes"),
            request.get("dims"),
            states=request.get("states"),
            given=request.get("given", ()),
            window=request.get("stateWindow"),
        ),
        PICTURES.by_input(request.get("pictures", {})),
        SOUNDS.by_input(request.get("sounds", {})),
        answers_of(request.get("answers", ())),
        labels_of(request.get("labels")),
        generate=None if generate is False else parse_generate("" if generate is True else generate),
        targets=tuple(request.get("targets", TARGETS)),
        precision=request.get("precision", "f32"),
        fast_math=request.get("fastMath", True),
        host="js",
        cache=False,
        compile_memory=request.get("compileMemory"),
        records=() if records is None else (Path(records),),
        quantize=None if weights is None else QuantizeOptions(parse_weights(weights)),
    )


def _report(built: Built) -> Answer:
    report = built.report
    return {
        "seconds": report.seconds,
        "kernels": {d.target.name: len(d.program.work) for d in report.devices},
        "products": {d.target.name: count_products(d.program.work) for d in report.devices},
        "answers": report.answers,
        "weightBytes": report.weights,
        "weightTypes": dict(report.weight_types),
        "bundleBytes": sum(len(f.data) for f in built.files),
        **({} if report.quantization is None else {"quantization": quantization_data(report.quantization)}),
    }


def _pack(request: Request, _: Say) -> tuple[Answer, Files]:
    """The files of the folder as an archive. Weights are as good as random: compressing them gains nothing."""
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        for path in sorted(Path().iterdir()):
            entry = zipfile.ZipInfo(f"{request['name']}/{path.name}")
            entry.compress_type = zipfile.ZIP_STORED if path.suffix == ".bin" else zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            packed.writestr(entry, path.read_bytes())
    return {}, [(f"{request['name']}.zip", archive.getvalue())]


_OPERATIONS: Mapping[str, Callable[[Request, Say], tuple[Answer, Files]]] = {
    "formats": _formats,
    "describe": _describe,
    "compile": _compile,
    "pack": _pack,
}
