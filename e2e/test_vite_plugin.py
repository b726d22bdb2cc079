"""examples/vite-plugin-webnn-compile: a vite project that imports an ONNX file."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import onnx
import pytest
from compiled import ROOT
from onnx_models import model, node
from playwright.sync_api import Page
from server import serve

PLUGIN = ROOT / "examples" / "vite-plugin-webnn-compile" / "plugin.js"
VITE = ROOT / "node_modules" / ".bin" / "vite"
MAIN = """
import { load } from './models/double.onnx?dim=N=2&targets=wasm';

const model = await load();
const { y } = await model.run({ x: new Float32Array([1, 2, 3, 4]) });
document.title = JSON.stringify([...y]);
"""


def save(path: Path, factor: float) -> None:
    path.parent.mkdir(exist_ok=True)
    proto = model([node("Mul", ["x", "w"], ["y"])], {"x": ["N", 2]}, ["y"], {"w": np.float32(factor).reshape(1)})
    onnx.save(proto, path)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    if not VITE.exists() or shutil.which("node") is None:
        message = "no vite: run `npm install` in the repository (needs Node.js 20.19 or later)"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    save(tmp_path / "models" / "double.onnx", 2)
    (tmp_path / "main.js").write_text(MAIN)
    (tmp_path / "index.html").write_text(
        '<!DOCTYPE html><title>_</title><script type="module" src="./main.js"></script>'
    )
    configure(tmp_path)
    return tmp_path


def configure(project: Path, command: list[str] | None = None) -> None:
    settings = json.dumps({"command": command or [sys.executable, "-m", "webnn_compile"]})
    (project / "vite.config.mjs").write_text(
        f"import webnnCompile from {json.dumps(str(PLUGIN))};\n"
        f"export default {{ base: './', plugins: [webnnCompile({settings})] }};\n"
    )


def build(project: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([VITE, "build"], cwd=project, capture_output=True, text=True, timeout=300)


def result(page: Page) -> list[float]:
    page.wait_for_function("document.title.startsWith('[')")
    values: list[float] = page.evaluate("JSON.parse(document.title)")
    return values


def test_build(page: Page, project: Path) -> None:
    done = build(project)
    assert done.returncode == 0, done.stderr
    assert "webnn-compile double.onnx" in done.stdout
    with serve(project / "dist") as site:
        page.goto(site.url)
        assert result(page) == [2, 4, 6, 8]
    again = build(project)
    assert (again.returncode, "webnn-compile double.onnx" in again.stdout) == (0, False)
    save(project / "models" / "double.onnx", 3)
    assert "webnn-compile double.onnx" in build(project).stdout


@contextmanager
def served(project: Path) -> Iterator[str]:
    """The address of vite's own server."""
    command = [VITE, "--port", "0", "--clearScreen", "false"]
    environment = {**os.environ, "NO_COLOR": "1"}
    with subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.search(r"http://localhost:\d+/", line):
                break
        else:
            raise AssertionError("vite did not start")
        try:
            yield found[0]
        finally:
            process.terminate()


def test_the_page_follows_the_model(page: Page, project: Path) -> None:
    with served(project) as address:
        page.goto(address)
        assert result(page) == [2, 4, 6, 8]
        page.evaluate("document.title = '_'")
        save(project / "models" / "double.onnx", 5)
        assert result(page) == [5, 10, 15, 20]
        page.goto("about:blank")


def test_mistakes_are_errors_of_the_build(project: Path) -> None:
    for wrong, expected in (
        ("./models/missing.onnx", "there is no file"),
        ("./models/double.onnx?targets=wasm", "error: double.onnx has inputs with free dimensions"),
        ("./models/double.onnx?dim=N=2&precision=f8", "'f8' is not one of"),
    ):
        (project / "main.js").write_text(MAIN.replace("./models/double.onnx?dim=N=2&targets=wasm", wrong))
        failed = build(project)
        assert failed.returncode == 1
        assert expected in failed.stderr
        assert "schedule" not in failed.stderr  # progress
    configure(project, ["no-such-program"])
    (project / "main.js").write_text(MAIN)
    assert "no-such-program could not be started" in build(project).stderr
