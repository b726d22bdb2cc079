"""Helpers of the tests of the compiler in a page: sites with it, and the command line's output for the same model."""

from __future__ import annotations

import re
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from click.testing import CliRunner
from compile_page import built_page
from compiled import PAGES
from devices import DEVICES, has_backend
from documentation import documented_policy
from playwright.sync_api import Page
from server import ISOLATION, Site
from webnn_compile.cli.command import main

SHADERS = ("--host", "js", "--targets", "webgpu,webgl")
CSP = f"default-src 'self'; {documented_policy('compile-page.md', 'the-compiler-in-a-page')}"
"""Models are loaded from addresses of files in the page's memory."""
HEADERS = {**ISOLATION, "Content-Security-Policy": CSP}


def module_site(folders: pytest.TempPathFactory) -> Path:
    """The pages of these tests, with the compiler below compile/. Skips where it cannot be built."""
    folder = folders.mktemp("compile")
    shutil.copytree(PAGES, folder, dirs_exist_ok=True)
    shutil.copytree(built_page(folders), folder / "compile")
    return folder


def open_compiler_page(page: Page, site: Site) -> Page:
    """A page with the compiler, which the tests of a module share: it takes seconds to start."""
    if not page.url.startswith(site.url) or not page.evaluate("() => globalThis.openCompiler !== undefined"):
        page.goto(f"{site.url}compile.html")
        page.wait_for_selector("html[data-ready]", state="attached")
    return page


def command_line(model: Path, out: Path, *options: str | Path) -> dict[str, str]:
    """The hashes of the bundle's files, by name."""
    ended = CliRunner().invoke(main, [str(a) for a in (model, "--out", out, *SHADERS, *options)])
    assert ended.exit_code == 0, ended.output
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in out.iterdir()}


def command_error(model: Path, out: Path, *options: str) -> str:
    """The message with which the command line refuses the model."""
    ended = CliRunner().invoke(main, [str(a) for a in (model, "--out", out, *SHADERS, *options)])
    assert ended.exit_code == 2, ended.output
    return re.split("[Ee]rror: ", ended.output, maxsplit=1)[1].strip()


def choose(page: Page, *files: Path) -> None:
    page.set_input_files("#files", [str(f) for f in files])


def compile_chosen(page: Page, options: dict[str, Any] | None = None, then: str = "made.files.size") -> Any:
    """The value of `then` for the compiled model `made`; the outcome where that fails."""
    script = f"""async (options) => outcome((async () => {{
      globalThis.compiler ??= await openCompiler();
      const made = await compiler.compile(chosen(), options);
      return await ({then});
    }})())"""
    return page.evaluate(script, options or {})


def backends_of(page: Page) -> list[str]:
    found = [b for b in DEVICES if has_backend(page, b)]
    assert found, "this browser has neither WebGPU nor WebGL"
    return found


def reference_of(model: Path, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """By onnxruntime, the outputs by name."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options)
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, inputs), strict=True))


def inputs_of(model: Path, shapes: dict[str, list[int]]) -> dict[str, np.ndarray]:
    """Random images, by the names of the model's inputs."""
    generator = np.random.default_rng(7)
    graph = onnx.load(model, load_external_data=False).graph
    weights = {t.name for t in graph.initializer}
    found = {}
    for value in (v for v in graph.input if v.name not in weights):
        shape = shapes.get(value.name) or [d.dim_value for d in value.type.tensor_type.shape.dim]
        found[value.name] = generator.random(shape, np.float32)
    return found
