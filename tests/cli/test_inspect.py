"""`webnn-compile FILE --inspect`: what is in the file of a model, of any format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result
from onnx_models import model, node, random
from webnn_compile.cli import main


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments], catch_exceptions=False)


def lines(result: Result) -> list[str]:
    return [" ".join(line.split()) for line in result.output.splitlines()]


def test_of_onnx(tmp_path: Path) -> None:
    nodes = [node("MatMul", ["x", "w"], ["m"]), node("Relu", ["m"], ["r"]), node("Nothing", ["r"], ["y"])]
    weights = {"w": random((3, 4)), "unread": np.zeros(300, np.int8)}
    proto = model(nodes, {"x": ["batch", 3]}, ["y"], weights)
    proto.producer_name = "exporter"
    path = tmp_path / "net.onnx"
    onnx.save(proto, path)
    result = run(path, "--inspect")
    assert result.exit_code == 0
    found = lines(result)
    assert found[0] == f"net.onnx: ONNX, {path.stat().st_size} bytes"
    assert f"Written by exporter, opset {proto.opset_import[0].version}" in found
    assert "Weights 300 bytes of int8, 48 bytes of float32" in found
    assert "Input x: float32[batch, 3]" in found
    assert "Free sizes batch: --dim batch=1 fixes it, --dim batch=1..8 leaves it to each run" in found
    assert found[found.index("operator nodes targets") + 1 :] == [
        "MatMul 1 all",
        "Relu 1 all",
        "Nothing 1 not supported",
    ]
    assert [p.name for p in tmp_path.iterdir()] == ["net.onnx"]


def test_free_sizes_are_named(tmp_path: Path) -> None:
    """Each as an option that can be copied."""
    proto = model([node("Relu", ["x"], ["y"])], {"x": ["N", "side length", 3]}, ["y"])
    onnx.save(proto, tmp_path / "net.onnx")
    result = run(tmp_path / "net.onnx", "--inspect")
    assert "Free sizes N, side length: --dim N=1 --dim 'side length=1' fix them, --dim N=1..8 leaves one" in " ".join(
        lines(result)
    )


def test_of_tflite(tmp_path: Path) -> None:
    tflite_models = pytest.importorskip("tflite_models")
    writer = tflite_models.Writer()
    x = writer.input("x", "float32", (1, 3), signature=(-1, 3))
    weights = writer.tensor("w", "float16", (4, 3), random((4, 3)).astype("float16"))
    wide, y = writer.tensor("wide", "float32", (4, 3)), writer.tensor("y", "float32", (1, 4), signature=(-1, 4))
    writer.operator("DEQUANTIZE", [weights], [wide])
    writer.operator("FULLY_CONNECTED", [x, wide, -1], [y], "FullyConnectedOptions")
    writer.operator("MyOwn", [y], [writer.tensor("z", "float32", (1, 4))])
    writer.output(y)
    path = tmp_path / "net.tflite"
    path.write_bytes(writer.bytes())
    found = lines(run("--inspect", path))
    assert found[0].startswith("net.tflite: TFLite, ")
    assert "Weights 24 bytes of float16" in found
    assert "Input x: float32[x_0, 3]" in found
    assert "Output y: float32[?, 4]" in found
    assert found[found.index("operator nodes targets") + 1 :] == [
        "DEQUANTIZE 1 all",
        "FULLY_CONNECTED 1 all",
        "MyOwn 1 not supported",
    ]


def test_of_what_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("just some words")
    result = run(path, "--inspect")
    assert result.exit_code == 2
    assert "notes.txt is not an ONNX, TFLite, Keras, " in result.output
    assert run("--inspect").exit_code == 2
