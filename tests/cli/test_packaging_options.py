"""Forms of a bundle by the command line."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from cli.command import SHAPE, contents, network, refused, run


@pytest.fixture
def model(tmp_path: Path) -> Path:
    proto = network()
    onnx.helper.set_model_props(proto, {"License": "CC-BY-4.0"})
    onnx.save(proto, tmp_path / "my net.onnx")
    return tmp_path / "my net.onnx"


def test_a_package_has_the_licence_of_the_model(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "package"
    done = run(model, "--out", out, *SHAPE, "--targets", "wasm", "--format", "npm")
    assert done.exit_code == 0, done.output
    package = json.loads((out / "package.json").read_text())
    assert (package["name"], package["license"]) == ("my-net", "CC-BY-4.0")
    assert "  x: new Float32Array(192), // float32, shape [1, 3, 8, 8]" in (out / "README.md").read_text()


def test_a_script_has_the_name_of_the_file_or_another(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "script"
    given = (model, "--out", out, *SHAPE, "--targets", "wasm", "--format", "iife")
    assert run(*given).exit_code == 0
    assert b"\nvar my_net = (() => {\n" in contents(out)["model.js"]
    assert run(*given, "--force", "--global-name", "net").exit_code == 0
    assert b"\nvar net = (() => {\n" in contents(out)["model.js"]


def test_a_single_file(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "single"
    done = run(model, "--out", out, *SHAPE, "--targets", "wasm", "--single-file")
    assert done.exit_code == 0, done.output
    said = f"Try it: open {out}/index.html; it and model.js each have the whole model: keep the one you need\n"
    assert done.stdout.endswith(said)
    assert set(contents(out)) == {"model.js", "model.d.ts", "package.json", "index.html"}
    card = (out / "index.html").read_text()
    assert '<tr><th scope="row">Licence</th><td>CC-BY-4.0</td></tr>' in card
    assert '<tr><th scope="row">Operators</th><td>' in card
    assert b"CC-BY" not in contents(out)["model.js"]


def test_an_address_ends_with_a_slash_and_codings_stand_once(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "split"
    options = ("--base-url", "https://cdn.example.com/net", "--compress", "gz, gz")
    assert run(model, "--out", out, *SHAPE, "--targets", "wasm", *options).exit_code == 0
    assert b'url: "https://cdn.example.com/net/weights-' in contents(out)["model.js"]
    assert "model.js.gz" in contents(out)


@pytest.mark.parametrize("options", [("--format", "iife"), ("--single-file",)])
def test_forms_are_of_bundles(model: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    out = tmp_path / "out"
    refused(run(model, "--out", out, *SHAPE, "--targets", "c", *options), f"{' '.join(options)} is for bundles")
    assert not out.exists()
