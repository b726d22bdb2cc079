"""The wheel is whole: from an empty virtual environment, in another folder, it compiles the example.

The environment is made, and a page that classifies, by the lines of the quick start (docs/index.md), which
README.md has in short.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import onnx
import pytest
from cli.command import printed_until
from documentation import Block, blocks
from documented_models import classifier
from made_once import made_once
from PIL import Image
from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parent.parent
MODEL = ROOT / "examples" / "digits" / "resnet18_digits.onnx"


def of_this_file(page: Path) -> list[Block]:
    """The blocks of code that these tests run."""
    return [block for block in blocks(page) if block.mark == "run by e2e/test_wheel.py"]


INSTALL, COMPILE, INDEX, SERVE = (block.text for block in of_this_file(ROOT / "docs" / "index.md"))


def call(*command: str | Path, cwd: Path) -> str:
    """The output of a program. `python3` is the one that runs the tests."""
    path = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    words = [str(part) for part in command]
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, env=os.environ | path)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the wheel, and a virtual environment that has it and what it depends on, nothing else."""
    return made_once(tmp_path_factory, "wheel", install)


def install(folder: Path) -> None:
    """Builds from a copy: what earlier builds left in the working tree must not find its way in."""
    source = folder / "source"
    for name in ("compiler", "rpc", "runtime-js"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    call(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ".", cwd=source)
    call("bash", "-ec", INSTALL, cwd=folder)


@pytest.fixture
def wheel(folder: Path) -> Path:
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture
def environment(folder: Path) -> Path:
    """The folder of the environment's programs."""
    return folder / "webnn-env" / "bin"


def test_wheel_holds_one_package_and_the_runtime(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"webnn_compile"}
    sources = [
        file for file in (ROOT / "compiler").rglob("*.*") if "__pycache__" not in file.parts and file.suffix != ".md"
    ]
    python = {file.relative_to(ROOT / "compiler").as_posix() for file in sources}
    assert "library/library.hpp" in python
    runtime = [
        file for file in (ROOT / "runtime-js").rglob("*.*") if "__pycache__" not in file.parts and file.suffix != ".md"
    ]
    scripts = {f"runtime_js/{file.relative_to(ROOT / 'runtime-js').as_posix()}" for file in runtime}
    assert "runtime_js/load/load.js" in scripts
    own = {file.relative_to(ROOT).as_posix() for file in (ROOT / "rpc").rglob("*.*") if "__pycache__" not in file.parts}
    broker = {name for name in own if not name.endswith(".md")}
    assert "rpc/device_page/device.js" in broker
    assert {
        "compile_page/pack.mjs",
        "compile_page/web/compiler.js",
        "compile_page/web/index.html",
        "compile_page/web/icon.svg",
        "compile_page/pyodide-lock.json",
        "compile_page/licences/MPL-2.0.txt",
    } <= python
    assert {f"webnn_compile/{name}" for name in python | scripts | broker} <= set(names)


def test_installed_wheel_compiles_the_example(environment: Path, tmp_path: Path) -> None:
    where = call(environment / "python", "-c", "import webnn_compile; print(webnn_compile.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(environment.parent)
    call(environment / "webnn-compile", MODEL, "--out", "bundle", cwd=tmp_path)
    names = {file.name for file in (tmp_path / "bundle").iterdir()}
    assert {"model.js", "model.d.ts", "index.html"} <= names
    assert {Path(name).suffix for name in names} >= {".wasm", ".bin", ".js"}


def test_quick_start(environment: Path, tmp_path: Path, page: Page) -> None:
    """A page says in a browser what a picture shows."""
    onnx.save(classifier("input", "output"), tmp_path / "classifier.onnx")
    (tmp_path / "labels.txt").write_text("red\ngreen\nblue\n")
    call("bash", "-ec", f". {environment}/activate\n{COMPILE}", cwd=tmp_path)
    (tmp_path / "site" / "index.html").write_text(INDEX)
    Image.new("RGB", (300, 240), "blue").save(tmp_path / "site" / "picture.jpg")
    command = ["bash", "-ec", f". {environment}/activate\nexec {SERVE.strip()} --port 0"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = re.search(r"http://\S+", printed_until(server, "http://"))
            assert address is not None
            page.goto(address[0])
            page.wait_for_selector("output:not(:empty)")
            assert page.inner_text("output").startswith("blue (9")
            page.goto("about:blank")
        finally:
            server.kill()


def test_the_readme_installs_as_the_quick_start_does() -> None:
    (install,) = of_this_file(ROOT / "README.md")
    assert install.text.partition("#")[0].strip() in INSTALL


def test_commands_without_their_extra_say_what_to_install(environment: Path, tmp_path: Path) -> None:
    assert "webnn-compile model.onnx" in call(environment / "webnn-tune", "--help", cwd=tmp_path)
    for command in (["webnn-tune", MODEL, "--target", "native"], ["webnn-rpc", "devices"]):
        done = subprocess.run([environment / command[0], *command[1:]], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 2
        assert "pip install 'webnn-compile[tune]'" in done.stderr
        assert "Traceback" not in done.stderr


def test_nothing_is_installed_under_the_names_of_the_folders(environment: Path, tmp_path: Path) -> None:
    find = "import importlib.util as u; print([n for n in ('compiler', 'rpc', 'runtime_js') if u.find_spec(n)])"
    assert call(environment / "python", "-c", find, cwd=tmp_path).strip() == "[]"
