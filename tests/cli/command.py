"""The command line as the tests call it, and a small model for it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from click.testing import CliRunner, Result
from onnx_models import model, node, random
from webnn_compile.cli.command import main

PROGRAM = Path(sys.executable).with_name("webnn-compile")
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "digits" / "resnet18_digits.onnx"


def network() -> onnx.ModelProto:
    nodes = [
        node("Conv", ["x", "k"], ["c"], "conv", pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c", "scale", "b", "b", "scale"], ["n"], "norm"),
        node("Relu", ["n"], ["r"], "relu"),
        node("GlobalAveragePool", ["r"], ["p"], "pool"),
        node("Flatten", ["p"], ["f"], "flatten"),
        node("Gemm", ["f", "g"], ["logits"], "dense"),
        node("Softmax", ["logits"], ["probabilities"], "softmax"),
    ]
    weights = {"k": random((8, 3, 3, 3)), "scale": np.abs(random((8,), 1)), "b": random((8,), 2), "g": random((8, 5))}
    return model(nodes, {"x": ["batch", 3, 8, 8]}, ["probabilities", "r"], weights)


def heed_interrupts() -> None:
    """For a process that is interrupted: where a shell runs the tests in the background, it would ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def printed_until(process: subprocess.Popen[str], words: str) -> str:
    """The output of a program, to the line with the words."""
    assert process.stdout is not None
    text = ""
    while words not in text:
        line = process.stdout.readline()
        assert line, text
        text += line
    return text


SHAPE = ("--shape", "x=1x3x8x8")


def run(*arguments: str | Path, env: Mapping[str, str | None] | None = None) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments], env=env)


def refused(result: Result, message: str, exit_code: int = 2) -> None:
    assert result.exit_code == exit_code, result.output
    assert "Traceback" not in result.output
    assert re.search(message, result.output, re.DOTALL), result.output


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir())}
