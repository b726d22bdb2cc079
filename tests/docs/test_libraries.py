"""The blocks of docs/libraries.md: programs in C++ with a library, and the library that a command makes of C source."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
import webnn_compile
from cli.command import run
from documentation import ROOT, blocks
from documented_models import encoder
from windowed_decoder import SMALL

MARKED = [b for b in blocks(ROOT / "docs" / "libraries.md") if b.mark.endswith("tests/docs/test_libraries.py")]
TO_LIBRARY, WITH_DIGITS, WITH_ENCODER, WITH_DECODER, TO_SOURCE, TO_SHARED = (block.text for block in MARKED)
GIVEN = """
  static float image[32 * 32], logits[64 * 37], hidden[512 * 384];
  static std::int64_t ids[512], mask[512];
"""

pytestmark = pytest.mark.skipif(not all(map(shutil.which, ("cc", "c++"))), reason="no compiler of C and C++ is here")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the commands run."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compile_model(command: Sequence[str]) -> None:
    done = run(*command[1:])
    assert done.exit_code == 0, done.output


def run_program(text: str, name: str) -> None:
    """Compiles it as the body of `main`, with the arrays that it takes, and runs it."""
    Path("main.cpp").write_text(f'#include "lib/{name}.hpp"\n#include <cstdint>\nint main() {{{GIVEN}{text}}}\n')
    link = [f"lib/lib{name}.so", "-Wl,-rpath,lib"]
    subprocess.run(["c++", "-std=c++17", "-O0", "main.cpp", *link, "-o", "main"], check=True)
    subprocess.run(["./main"], check=True)


def test_a_program_in_cpp(folder: Path) -> None:
    compile_model(shlex.split(TO_LIBRARY))
    include, _, text = WITH_DIGITS.partition("\n")
    assert include == '#include "resnet18_digits.hpp"'
    run_program(text, "resnet18_digits")


def test_a_program_with_sizes_that_vary(folder: Path) -> None:
    onnx.save(encoder(("batch", "sequence_length")), folder / "encoder.onnx")
    options = WITH_ENCODER.partition("written with ")[2].partition("\n")[0].split()
    compile_model(["webnn-compile", "encoder.onnx", "--out", "lib", "--targets", "native", *options])
    before = 'const webnn::encoder::Model model("lib/encoder.weights");\n'
    after = "return context.output_shape(0) == decltype(context.output_shape(0)){1, 12, 384} ? 0 : 1;\n"
    run_program(before + WITH_ENCODER + after, "encoder")


def test_a_program_with_states(folder: Path) -> None:
    onnx.save(SMALL, folder / "decoder.onnx")
    options = WITH_DECODER.partition("written with ")[2].partition("\n")[0].split()
    compile_model(["webnn-compile", "decoder.onnx", "--out", "lib", "--targets", "native", *options])
    before = 'const webnn::decoder::Model model("lib/decoder.weights");\nwebnn::decoder::Context context(model);\n'
    run_program(before + WITH_DECODER + "return state.position() == 2 && fork.position() == 0 ? 0 : 1;\n", "decoder")


def test_a_library_of_c_source(folder: Path) -> None:
    compile_model(shlex.split(TO_SOURCE))
    command = TO_SHARED.replace("-O3", "-O0").split()
    subprocess.run([os.environ.get("CC", "cc"), *command[1:]], cwd=folder / "source", check=True)
    outputs = webnn_compile.load(folder / "source").run({"image": np.zeros((1, 1, 32, 32), np.float32)})
    assert outputs["logits"].shape == (1, 10)
