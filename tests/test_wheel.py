"""The wheel is whole: from an empty virtual environment, in another folder, it compiles the example."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MODEL = ROOT / "examples" / "digits" / "resnet18_digits.onnx"


def call(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: what earlier builds left in the working tree must not find its way in."""
    source = tmp_path_factory.mktemp("source")
    for name in ("compiler", "rpc", "runtime-js"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    call(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", source / "dist", ".", cwd=source)
    (built,) = (source / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of a virtual environment that has the wheel and what it depends on, nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    call(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    programs = folder / "venv" / "bin"
    call(programs / "python", "-m", "pip", "install", "--quiet", wheel, cwd=folder)
    return programs


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
        "compile_page/NOTICE.txt",
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
