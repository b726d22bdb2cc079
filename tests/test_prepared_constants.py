"""Constants that grow are computed at load, right on every target; files have what they are computed from."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
import webnn_compile
from click.testing import CliRunner
from drivers import need_driver
from onnx_models import assert_close, model, node, onnxruntime_results, random
from prepared_models import (
    FILTERS,
    MATRIX,
    MODELS,
    WEIGHTS,
    convolution,
    feeds_of,
    products,
)
from webnn_compile.cli.command import main
from webnn_compile.driver.targets import TARGETS
from webnn_compile.execution.aligned_bytes import aligned_bytes
from webnn_compile.execution.device_model import DeviceModel
from webnn_compile.execution.native_model import NativeModel
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.lower_graph import lower_graph
from webnn_compile.graph.passes import run_graph_passes

IN_REGISTERS = {"blocks", "branches", "codebook", "floats", "int4-blocks", "products"}
"""Models whose constants products on devices widen, each time."""


def shipped(made: webnn_compile.NativeModel | DeviceModel) -> int:
    """Bytes of the constants that a program comes with."""
    if isinstance(made, DeviceModel):
        return sum({c.offset: c.bytes for c in made.program.constants}.values())
    return len(made.program.weights)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", MODELS)
def test_what_is_shipped_and_results(name: str, target: str) -> None:
    need_driver(target)
    build, least = MODELS[name]
    proto = build()
    made = webnn_compile.compile(proto, target=target)
    assert least <= shipped(made) < least + 2048
    assert bool(made.program.prepare) == (not isinstance(made, DeviceModel) or name not in IN_REGISTERS)
    feeds = feeds_of(proto)
    want = onnxruntime_results(proto, feeds)
    for _ in range(2):  # a run leaves what was computed at load as it is
        assert_close(made.run(feeds), want)


@pytest.mark.parametrize("name", MODELS)
def test_results_do_not_depend_on_what_memory_had_before(name: str) -> None:
    """A library's caller may hand in any."""
    proto = MODELS[name][0]()
    compiled = webnn_compile.compile(proto)
    assert isinstance(compiled, NativeModel)
    program = compiled.program
    weights = aligned_bytes(len(program.weights) + program.prepared)
    weights[:] = 0x55
    weights[: len(program.weights)] = np.frombuffer(program.weights, np.uint8)
    compiled.use_memory(weights, compiled.arena)
    feeds = feeds_of(proto)
    assert_close(compiled.run(feeds), onnxruntime_results(proto, feeds))


@pytest.mark.parametrize("target", TARGETS)
def test_float16(target: str) -> None:
    """Both halves that the model computes with, and those of --precision f16."""
    need_driver(target, "shader-f16")
    for proto, precision in ((convolution(np.float16), "f32"), (convolution(), "f16")):
        made = webnn_compile.compile(proto, target=target, precision=precision)
        assert shipped(made) < WEIGHTS.nbytes + 2048
        feeds = feeds_of(proto)
        assert_close(made.run(feeds), onnxruntime_results(proto, feeds), 2e-2)


def test_a_run_computes_none_of_them() -> None:
    program = webnn_compile.compile(products()).program
    assert {op for s in program.prepare for op in s.ops} == {"DequantizeLinear", "Transpose", "Layout"}
    assert [op for s in program.launches for op in s.ops] == ["MatMul", "MatMul", "Gemm"]


def test_a_chain_is_one_kernel_that_stores_its_end_alone() -> None:
    nodes = [
        node("DequantizeLinear", ["w", "s"], ["d"]),
        node("Mul", ["d", "s"], ["m"]),
        node("Transpose", ["m"], ["t"], perm=[1, 0]),
        node("MatMul", ["x", "t"], ["y"]),
    ]
    proto = model(nodes, {"x": [1, 192]}, ["y"], {"w": MATRIX, "s": np.asarray(0.1, np.float32)})
    program = webnn_compile.compile(proto).program
    (launch,) = program.prepare
    assert launch.ops == ("DequantizeLinear", "Mul", "Transpose")
    assert program.prepared < MATRIX.size * 4 * 2  # columns fill up panels, as wide as the processor has registers for


@pytest.mark.parametrize("op", ["Sin", "Sqrt"])
def test_functions_are_folded(op: str) -> None:
    """Devices round them otherwise; so what they are computed from is not shipped."""
    nodes = [
        node("DequantizeLinear", ["w", "s"], ["d"]),
        node(op, ["d"], ["f"]),
        node("MatMul", ["x", "f"], ["y"]),
    ]
    proto = model(nodes, {"x": [1, 96]}, ["y"], {"w": MATRIX, "s": np.asarray(0.1, np.float32)})
    program = webnn_compile.compile(proto).program
    assert len(program.weights) >= MATRIX.size * 4
    assert "DequantizeLinear" not in {op for s in program.prepare for op in s.ops}


def test_small_constants_and_integers_are_folded() -> None:
    """Constants of few bytes, or as many as before; integers, which may be positions."""
    few = {"w": MATRIX[:16, :16], "s": np.asarray(0.1, np.float32), "v": random((96, 16)), "i": np.arange(3000)}
    nodes = [
        node("DequantizeLinear", ["w", "s"], ["d"]),
        node("Neg", ["v"], ["n"]),
        node("MatMul", ["x", "n"], ["a"]),
        node("MatMul", ["a", "d"], ["y"]),
        node("Tile", ["i", "two"], ["z"]),
        node("Gather", ["y", "z"], ["g"], axis=1),
    ]
    few |= {"two": np.asarray([2]), "i": np.arange(3000) % 16}
    graph = run_graph_passes(import_model(model(nodes, {"x": [1, 96]}, ["g"], few)))
    assert not any(t.prepared for t in lower_graph(graph).tensors)


def test_a_batch_norm_is_folded_into_them() -> None:
    """By their elements, which are known; the result is another constant."""
    proto = convolution()
    parameters = ("scale", "bias", "mean", "variance")
    proto.graph.node.append(node("BatchNormalization", ["y", *parameters], ["r"]))
    proto.graph.output[0].name = "r"
    for name in parameters:
        proto.graph.initializer.append(onnx.numpy_helper.from_array(random((FILTERS,), 3) ** 2 + 1, name))
    made = webnn_compile.compile(proto)
    assert "BatchNormalization" not in {op for s in made.program.launches for op in s.ops}
    assert_close(made.run(feeds_of(proto)), onnxruntime_results(proto, feeds_of(proto)), 1e-4)


def test_the_report_names_them(tmp_path: Path) -> None:
    """At both optimisation levels; and every target's results are compared."""
    onnx.save(convolution(), tmp_path / "m.onnx")
    for level in ("0", "2"):
        report = tmp_path / f"{level}.json"
        out = tmp_path / f"out{level}"
        options = ["--opt-level", level, "--targets", "wasm,webgpu", "--verify", "--report", str(report)]
        result = CliRunner().invoke(main, [str(tmp_path / "m.onnx"), "--out", str(out), *options])
        assert result.exit_code == 0, result.output
        assert "dequantize (DequantizeLinear)" in " ".join(result.output.split())
        data = json.loads(report.read_text())
        assert data["bytes"]["weights"] < WEIGHTS.nbytes + 2048
        for target in ("wasm", "webgpu"):
            (dequantized,) = [p for p in data["targets"][target]["prepared"] if "DequantizeLinear" in p["operators"]]
            assert dequantized["nodes"] == ["dequantize"]
            assert dequantized["bytes"] >= WEIGHTS.size * 4
