"""`webnn-compile FILE --inspect`: what is in the file of a model, of any format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result
from hostile_models import folded, unrolled
from onnx_models import model, node, random
from tflite_models import file_of
from tflite_rows import ROWS
from webnn_compile.cli import inspect_model, main


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


def test_free_sizes_without_names(tmp_path: Path) -> None:
    """An option for each input that has some, beside those for names."""
    proto = model([node("Relu", ["x"], ["y"])], {"x": ["?", 3, "N"], "z": [None]}, ["y"])
    onnx.save(proto, tmp_path / "net.onnx")
    found = " ".join(lines(run(tmp_path / "net.onnx", "--inspect")))
    assert "leaves it to each run; those without a name: --shape 'x=?x3xN' --shape 'z=?', with a number" in found


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


def facts(result: Result, name: str) -> str:
    """The words of the facts of this name, of which lines may follow that name nothing."""
    assert result.exit_code == 0, result.output
    head = result.output.split("\n\n")[0].splitlines()
    found, inside = [], False
    for line in head[1:]:
        begins = not line.startswith(" ")
        inside = line.startswith(f"{name} ") if begins else inside
        if inside:
            found.append(line.removeprefix(name).strip())
    return " ".join(found)


@pytest.mark.parametrize(
    ("nodes", "weights", "line"),
    [
        (
            [
                node("QuantizeLinear", ["x", "s", "z"], ["q"]),
                node("DequantizeLinear", ["q", "s", "z"], ["d"]),
                node("DequantizeLinear", ["w", "t"], ["e"], axis=1),
                node("MatMul", ["d", "e"], ["y"]),
            ],
            {"s": np.float32(0.1), "z": np.int8(3), "w": np.ones((4, 6), np.int8), "t": random((6,))},
            "weights: int8, per channel; activations: int8, per tensor, static",
        ),
        (
            [node("DequantizeLinear", ["w", "s"], ["e"]), node("MatMul", ["x", "e"], ["y"])],
            {"s": np.float32(0.1), "w": np.ones((4, 6), np.uint8)},
            "weights alone: uint8, per tensor",
        ),
        (
            [
                node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
                node("MatMulInteger", ["q", "w", "z"], ["i"]),
                node("Cast", ["i"], ["f"], to=1),
                node("Mul", ["f", "s"], ["y"]),
            ],
            {"w": np.ones((4, 6), np.int8)},
            "weights: int8; activations: uint8, per tensor, dynamic",
        ),
        (
            [node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=4, N=6, bits=4, block_size=16)],
            {"w": np.ones((6, 1, 8), np.uint8), "s": random((6,))},
            "weights alone: 4 bits, in blocks of 16",
        ),
        (
            [node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=4, N=6, bits=4)],
            {"w": np.ones((6, 1, 8), np.uint8), "s": random((6,))},
            "weights alone: 4 bits",
        ),
        ([node("MatMul", ["x", "w"], ["y"])], {"w": random((4, 6))}, ""),
    ],
    ids=["static", "weights", "dynamic", "blocks", "no-blocks", "none"],
)
def test_quantisation(nodes: list[onnx.NodeProto], weights: dict[str, np.ndarray], line: str, tmp_path: Path) -> None:
    own = [onnx.helper.make_opsetid("com.microsoft", 1)]
    onnx.save(model(nodes, {"x": [2, 4]}, ["y"], weights, imports=own), tmp_path / "net.onnx")
    assert facts(run(tmp_path / "net.onnx", "--inspect"), "Quantised") == line


def test_what_gpus_leave_to_webassembly(tmp_path: Path) -> None:
    """As a build decides it: by types of elements, which free sizes may change."""
    nodes = [node("Cast", ["x"], ["d"], "widen", to=onnx.TensorProto.DOUBLE), node("Exp", ["d"], ["e"], "exponent")]
    nodes += [node("Cast", ["e"], ["f"], "narrow", to=onnx.TensorProto.FLOAT), node("MatMul", ["f", "w"], ["y"])]
    proto = model(nodes, {"x": ["n", 40]}, ["y"], {"w": random((40, 600))})
    onnx.save(proto, tmp_path / "net.onnx")
    unknown = run(tmp_path / "net.onnx", "--inspect")
    assert facts(unknown, "On GPUs") == "what they leave to WebAssembly depends on sizes: give them beside --inspect"
    known = run(tmp_path / "net.onnx", "--inspect", "--dim", "n=5")
    text = facts(known, "On GPUs")
    assert text.startswith(
        "in WebAssembly for webgpu, webgl: widen, exponent, narrow (Cast, Exp, Cast): it computes in"
    )
    table = lines(known)[lines(known).index("operator nodes targets") + 1 :]
    assert table == [
        "Cast 2 all; on GPUs partly in WebAssembly",
        "Exp 1 all; on GPUs partly in WebAssembly",
        "MatMul 1 all",
    ]


def test_a_model_that_is_refused(tmp_path: Path) -> None:
    proto = model([node("MatMul", ["x", "w"], ["y"], "dense")], {"x": [2, 3]}, ["y"], {"w": random((4, 5))})
    onnx.save(proto, tmp_path / "net.onnx")
    assert "node name: dense" in facts(run(tmp_path / "net.onnx", "--inspect"), "Refused")


def test_a_refusal_of_several_lines(tmp_path: Path) -> None:
    own = [onnx.helper.make_opsetid("com.microsoft", 1)]
    nodes = [node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=4, N=6, bits=4)]
    weights = {"w": np.ones((6, 1, 8), np.uint8), "s": random((6,))}
    onnx.save(model(nodes, {"x": [2, 4]}, ["y"], weights, imports=own), tmp_path / "net.onnx")
    found = lines(run(tmp_path / "net.onnx", "--inspect"))
    at = found.index("Refused net.onnx (opset 17) needs what is not supported, 1 in all:")
    assert found[at + 1].startswith("com.microsoft.MatMulNBits (node 'MatMulNBits_0'): attribute block_size=0")
    assert "Replace or remove these in the model, or export it in another way." in found[at + 2 :]


def test_limits(tmp_path: Path) -> None:
    """As those of a build."""
    path = tmp_path / "net.onnx"
    onnx.save(unrolled(), path)
    result = run(path, "--inspect", "--max-seconds", 1)
    assert result.exit_code == 2
    assert "--max-seconds 1: compiling took longer; it was at inspect" in result.output
    onnx.save(folded(), path)
    refused = facts(run(path, "--inspect", "--compile-memory", "1MiB"), "Refused")
    assert "and --compile-memory allows 1 MiB" in refused


def test_what_takes_long_is_not_determined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a limit of the user's the look at GPUs has one, and the rest is shown."""
    monkeypatch.setattr(inspect_model, "LOOK", 0.5)
    onnx.save(unrolled(), tmp_path / "net.onnx")
    result = run(tmp_path / "net.onnx", "--inspect")
    assert facts(result, "On GPUs") == (
        "what they leave to WebAssembly was not determined in 0.5 s: --max-seconds allows more"
    )
    assert "Sin 1 all" in lines(result)


@pytest.mark.parametrize("kind", ["RNN", "SVDF"])
def test_states_of_tflite(kind: str, tmp_path: Path) -> None:
    """States that layers of one step keep in variables of the file are named."""
    row = next(row for row in ROWS if row.kind == kind)
    (tmp_path / "net.tflite").write_bytes(file_of(row))
    found = facts(run(tmp_path / "net.tflite", "--inspect"), "States")
    assert found.startswith("past.operand_4=present.operand_4: kept between runs")


def test_of_tensorflow(tmp_path: Path) -> None:
    from tensorflow_models import dense

    result = run(dense(tmp_path / "net"), "--inspect", "--dim", "x_0=2")
    found = lines(result)
    assert found[0].startswith("net: TensorFlow, ")
    assert "Written by TensorFlow 2.21.0" in found
    assert "Input x: float32[x_0, 3]" in found
    assert sorted(found[found.index("operator nodes targets") + 1 :]) == ["AddV2 1 all", "MatMul 1 all"]
    assert facts(result, "Quantised") == facts(result, "On GPUs") == ""


def test_of_core_ml(tmp_path: Path) -> None:
    from coreml_models import Program

    program = Program()
    x = program.input("x", "float32", (2, 3))
    weights = program.stored(random((4, 3)).tobytes(), "float32", (4, 3))
    (y,) = program.op("linear", [("float32", (2, 4))], x=x, weight=weights)
    (z,) = program.op("relu", [("float32", (2, 4))], x=y)
    program.output(z)
    found = lines(run(program.package(tmp_path / "net.mlpackage"), "--inspect"))
    assert found[0].startswith("net.mlpackage: Core ML, ")
    assert "Input x: float32[2, 3]" in found
    assert "Weights 48 bytes of float32" in found
    assert {"linear 1 all", "relu 1 all"} <= set(found[found.index("operator nodes targets") + 1 :])


def test_of_pytorch(tmp_path: Path) -> None:
    """A program of torch.export; where PyTorch is missing one error says so."""
    path = tmp_path / "net.pt2"
    try:
        import torch
    except ImportError:
        path.write_bytes(b"PK\x03\x04 rest")
        result = run(path, "--inspect")
        assert result.exit_code == 2
        assert "pip install 'webnn-compile[torch]'" in " ".join(lines(result))
        return
    program = torch.export.export(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU()), (torch.ones(2, 3),))
    torch.export.save(program, path)
    found = lines(run(path, "--inspect"))
    assert found[0].startswith("net.pt2: PyTorch, ")
    assert found[found.index("operator nodes targets") + 1 :] == ["Gemm 1 all", "Relu 1 all"]
