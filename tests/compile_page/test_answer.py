"""The compiler's answers to the page, in ordinary Python: they are those of the command line."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from cli.command import SHAPE, contents, network, run
from device_json import read_program
from onnx_models import model, node, random
from webnn_compile.answers.formats import DETECTORS
from webnn_compile.compile_page import answer as module
from webnn_compile.compile_page.answer import TARGETS, answer
from webnn_compile.pictures.formats import PICTURES
from webnn_compile.records.tuning_record import parse_line
from webnn_compile.sounds.formats import SOUNDS

SHAPES = {"x": [1, 3, 8, 8]}
SHADERS = ("--host", "js", "--targets", "webgpu,webgl")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose batch is free."""
    made = tmp_path_factory.mktemp("model") / "net.onnx"
    onnx.save(network(), made)
    return made


def asked(operation: str, page: Any = None, say: Callable[[str], None] = lambda _: None, **request: Any) -> Any:
    """The answer, which has no files."""
    text, files = answer(operation, json.dumps(request, default=str), say, page)
    assert files == []
    return json.loads(text)


def compiled(path: Path, say: Callable[[str], None] = lambda _: None, **request: Any) -> tuple[Any, dict[str, bytes]]:
    text, files = answer("compile", json.dumps({"model": str(path), "shapes": SHAPES, **request}), say)
    found = json.loads(text)
    assert "error" not in found, found
    assert len({name for name, _ in files}) == len(files)
    return found, dict(files)


def message_of(*arguments: str | Path) -> str:
    """The command line's."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    return re.split("[Ee]rror: ", result.output, maxsplit=1)[1].strip()


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


def test_the_tables_of_formats() -> None:
    found = asked("formats")
    for kind, table in (("pictures", PICTURES), ("sounds", SOUNDS)):
        made = {name: table.of({**fields}, name) for name, fields in found[kind]["named"].items()}
        assert made == table.named
    assert set(found["pictures"]["choices"]) == {"resize", "colours"}
    assert found["sounds"]["choices"]["layout"] == [None, "time-mel", "mel-time"]
    assert found["answers"]["detect"]["presets"] == list(DETECTORS.named)
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
        ({"shapes": SHAPES, "targets": ["native,webgl"]}, (*SHAPE, "--targets", "native,webgl")),
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


def test_a_request_that_nobody_makes() -> None:
    for operation in ("unknown", "tune"):
        assert asked(operation)["error"]["kind"] == "fault"
    text, files = answer("describe", "no JSON", lambda _: None)
    assert json.loads(text)["error"]["kind"] == "fault"
    assert files == []


FACTS = {"browser": "Fake 1", "platform": "none", "clock": 0.1, "webgpu": {"adapter": "nothing", "clock": 0.001}}


class FakePage:
    """Answers as rpc/device_page/run_requests.js, of models that it does not run: results are ones, a launch takes as
    many milliseconds as its kernel has lines. From the request `after` on there is no answer, or the error `error`."""

    def __init__(self, after: int | None = None, error: Mapping[str, str] | None = None) -> None:
        self.shown: list[Mapping[str, Any]] = []
        self.asked: list[str] = []
        self._after, self._error = after, error
        self._models: dict[int, tuple[Any, Any]] = {}

    def exchange(self, header: str, payload: bytes, seconds: float) -> tuple[str, bytes] | None:
        request = json.loads(header)
        self.asked.append(request["op"])
        assert seconds > 0
        if self._after is not None and len(self.asked) > self._after:
            return None if self._error is None else (json.dumps({"error": self._error}), b"")
        found, data = getattr(self, f"_{request['op']}")(request, payload)
        return json.dumps(found), data

    def stopped(self) -> bool:
        return False

    @property
    def loaded(self) -> int:
        return len(self._models)

    def _load(self, request: Any, payload: bytes) -> tuple[Any, bytes]:
        at, files = 0, {}
        for entry in request["files"]:
            files[entry["sha256"]] = payload[at : at + entry["bytes"]]
            at += entry["bytes"]
        assert at == len(payload)
        assert all(sha256(data).hexdigest() == digest for digest, data in files.items())
        (backend,) = request["manifest"]["backends"]
        assert backend["backend"] == request["options"]["backend"]
        number = self.asked.count("load")
        self._models[number] = request["manifest"], read_program(files[backend["program"]["sha256"]])
        return {"model": number}, b""

    def _run(self, request: Any, payload: bytes) -> tuple[Any, bytes]:
        manifest, _ = self._inputs(request, payload)
        outputs = [{key: t[key] for key in ("name", "dtype", "shape")} for t in manifest["outputs"]]
        return {"arrays": outputs}, b"".join(np.ones(t["shape"], t["dtype"]).tobytes() for t in outputs)

    def _profile(self, request: Any, payload: bytes) -> tuple[Any, bytes]:
        return {"profile": self._steps(self._inputs(request, payload)[1])}, b""

    def _time(self, request: Any, payload: bytes) -> tuple[Any, bytes]:
        steps = self._steps(self._inputs(request, payload)[1])
        return {"times": [sum(s["ms"] for s in steps)] * request["repeat"], "runs": 1}, b""

    def _show(self, request: Any, payload: bytes) -> tuple[Any, bytes]:
        self.shown.append(request["status"])
        return {}, b""

    def _unload(self, request: Any, payload: bytes) -> tuple[Any, bytes]:
        del self._models[request["model"]]
        return {}, b""

    def _inputs(self, request: Any, payload: bytes) -> tuple[Any, Any]:
        """The model, after a check of what goes into it."""
        manifest, program = self._models[request["model"]]
        assert {a["name"]: a["shape"] for a in request["arrays"]} == {t["name"]: t["shape"] for t in manifest["inputs"]}
        assert len(payload) == sum(prod(a["shape"]) * np.dtype(a["dtype"]).itemsize for a in request["arrays"])
        return manifest, program

    @staticmethod
    def _steps(program: Any) -> list[dict[str, Any]]:
        lines = [kernel["source"].count("\n") for kernel in program["kernels"]]
        launches = (program["launches"][i] for first, end in program["steps"] for i in range(first, end))
        return [{"name": one["name"], "ms": float(lines[one["kernel"]])} for one in launches]


def tuned(path: Path, page: FakePage, target: str = "webgpu", **request: Any) -> Any:
    """By settings for which the machine's speed does not matter."""
    given = {"model": path, "target": target, "shapes": SHAPES, "facts": FACTS, "seconds": 1e6, "trials": 12, **request}
    return asked("tune", page, **given)


TRIALS = 24


@pytest.fixture(scope="module")
def search(path: Path) -> tuple[FakePage, Any]:
    """A page, and what was found on it."""
    page = FakePage()
    found = tuned(path, page, trials=TRIALS)
    assert "error" not in found, found
    return page, found


def test_a_search_on_the_page(search: tuple[FakePage, Any]) -> None:
    page, found = search
    records = [parse_line(line) for line in found["records"].splitlines()]
    assert all(r is not None and r.target == "webgpu" and r.model == "net.onnx" for r in records)
    assert {r.device for r in records if r is not None} == {found["device"]} == {"Fake 1: nothing"}
    trials = [r for r in records if r is not None and r.kind == "trial" and r.failure != "illegal"]
    assert found["trials"] == len(trials) == TRIALS
    assert found["failed"] == sum(r.failure is not None for r in trials) == 0
    assert page.loaded == 0, "a model is left"
    assert page.shown[0]["phase"] == "the model by default"
    assert page.shown[-1]["phase"] == "done"
    assert page.shown[-1]["trials"] == TRIALS


def test_what_was_found_goes_into_a_bundle(path: Path, search: tuple[FakePage, Any], tmp_path: Path) -> None:
    """By the option `records`, as on the command line."""
    _, found = search
    assert found["gain"] < 1, found
    records = tmp_path / "records.jsonl"
    records.write_text(found["records"])
    _, files = compiled(path, records=str(records))
    ended = run(path, "--out", tmp_path / "out", *SHAPE, *SHADERS, "--records", records)
    assert ended.exit_code == 0, ended.output
    assert files == contents(tmp_path / "out")
    assert files != compiled(path)[1]


def test_a_search_goes_on_with_its_records(path: Path, tmp_path: Path) -> None:
    """Records in the answer include the given ones."""
    first = tuned(path, FakePage(), trials=6)
    records = tmp_path / "records.jsonl"
    records.write_text(first["records"])
    second = tuned(path, FakePage(), trials=10, records=records)
    assert second["trials"] == 10
    assert second["records"].startswith(first["records"])


def test_records_that_are_missing(path: Path, tmp_path: Path) -> None:
    message = message_of(path, "--out", tmp_path / "out", *SHAPE, *SHADERS, "--records", tmp_path / "none")
    expected = {"error": {"kind": "input", "message": message}}
    assert asked("compile", model=path, shapes=SHAPES, records=tmp_path / "none") == expected


def test_a_search_for_webgl(path: Path) -> None:
    found = tuned(path, FakePage(), "webgl", trials=3)
    assert found["device"] == "Fake 1 on none"
    assert found["trials"] == 3


@pytest.mark.parametrize("target", ["wasm2", "native2"])
def test_a_target_that_is_not_tuned(path: Path, target: str) -> None:
    error = tuned(path, FakePage(), target)["error"]
    assert error["kind"] == "input"
    assert f"target {target!r} cannot be tuned" in error["message"]


def test_a_page_that_does_not_answer(path: Path) -> None:
    error = tuned(path, FakePage(after=1))["error"]
    assert error["kind"] == "input"
    assert error["message"].startswith("the page cannot run the model on webgpu: the page did not answer within ")


def test_a_page_that_cannot_run_the_model(path: Path) -> None:
    lost = {"name": "UnsupportedError", "message": "there is no adapter"}
    error = tuned(path, FakePage(after=1, error=lost))["error"]
    message = "the page cannot run the model on webgpu: UnsupportedError: there is no adapter"
    assert error == {"kind": "input", "message": message}


class Blind(FakePage):
    """Shows nothing."""

    def exchange(self, header: str, payload: bytes, seconds: float) -> tuple[str, bytes] | None:
        return None if json.loads(header)["op"] == "show" else super().exchange(header, payload, seconds)


def test_a_page_that_does_not_show_the_search(path: Path) -> None:
    """Measurements there count all the same."""
    assert tuned(path, Blind(), trials=3)["trials"] == 3


class Slow(FakePage):
    """Does not answer one call for a profile, and then has no models, as rpc/device_page/run_requests.js frees them."""

    def __init__(self, call: int) -> None:
        super().__init__()
        self._call = call

    def exchange(self, header: str, payload: bytes, seconds: float) -> tuple[str, bytes] | None:
        answer = super().exchange(header, payload, seconds)
        if self.asked[-1] == "profile" and self.asked.count("profile") == self._call:
            self._models.clear()
            return None
        return answer

    def _unload(self, request: Any, payload: bytes) -> tuple[Any, bytes]:
        self._models.pop(request["model"], None)
        return {}, b""


@pytest.mark.parametrize("call", [1, 6])
def test_one_call_without_an_answer(path: Path, call: int) -> None:
    """The whole model is measured again, and candidates one by one."""
    found = tuned(path, Slow(call), trials=4)
    assert "error" not in found, found
    assert found["trials"] == 4
    assert found["failed"] <= 1


class Stopped(FakePage):
    """The search is to end after so many trials."""

    def __init__(self, trials: int) -> None:
        super().__init__()
        self._trials = trials

    def stopped(self) -> bool:
        return bool(self.shown) and self.shown[-1]["trials"] >= self._trials


@pytest.mark.parametrize("trials", [0, 4])
def test_a_search_is_stopped(path: Path, trials: int) -> None:
    """Candidates tried until then count, and are compared in the whole model."""
    page = Stopped(trials)
    found = tuned(path, page, trials=200)
    assert trials <= found["trials"] < 30
    assert [s["phase"] for s in page.shown][-2:] == ["the whole model", "done"]
    assert page.loaded == 0
    if trials == 0:
        assert found["gain"] == 1
        assert found["records"] == ""
