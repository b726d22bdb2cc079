"""Where llvmlite is not installed: what needs no LLVM is made, and for the rest a message says what is missing."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from cli.command import EXAMPLE, contents, run

SHADERS = ("--host", "js", "--targets", "webgpu,webgl")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All that is installed here but llvmlite."""
    folder = tmp_path_factory.mktemp("packages")
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not path.name.startswith("llvmlite"):
            (folder / path.name).symlink_to(path)
    return folder


def python(packages: Path, code: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Python with these packages alone."""
    begin = f"import site; site.addsitedir({str(packages)!r}); "
    command = [sys.executable, "-I", "-S", "-c", begin + code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def compile_without(packages: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return python(packages, "from webnn_compile.cli import main; main()", *arguments)


def test_llvmlite_is_missing(packages: Path) -> None:
    assert "No module named 'llvmlite'" in python(packages, "import llvmlite").stderr


def test_a_bundle_for_gpus_is_the_same(packages: Path, tmp_path: Path) -> None:
    ended = compile_without(packages, EXAMPLE, "--out", tmp_path / "without", *SHADERS)
    assert ended.returncode == 0, ended.stderr
    assert run(EXAMPLE, "--out", tmp_path / "with", *SHADERS).exit_code == 0
    assert contents(tmp_path / "without") == contents(tmp_path / "with")


def test_weights_in_few_bits_are_judged_by_themselves(packages: Path, tmp_path: Path) -> None:
    options = ("--weights", "int4", *SHADERS)
    ended = compile_without(packages, EXAMPLE, "--out", tmp_path / "out", *options)
    assert ended.returncode == 0, ended.stderr
    text = " ".join(ended.stdout.split())
    assert "int4:block=32 weights; weights" in text
    assert "errors are those of the weights alone: without LLVM the model does not run here" in text


def test_c_for_another_processor_is_made(packages: Path, tmp_path: Path) -> None:
    ended = compile_without(packages, EXAMPLE, "--out", tmp_path / "c", "--targets", "c")
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((), "WebAssembly"),
        (("--targets", "webgpu"), "WebAssembly"),
        ((*SHADERS, "--verify"), "--verify"),
        ((*SHADERS, "--precision", "f16-fast"), "--precision f16-fast, which measures errors,"),
        ((*SHADERS, "--weights", "int8", "--calibrate", "."), "quantising by calibration data"),
        (("--targets", "native"), "--targets native"),
        (("--targets", "c", "--cpu", "host"), "code for a processor"),
    ],
)
def test_what_needs_llvm_says_so(packages: Path, tmp_path: Path, arguments: tuple[str, ...], what: str) -> None:
    ended = compile_without(packages, EXAMPLE, "--out", tmp_path / "out", *arguments)
    assert ended.returncode == 2
    (message,) = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
    assert message == (
        f"error: {what} needs LLVM, and the package llvmlite is not installed: pip install llvmlite; bundles for GPUs "
        "alone do without it: --host js --targets webgpu,webgl"
    )
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "out").exists()


def test_the_table_of_targets_says_so(packages: Path) -> None:
    ended = compile_without(packages, "--list-targets")
    assert ended.returncode == 0, ended.stderr
    assert "llvmlite" in ended.stdout


def test_python_says_so(packages: Path) -> None:
    code = "import sys, webnn_compile; webnn_compile.compile(sys.argv[1])"
    assert "InputError: code for a processor needs LLVM" in python(packages, code, EXAMPLE).stderr
