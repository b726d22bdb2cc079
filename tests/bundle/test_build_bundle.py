"""Bundles by the Python interface: what the command line writes."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from cli.command import contents, run
from onnx_models import model, node, random
from webnn_compile import InputError, Packaging, build_bundle


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("model") / "net.onnx"
    nodes = [node("GlobalAveragePool", ["image"], ["means"]), node("Flatten", ["means"], ["flat"])]
    nodes += [node("MatMul", ["flat", "w"], ["logits"])]
    onnx.save(model(nodes, {"image": [1, 3, 8, 8]}, ["logits"], {"w": random((3, 4))}), made)
    return made


def test_a_folder_is_that_of_the_command_line(path: Path, tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("a\nb\nc\nd\n")
    report = tmp_path / "report.html"
    given = {"image": "imagenet"}
    manifest = build_bundle(
        path,
        "wasm",
        out=tmp_path / "own",
        pictures=given,
        answers=["classify,top=2"],
        labels=tmp_path / "labels.txt",
        page_memory=2**26,
        packaging=Packaging("npm", base_url="https://cdn.example.com/net/"),
        report=report,
        golden=False,
    )
    options = ["--targets", "wasm", "--picture", "image=imagenet", "--answer", "classify,top=2"]
    options += ["--labels", tmp_path / "labels.txt", "--page-memory", "64MiB"]
    options += ["--golden", "off", "--canaries", "on"]
    run(path, "--out", tmp_path / "said", *options, "--format", "npm", "--base-url", "https://cdn.example.com/net")
    assert contents(tmp_path / "own") == contents(tmp_path / "said")
    assert json.loads((tmp_path / "own" / "package.json").read_text())["name"] == "net"
    assert {file.name for file in manifest.files} <= {p.name for p in (tmp_path / "own").iterdir()}
    assert report.read_text().startswith("<!doctype html>")

    with pytest.raises(InputError, match="already holds a bundle"):
        build_bundle(path, "wasm", out=tmp_path / "own")
    build_bundle(path, "wasm", out=tmp_path / "own", packaging=Packaging(single_file=True), force=True)
    assert sorted(p.name for p in (tmp_path / "own").iterdir()) == [
        "index.html",
        "model.d.ts",
        "model.js",
        "package.json",
    ]


def test_mistakes(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(InputError, match="are for a folder: give out=, too"):
        build_bundle(path, "wasm", packaging=Packaging("iife"))
    with pytest.raises(InputError, match=r"give the file of a page, such as 'report\.html'"):
        build_bundle(path, "wasm", out=out, report=tmp_path / "report.json")
    with pytest.raises(InputError, match="give the address of a folder"):
        build_bundle(path, "wasm", out=out, packaging=Packaging(base_url="https://cdn.example.com/net"))
    with pytest.raises(InputError, match="--page-memory"):
        build_bundle(path, "wasm", out=out, page_memory=1000)
    assert not out.exists()
