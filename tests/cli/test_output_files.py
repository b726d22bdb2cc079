"""Files that a command writes besides its folder: where one cannot be written, nothing is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from cli.command import SHAPE, contents, refused, run
from onnx_models import model, node, random

FULL = "/dev/full"
"""A file that opens, and cannot be written to: as on a disk that is full by the time that the build ends."""
WEIGHTS = ("--weights", "int8")
pytestmark = pytest.mark.skipif(not Path(FULL).exists(), reason="no device that is always full")


@pytest.fixture
def dense(tmp_path: Path) -> Path:
    """The model of a layer whose weights may be int8."""
    path = tmp_path / "dense.onnx"
    onnx.save(model([node("MatMul", ["x", "w"], ["y"])], {"x": [1, 64]}, ["y"], {"w": random((64, 64))}), path)
    return path


@pytest.mark.parametrize("targets", ["wasm", "c", "native"])
def test_a_report_that_cannot_be_written_leaves_no_folder(path: Path, tmp_path: Path, targets: str) -> None:
    build = (path, "--out", tmp_path / "out", *SHAPE, "--targets", targets)
    refused(run(*build, "--report", FULL), f"--report {FULL}: cannot be written: No space left on device")
    assert [p.name for p in tmp_path.iterdir()] == ["net.onnx"]


def test_nor_does_it_replace_one(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    build = (path, "--out", out, *SHAPE, "--targets", "wasm", "--golden", "off")
    assert run(*build).exit_code == 0
    before = contents(out)
    refused(run(*build, "--coop-coep", "--force", "--report", FULL), "cannot be written: No space left")
    assert contents(out) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net.onnx", "out"]


def test_a_report_of_several_models(path: Path, tmp_path: Path) -> None:
    """The second has a name that is too long."""
    report = tmp_path / f"{'r' * 245}.json"
    models = (f"a={path}", f"{'b' * 20}={path}")
    refused(run(*models, "--out", tmp_path / "out", *SHAPE, "--targets", "wasm", "--report", report), "name too long")
    assert [p.name for p in tmp_path.iterdir()] == ["net.onnx"]


def test_a_quantised_model_that_cannot_be_written(dense: Path, tmp_path: Path) -> None:
    build = (dense, "--out", tmp_path / "out", "--targets", "wasm", *WEIGHTS)
    refused(run(*build, "--save-quantized", FULL), f"--save-quantized {FULL}: cannot be written: No space left")
    assert [p.name for p in tmp_path.iterdir()] == ["dense.onnx"]


def test_quantised_models_have_files_of_their_own(dense: Path, tmp_path: Path) -> None:
    build = (f"a={dense}", f"b={dense}", "--out", tmp_path / "out", "--targets", "wasm", *WEIGHTS)
    one, other = tmp_path / "q.onnx", tmp_path / "r.onnx"
    message = "--save-quantized .*/q.onnx: 2 models would be written to this file; give each another one, as in --save"
    refused(run(*build, "--save-quantized", one), message)
    assert [p.name for p in tmp_path.iterdir()] == ["dense.onnx"]
    assert run(*build, "--save-quantized", f"a:{one}", "--save-quantized", f"b:{other}").exit_code == 0
    assert one.exists()
    assert other.exists()


@pytest.mark.parametrize(
    ("refusing", "message"),
    [(("--report", FULL), "No space left on device"), (("--page-memory", "10"), "--page-memory")],
)
def test_a_refused_build_saves_no_quantised_model(
    dense: Path, tmp_path: Path, refusing: tuple[str, ...], message: str
) -> None:
    saved = tmp_path / "q.onnx"
    saved.write_bytes(b"old")
    build = (*WEIGHTS, "--targets", "wasm", "--save-quantized", saved)
    refused(run(dense, "--out", tmp_path / "out", *build, *refusing), message)
    assert contents(tmp_path).keys() == {"dense.onnx", "q.onnx"}
    assert saved.read_bytes() == b"old"
    assert run(dense, "--out", tmp_path / "out", *build).exit_code == 0
    onnx.checker.check_model(onnx.load(saved))


def test_nor_does_one_of_several_models(dense: Path, path: Path, tmp_path: Path) -> None:
    """The second has free sizes."""
    build = (f"a={dense}", f"b={path}", "--out", tmp_path / "out", "--targets", "wasm")
    refused(run(*build, "--weights", "a:int8", "--save-quantized", f"a:{tmp_path / 'q.onnx'}"), "b: ")
    assert sorted(contents(tmp_path)) == ["dense.onnx", "net.onnx"]


def test_files_that_are_read_are_not_replaced(dense: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    proto = onnx.load("dense.onnx")
    onnx.save(proto, "apart.onnx", save_as_external_data=True, location="apart.data", size_threshold=0)
    Path("labels.txt").write_text("a\nb")
    Path("records.jsonl").touch()
    np.save("x.npy", np.zeros((1, 64), np.float32))
    Path("link").symlink_to("dense.onnx")
    before = contents(tmp_path)
    for model_, options, file in (
        ("dense.onnx", (), "dense.onnx"),
        ("dense.onnx", (), "link"),
        ("link", (), "dense.onnx"),
        ("apart.onnx", (), "apart.data"),
        ("dense.onnx", ("--answer", "classify", "--labels=labels.txt"), "labels.txt"),
        ("dense.onnx", ("--records", "records.jsonl"), "records.jsonl"),
        ("dense.onnx", ("--fix", "x=x.npy"), "x.npy"),
    ):
        for output in (("--report",), (*WEIGHTS, "--save-quantized")):
            result = run(model_, "--out", "out", *options, *output, tmp_path / file)
            refused(result, f"{output[-1]} .*{file} is a file that is read, too; give another file")
    refused(run("a=dense.onnx", "b=link", "--out", "out", *WEIGHTS, "--save-quantized", "a:link"), "read, too")
    refused(
        run("dense.onnx", "--out", "out", *WEIGHTS, "--save-quantized", "q", "--report", "./q"),
        "--save-quantized q is the file of --report, too; give each another one",
    )
    assert contents(tmp_path) == before


def test_python_replaces_no_file_that_it_reads(dense: Path, tmp_path: Path) -> None:
    import webnn_compile
    from webnn_compile.errors import InputError

    page, own = tmp_path / "labels.html", tmp_path / "labels-a.html"
    page.write_text("a\nb")
    own.write_text("c\nd")
    several = {"model": {"a": dense, "b": dense}, "own": {"b": {"labels": own}}}
    for arguments in ({"model": page}, {"model": dense, "labels": page}, several):
        with pytest.raises(InputError, match=r"--report .*labels.*\.html is a file that is read, too"):
            webnn_compile.build_bundle(**arguments, out=tmp_path / "out", report=page)  # type: ignore[call-overload]
    assert page.read_text() == "a\nb"
    assert own.read_text() == "c\nd"


@pytest.mark.parametrize("out", ["both", "both/out"])
def test_no_file_is_a_folder(path: Path, tmp_path: Path, out: str) -> None:
    """Known before any work: the model, which is none, is not read."""
    path.write_bytes(b"no model")
    result = run(path, "--out", tmp_path / out, "--report", tmp_path / "both")
    refused(result, "--report .*both would be a folder, by --out .*; give another file")
    assert [p.name for p in tmp_path.iterdir()] == ["net.onnx"]


@pytest.mark.parametrize("option", ["--out", "--report", "--save-quantized"])
def test_a_link_to_itself(dense: Path, tmp_path: Path, option: str) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    others = () if option == "--out" else ("--out", tmp_path / "out")
    refused(run(dense, *others, *WEIGHTS, option, loop), "Too many levels of symbolic links")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dense.onnx", "loop"]


@pytest.mark.parametrize("option", ["--report", "--save-quantized"])
def test_no_other_file_lies_in_the_folder(path: Path, tmp_path: Path, option: str) -> None:
    (tmp_path / "out").mkdir()
    quantised = ("--weights", "int8") if option == "--save-quantized" else ()
    build = (path, "--out", tmp_path / "out", *SHAPE, *quantised)
    refused(run(*build, option, tmp_path / "out" / "file"), f"{option} .*/out/file lies in --out .*; give a file in")
    assert not contents(tmp_path / "out")


def test_dumps_that_cannot_be_written(path: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "webnn_compile", path, "--out", tmp_path / "out", *SHAPE, "--dump", "after:import"]
    with Path(FULL).open("w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 2
    assert "error: standard output cannot be written: No space left on device" in ended.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["net.onnx"]


def test_python_writes_all_or_nothing(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import webnn_compile
    from webnn_compile.errors import InputError

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    shapes = {"x": (1, 3, 8, 8)}
    report = tmp_path / "r.html"
    monkeypatch.setattr("webnn_compile.system.put_files.Path.replace", full)
    with pytest.raises(InputError, match=r"--report .*r\.html: cannot be written: No space left"):
        webnn_compile.build_bundle(path, "wasm", shapes, out=tmp_path / "out", report=report)
    assert [p.name for p in tmp_path.iterdir()] == ["net.onnx"]
