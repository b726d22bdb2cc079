"""No function of a module is so large that a browser compiles it late or badly."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
import webnn_compile
from onnx_models import Array, model, node, onnxruntime_results, random
from random_models import random_model
from webnn_compile.costs import CPU_COSTS
from webnn_compile.cpu.compile_for_cpu import compile_for_cpu
from webnn_compile.frontends.model_inputs import ModelInputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.target import WASM_PLAIN, WASM_RELAXED, Target
from webnn_compile.tensor.choose_tile import choose_tile
from webnn_compile.wasm import binary
from webnn_compile.wasm.build_module import build_module

SHARED = Path(os.environ.get("WEBNN_SHARED", Path(__file__).resolve().parents[3] / "shared"))
LARGEST = 64 * 1024

Shapes = dict[str, tuple[int, ...]]
SHAPES: dict[str, Shapes] = {
    "resnet18_imagenet": {"input": (1, 3, 224, 224)},
    "squeezenet1.0_imagenet": {"data": (1, 3, 227, 227)},
}


def function_sizes(proto: onnx.ModelProto | Path, target: Target, shapes: Shapes | None = None) -> list[int]:
    """Bytes of code of each function, in the order of the module."""
    lowered = lower_model(
        run_graph_passes(import_model(proto, ModelInputs(shapes or {}))), choose=choose_tile(CPU_COSTS)
    )
    module = build_module(compile_for_cpu(lowered, target), relaxed=target.fused).module
    (code,) = [s.body for s in binary.sections(module, "module") if s.number == binary.CODE]
    reader = binary.Reader(code, "code")
    return [len(reader.take(reader.uleb())) for _ in range(reader.uleb())]


def long_chain(length: int) -> onnx.ModelProto:
    """Steps that share no kernel's launch: sums over ever another axis."""
    nodes = [node("Softmax", [f"t{i}"], [f"t{i + 1}"], axis=i % 2) for i in range(length)]
    return model(nodes, {"t0": [3, 4]}, [f"t{length}"])


@pytest.mark.parametrize("target", [WASM_PLAIN, WASM_RELAXED])
@pytest.mark.parametrize("name", ["resnet18_imagenet", "squeezenet1.0_imagenet", "ultraface_rfb320"])
def test_networks(name: str, target: Target) -> None:
    file = SHARED / "models" / f"{name}.onnx"
    if not file.exists():
        pytest.skip(f"there is no {file} (WEBNN_SHARED may name another folder)")
    assert max(function_sizes(file, target, SHAPES.get(name, {}))) < LARGEST


@pytest.mark.parametrize("seed", range(8))
def test_random_models(seed: int) -> None:
    assert max(function_sizes(random_model(seed), WASM_RELAXED)) < LARGEST


def test_a_long_program_is_cut_and_runs_in_order() -> None:
    proto = long_chain(700)
    assert max(function_sizes(proto, WASM_PLAIN)) < LARGEST // 4
    feeds: dict[str, Array] = {"t0": random((3, 4))}
    got = webnn_compile.compile(proto, "wasm").run(feeds)
    want = onnxruntime_results(proto, feeds)
    assert all(np.allclose(got[name], want[name], atol=1e-5) for name in want)
