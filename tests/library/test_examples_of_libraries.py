"""examples/library: the programs in C, C++, Java and Python read the example's digits; so does code for Arm."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from arm_programs import CC, RUN, need_arm
from cli.command import EXAMPLE, run

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples" / "library"
DIGITS = (3, 7)


def make(folder: Path, *options: str) -> None:
    """The library and the images beside the programs, as their comments have it."""
    shutil.copytree(EXAMPLES, folder, dirs_exist_ok=True)
    assert run(EXAMPLE, "--out", folder / "lib", *options).exit_code == 0
    samples = json.loads((ROOT / "examples" / "digits" / "samples.json").read_text())["samples"]
    for digit in DIGITS:
        pixels = next(s["pixels"] for s in samples if s["label"] == digit)
        (np.array(pixels, np.float32) / np.float32(255)).tofile(folder / f"{digit}.f32")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    made = tmp_path_factory.mktemp("library")
    make(made, "--targets", "native")
    return made


def commands(file: Path) -> list[list[str]]:
    """The commands in a program's first comment."""
    head = file.read_text().replace("\\\n", " ").split("\n\n")[:3]
    lines = [line.strip(" */") for block in head for line in block.splitlines()]
    programs = ("cc ", "c++ ", "javac ", "./", "java ", "python ")
    return [line.replace(" * ", " ").split() for line in lines if line.startswith(programs)]


def call(command: list[str], folder: Path, **environment: str) -> str:
    environment = dict(os.environ) | environment
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check(folder: Path, build: list[list[str]], start: list[str]) -> None:
    for command in build:
        call(command, folder)
    for digit in DIGITS:
        assert call([w.replace("image.f32", f"{digit}.f32") for w in start if w != "..."], folder) == f"{digit}\n"


@pytest.mark.parametrize("file", ["classify.c", "classify.cpp"])
def test_c_and_cpp(folder: Path, file: str) -> None:
    build, start = commands(folder / file)
    check(folder, [[*build, "-Wall", "-Wextra", "-Werror"]], start)
    if file == "classify.cpp":
        assert call([*start[:-2], "3.f32", "7.f32", "3.f32"], folder) == "3\n7\n3\n"
        wrong = subprocess.run([start[0], "lib/libresnet18_digits.so", "3.f32"], cwd=folder, capture_output=True)
        assert (wrong.returncode, wrong.stderr[:34]) == (1, b"these are not the weights of resne")


def test_python(folder: Path) -> None:
    """By an interpreter that sees no installed package."""
    (start,) = commands(folder / "classify.py")
    check(folder, [], [sys.executable, "-I", "-S", *start[1:]])


def test_java(folder: Path) -> None:
    compiler = shutil.which("javac")
    if compiler is None:
        pytest.skip("javac is not installed")
    home = str(Path(compiler).resolve().parent.parent)
    header, glue, start = ([w.replace("$JAVA_HOME", home) for w in c] for c in commands(folder / "Classify.java"))
    check(folder, [header, [*glue, "-Wall", "-Wextra", "-Werror"]], start)
    wrong = subprocess.run([*start[:-2], "3.f32", "3.f32"], cwd=folder, capture_output=True, text=True)
    assert wrong.returncode == 1
    assert "IllegalStateException: these are not the weights of resnet18_digits" in wrong.stderr


@pytest.mark.parametrize("target", ["native", "c"])
def test_arm(target: str, tmp_path: Path) -> None:
    """The library, or the source as one, linked by Zig; a program that loads it runs in an emulator."""
    need_arm()
    make(tmp_path, "--targets", target, "--cpu", "aarch64")
    build, start = commands(tmp_path / "classify.c")
    steps = [[*CC, *build[1:]]]
    if target == "c":
        sources = ["resnet18_digits.c", "resnet18_digits_library.c"]
        shared = [*CC, "-O2", "-shared", "-fPIC", *(f"lib/{s}" for s in sources), "-lm"]
        steps.insert(0, [*shared, "-o", "lib/libresnet18_digits.so"])
    check(tmp_path, steps, [*RUN, *start])
