"""`--report FILE.html`: the page, its options, and their mistakes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from cli.command import SHAPE, contents, refused, run

TARGETS = ("--targets", "webgpu")


def test_the_page_is_written_and_the_bundle_is_the_same(path: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    result = run(path, "--out", tmp_path / "a", *SHAPE, *TARGETS, "--report", page, "--peak", "webgpu=500,25.5")
    assert result.exit_code == 0, result.output
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "net.onnx" in text
    assert "500 G operations/s and 25.5 GB/s, as given" in text
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "net.onnx", "report.html"]
    assert run(path, "--out", tmp_path / "b", *SHAPE, *TARGETS).exit_code == 0
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_a_profile_as_the_page_saves_it(path: Path, tmp_path: Path) -> None:
    figures = tmp_path / "report.json"
    assert run(path, "--out", tmp_path / "a", *SHAPE, *TARGETS, "--report", figures).exit_code == 0
    launches = json.loads(figures.read_text())["targets"]["webgpu"]["launches"]
    profile = tmp_path / "profile.json"
    times = [
        {"name": x["kernel"], "nodes": x["nodes"], "ops": x["operators"], "ms": 0.25, "clock": "gpu", "count": 1}
        for x in launches
    ]
    profile.write_text(json.dumps(times))
    page = tmp_path / "report.html"
    arguments = (path, *SHAPE, *TARGETS, "--report", page, "--profile", f"webgpu={profile}")
    result = run("--out", tmp_path / "b", *arguments)
    assert result.exit_code == 0, result.output
    assert f"{0.25 * len(times):.2f} ms" in page.read_text()

    page.unlink()
    profile.write_text(json.dumps(times[1:]))
    refused(run("--out", tmp_path / "c", *arguments), "profile a bundle of the same model, options and version")
    assert not page.exists()
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("{}", "not what `model.profile\\(\\)` gives"),
        ('[{"name": "a"}]', "not what `model.profile\\(\\)` gives"),
        ('[{"name": "a", "ms": -1}]', "not what `model.profile\\(\\)` gives"),
        ('[{"name": "a", "ms": NaN}]', "not what `model.profile\\(\\)` gives"),
        ('[{"name": "a", "ms": true}]', "not what `model.profile\\(\\)` gives"),
        ('[{"name": "a", "ms": 1, "nodes": [1]}]', "not what `model.profile\\(\\)` gives"),
        ("[" * 100_000, "is not JSON"),
        (None, "cannot be read: No such file"),
    ],
)
def test_files_that_are_no_profiles(text: str | None, message: str, path: Path, tmp_path: Path) -> None:
    profile = tmp_path / "profile.json"
    if text is not None:
        profile.write_text(text)
    page = ("--report", tmp_path / "report.html", "--profile", f"webgpu={profile}")
    refused(run(path, "--out", tmp_path / "a", *SHAPE, *page), message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--report", "none/report.html"), "there is no folder .*none; make it first"),
        (("--report", "."), "is a folder; give the path of a file"),
        (("--peak", "webgpu=1,1"), "--peak is for a report that is a page: give --report FILE.html, too"),
        (("--peak", "webgpu=1,1", "--report", "r.json"), "--peak is for a report that is a page"),
        (("--peak", "wasm=1,1", "--report", "r.html"), "--peak wasm=...: choose from the targets, webgpu"),
        (("--peak", "webgpu", "--report", "r.html"), "is not of the form webgpu=GFLOPS,GBYTES"),
        (("--peak", "webgpu=1", "--report", "r.html"), "is not of the form webgpu=GFLOPS,GBYTES"),
        (("--peak", "webgpu=0,1", "--report", "r.html"), "is not of the form webgpu=GFLOPS,GBYTES"),
        (("--peak", "webgpu=inf,1", "--report", "r.html"), "is not of the form webgpu=GFLOPS,GBYTES"),
        (("--profile", "webgpu", "--report", "r.html"), "is not of the form webgpu=FILE.json"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], message: str, path: Path, tmp_path: Path) -> None:
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        refused(run(path, "--out", "a", *SHAPE, *TARGETS, *arguments), message)
    finally:
        os.chdir(before)
    assert not (tmp_path / "a").exists()


def test_a_page_that_cannot_be_written_leaves_nothing(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    page = folder / ("x" * 300 + ".html")
    refused(
        run(path, "--out", tmp_path / "a", *SHAPE, *TARGETS, "--report", page), "cannot be written: File name too long"
    )
    assert not list(folder.iterdir())
