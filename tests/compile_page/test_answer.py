"""The compiler's answers to the page, in ordinary Python: they are those of the command line."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import Any

import onnx
import pytest
from cli.command import SHAPE, contents, run
from decoders.tiny import DIMS, tiny_decoder
from onnx_models import model, node, random
from page_requests import SHADERS, SHAPES, asked, boxes_and_scores, compiled, message_of
from webnn_compile.answers.formats import DETECTORS
from webnn_compile.compile_page import answer as module
from webnn_compile.compile_page.answer import TARGETS, answer
from webnn_compile.errors import InputError
from webnn_compile.pictures.formats import PICTURES
from webnn_compile.sounds.formats import SOUNDS
from webnn_compile.system.watch_limits import OWN


def test_describe(path: Path) -> None:
    found = asked("describe", model=path)
    assert found["bytes"] == path.stat().st_size
    assert found["name"] == "net.onnx"
    assert found["opset"] == 17
    assert found["operators"]["Conv"] == 1
    assert found["inputs"] == [{"name": "x", "dtype": "float32", "shape": ["batch", 3, 8, 8]}]
    assert [p["name"] for p in found["outputs"]] == ["probabilities", "r"]
    assert found["parameters"] == 8 * 3 * 9 + 8 + 8 + 8 * 5


@pytest.mark.parametrize(
    ("request_", "options"),
    [
        ({}, ()),
        ({"targets": ["webgl"]}, ("--targets", "webgl")),
        ({"precision": "f16"}, ("--precision", "f16")),
        ({"fastMath": False}, ("--fast-math", "off")),
    ],
)
def test_compile_gives_the_files_of_the_command_line(
    path: Path, tmp_path: Path, request_: dict[str, Any], options: tuple[str, ...]
) -> None:
    found, files = compiled(path, **request_)
    ended = run(path, "--out", tmp_path / "out", *SHAPE, *SHADERS, *options)
    assert ended.exit_code == 0, ended.output
    assert files == contents(tmp_path / "out")
    assert found["name"] == found["manifest"]["name"] == "net"
    report = found["report"]
    assert report["bundleBytes"] == sum(map(len, files.values()))
    assert set(report["kernels"]) == set(request_.get("targets", TARGETS))
    assert all(count > 0 for count in report["kernels"].values())
    assert {"import", "optimise", "write"} <= set(report["seconds"])


@pytest.mark.parametrize(
    ("request_", "options"),
    [
        ({"dims": {"batch": [1, 4]}}, ("--dim", "batch=1..4")),
        ({"shapes": {"x": ["n", 3, 8, 8]}, "dims": {"n": [2, 4, 2]}}, ("--shape=x=nx3x8x8", "--dim=n=2..4,multiple=2")),
    ],
)
def test_sizes_of_each_run_give_the_files_of_the_command_line(
    path: Path, tmp_path: Path, request_: dict[str, Any], options: tuple[str, ...]
) -> None:
    found, files = compiled(path, **{"shapes": None, **request_})
    ended = run(path, "--out", tmp_path / "out", *SHADERS, *options)
    assert ended.exit_code == 0, ended.output
    assert files == contents(tmp_path / "out")
    assert len(found["manifest"]["dimensions"]) == 1


@pytest.mark.parametrize(
    ("request_", "options"),
    [
        ({}, ()),
        ({"states": []}, ("--state", "none")),
        ({"given": ["attention_mask"]}, ("--given", "attention_mask")),
        ({"stateWindow": 30}, ("--state-window", "30")),
        ({"generate": True}, ("--generate", "")),
        ({"generate": "top=2,logits=logits"}, ("--generate", "top=2,logits=logits")),
    ],
)
def test_states_are_those_of_the_command_line(
    tmp_path: Path, request_: dict[str, Any], options: tuple[str, ...]
) -> None:
    onnx.save(tiny_decoder(), tmp_path / "tiny.onnx")
    found, files = compiled(tmp_path / "tiny.onnx", shapes=None, dims=DIMS, **request_)
    sizes = ("--dim", "batch=1", "--dim", "past=0..59", "--dim", "seq=1..5")
    ended = run(tmp_path / "tiny.onnx", "--out", tmp_path / "out", *sizes, *SHADERS, *options)
    assert ended.exit_code == 0, ended.output
    assert files == contents(tmp_path / "out")
    assert ("states" in found["manifest"]) == (request_.get("states") is None)


def test_the_manifest_names_files_that_are_there(path: Path) -> None:
    found, files = compiled(path)
    manifest = found["manifest"]
    named = [*manifest["weights"], *(b["program"] for b in manifest["backends"])]
    assert [b["backend"] for b in manifest["backends"]] == list(TARGETS)
    for entry in named:
        data = files[entry["file"]]
        assert (entry["bytes"], entry["sha256"]) == (len(data), sha256(data).hexdigest())
    assert found["report"]["weightBytes"] == sum(w["bytes"] for w in manifest["weights"])


def test_weights_in_few_bits(tmp_path: Path) -> None:
    product = node("MatMul", ["x", "w"], ["y"], "wide")
    onnx.save(model([product], {"x": [1, 192]}, ["y"], {"w": random((192, 192))}), tmp_path / "m.onnx")
    found, files = compiled(tmp_path / "m.onnx", shapes=None, weights="int4", targets=["webgl"])
    report = found["report"]
    (layer,) = report["quantization"]["layers"]
    assert (layer["node"], layer["weights"], layer["bytes"]["before"]) == ("wide", "int4:block=32", 4 * 192 * 192)
    assert 0.05 < layer["error"] < 0.15
    assert report["weightTypes"]["int4"] == 192 * 192 // 2
    assert report["products"] == {"webgl": {"float32 and int4 in float32": 1}}
    ended = run(tmp_path / "m.onnx", "--out", tmp_path / "o", "--host=js", "--targets=webgl", "--weights=int4")
    assert ended.exit_code == 0, ended.output
    assert files == contents(tmp_path / "o")
    wrong = asked("compile", model=tmp_path / "m.onnx", weights="int3")
    assert wrong["error"]["kind"] == "input"
    assert wrong["error"]["message"].startswith("--weights int3: choose one of f16, int8, int4, nf4")


GREY = {"like": "unit", "colours": "grey"}


def test_pictures_and_answers(tmp_path: Path) -> None:
    """Files of the command line, and its messages."""
    onnx.save(model([node("Flatten", ["x"], ["y"])], {"x": [1, 1, 2, 4]}, ["y"], {}), tmp_path / "m.onnx")
    (tmp_path / "grey.json").write_text(json.dumps(GREY))
    (tmp_path / "names.txt").write_text("a\nb\nc\nd\ne\nf\ng\nh\n")
    request = {"shapes": None, "pictures": {"x": GREY}, "answers": ["classify,top=2,logits"]}
    found, files = compiled(tmp_path / "m.onnx", **request, labels=str(tmp_path / "names.txt"))
    options = [f"--picture=x={tmp_path / 'grey.json'}", "--answer=classify,top=2,logits"]
    ended = run(tmp_path / "m.onnx", "--out", tmp_path / "o", *SHADERS, *options, "--labels", tmp_path / "names.txt")
    assert ended.exit_code == 0, ended.output
    assert files == contents(tmp_path / "o")
    assert compiled(tmp_path / "m.onnx", **request, labels=list("abcdefgh"))[1] == files
    assert found["report"]["answers"] == {"y": "2 of 8 classes, by the Softmax of y"}
    assert "import { load } from './m/model.js';" in found["code"]
    assert "x: document.querySelector('img')" in found["code"]
    message = message_of(tmp_path / "m.onnx", "--out", tmp_path / "p", *SHADERS, "--picture=x=imagenet")
    wrong = asked("compile", model=tmp_path / "m.onnx", pictures={"x": "imagenet"})
    assert wrong == {"error": {"kind": "input", "message": message}}


def test_a_detector_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file lies beside the model's."""
    monkeypatch.chdir(tmp_path)
    onnx.save(boxes_and_scores(), "m.onnx")
    Path("own.json").write_text(json.dumps({"like": "ssd", "background": False, "boxes_output": "boxes"}))
    answer_ = "detect=own.json,threshold=0.4"
    found, files = compiled(Path("m.onnx"), shapes=None, answers=[answer_])
    ended = run("m.onnx", "--out", "o", *SHADERS, "--answer", answer_)
    assert ended.exit_code == 0, ended.output
    assert files == contents(tmp_path / "o")
    assert found["report"]["answers"]["boxes"].startswith("up to 2 boxes of 4 classes, of 2 in boxes with scores")
    for text in ('{"like": "sdd"}', '{"threshold": 2}', "[1]", "no JSON"):
        Path("own.json").write_text(text)
        wrong = asked("compile", model="m.onnx", answers=["detect=own.json"])
        message = message_of("m.onnx", "--out", "p", *SHADERS, "--answer=detect=own.json")
        message = message.replace("Invalid value for '--answer':", "--answer")
        assert wrong == {"error": {"kind": "input", "message": message}}
        assert message.startswith("--answer detect=own.json: own.json: ")


def test_the_tables_of_formats() -> None:
    found = asked("formats")
    for kind, table in (("pictures", PICTURES), ("sounds", SOUNDS)):
        made = {name: table.of({**fields}, name) for name, fields in found[kind]["named"].items()}
        assert made == table.named
    assert set(found["pictures"]["choices"]) == {"resize", "colours"}
    assert found["sounds"]["choices"]["layout"] == [None, "time-mel", "mel-time"]
    assert found["answers"]["detect"]["presets"] == list(DETECTORS.named)
    assert [kind for kind, table in found["answers"].items() if table["file"]] == ["detect"]
    assert "text" not in found["answers"]
    for answer_ in found["answers"].values():
        assert answer_["example"].startswith("give ")


def test_phases_are_said_as_they_begin(path: Path) -> None:
    phases: list[str] = []
    found, _ = compiled(path, phases.append)
    assert phases[0] == "import"
    assert phases[-1] == "write"
    assert len(phases) > 3
    assert {phase.partition(" (")[0] for phase in phases} == set(found["report"]["seconds"])


def test_nothing_is_written(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    compiled(path)
    assert list(tmp_path.iterdir()) == []
    assert [p.name for p in path.parent.iterdir()] == ["net.onnx"]


def packed(name: str = "net") -> tuple[str, bytes]:
    text, files = answer("pack", json.dumps({"name": name}), lambda _: None)
    assert json.loads(text) == {}
    (found,) = files
    return found


def test_pack(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder in which the worker is; weights are stored, which are as good as random."""
    _, files = compiled(path)
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    monkeypatch.chdir(tmp_path)
    name, archive = packed()
    assert name == "net.zip"
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        assert {n: opened.read(n) for n in opened.namelist()} == {f"net/{n}": data for n, data in files.items()}
        assert opened.namelist() == sorted(opened.namelist())
        for entry in opened.infolist():
            weights = entry.filename.endswith(".bin")
            assert entry.compress_type == (zipfile.ZIP_STORED if weights else zipfile.ZIP_DEFLATED), entry
            assert entry.date_time == (1980, 1, 1, 0, 0, 0)
        assert any(n.endswith(".bin") for n in opened.namelist())


def test_an_archive_is_the_same_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the order and the times of files."""
    archives = []
    for names in (["a.js", "b.bin"], ["b.bin", "a.js"]):
        folder = tmp_path / names[0]
        folder.mkdir()
        for name in names:
            (folder / name).write_text(name)
        monkeypatch.chdir(folder)
        archives.append(packed("a name\u00fc"))
    assert archives[0] == archives[1]


@pytest.mark.parametrize(
    ("request_", "options"),
    [
        ({}, ()),
        ({"shapes": {"x": [1, 4, 8, 8]}}, ("--shape", "x=1x4x8x8")),
        ({"shapes": {"y": [1]}}, ("--shape", "y=1")),
        ({"dims": {"batch": [8, 2]}}, ("--dim", "batch=8..2")),
        ({"dims": {"batch": [5, 7, 4]}}, ("--dim", "batch=5..7,multiple=4")),
        ({"dims": {"channels": 3}}, ("--dim", "channels=3")),
        ({"shapes": SHAPES, "targets": ["wasm"]}, (*SHAPE, "--targets", "wasm")),
        ({"shapes": SHAPES, "targets": ["native", "webgl"]}, (*SHAPE, "--targets", "native,webgl")),
    ],
)
def test_mistakes_have_the_command_lines_message(
    path: Path, tmp_path: Path, request_: dict[str, Any], options: tuple[str, ...]
) -> None:
    found = asked("compile", model=path, **request_)
    message = message_of(path, "--out", tmp_path / "out", *SHADERS, *options)
    assert found == {"error": {"kind": "input", "message": message}}


def test_a_precision_that_there_is_not(path: Path) -> None:
    error = {"kind": "input", "message": "--precision f8: choose one of f32, f16, f16-fast"}
    assert asked("compile", model=path, shapes=SHAPES, precision="f8") == {"error": error}


@pytest.mark.parametrize(("name", "data"), [("none.onnx", None), ("net.onnx", b"no model"), ("net.pt", b"PK\3\4 rest")])
def test_files_that_are_no_models(tmp_path: Path, name: str, data: bytes | None) -> None:
    model = tmp_path / name
    if data is not None:
        model.write_bytes(data)
    message = message_of(model, "--out", tmp_path / "out", *SHADERS)
    expected = {"error": {"kind": "input", "message": message}}
    assert asked("describe", model=model) == expected
    assert asked("compile", model=model) == expected


def fails(error: Exception) -> Callable[..., Any]:
    def build_files(model: Path, options: object, say: Callable[[str], None]) -> None:
        say("import")
        say("optimise")
        raise error

    return build_files


def test_a_fault_is_ours(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "build_files", fails(KeyError("lost")))
    error = asked("compile", model=path)["error"]
    assert error["kind"] == "fault"
    assert error["message"].startswith("KeyError in phase 'optimise': 'lost' (test_answer.py, line ")


def test_too_little_memory_is_not(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "build_files", fails(MemoryError()))
    error = asked("compile", model=path)["error"]
    assert error["kind"] == "input"
    assert "lacks the memory for this model (phase: optimise); give it smaller shapes" in error["message"]


@dataclass
class Heap:
    """A memory that has grown by so many bytes, in which the next allocation fails beyond the limit."""

    size: int
    most: float = inf

    def grown(self) -> int:
        return self.size

    def limit(self, growth: int) -> None:
        self.most = growth

    def refused(self) -> int:
        return self.size if self.size > self.most else 0


@pytest.mark.parametrize("failure", [MemoryError(), InputError("memory runs out while constants are folded")])
def test_memory_beyond_the_limit_is_the_error_of_the_command_line(
    failure: Exception, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(node: onnx.NodeProto) -> None:
        raise MemoryError

    def build(_: Path, __: Any, say: Callable[[str], None]) -> None:
        say("import")
        try:
            fill(node("Expand", [], [], "big"))
        except MemoryError:
            raise failure from None

    monkeypatch.setattr(module, "build_files", build)
    found = asked("compile", heap=Heap(OWN + 2**20 + 1), model=path, compileMemory=2**20)
    assert found["ended"]
    assert found["error"] == {
        "kind": "input",
        "message": "--compile-memory 1 MiB: compiling took 513 MiB, and 512 MiB more than the limit are the compiler's "
        "own; it was at import (node 'big'): allow more, or give the model smaller or fixed sizes (in Python: "
        "compile_memory)",
    }
    within = asked("compile", heap=Heap(OWN + 2**20), model=path, compileMemory=2**20)
    assert "--compile-memory" not in within["error"]["message"]


def test_a_worker_that_has_grown_much_ends_after_its_answer(path: Path) -> None:
    assert "ended" not in asked("describe", heap=Heap(OWN), model=path)
    assert asked("describe", heap=Heap(OWN + 1), model=path)["ended"]


def test_a_request_that_nobody_makes() -> None:
    for operation in ("unknown", "tune"):
        assert asked(operation)["error"]["kind"] == "fault"
    text, files = answer("describe", "no JSON", lambda _: None)
    assert json.loads(text)["error"]["kind"] == "fault"
    assert files == []
