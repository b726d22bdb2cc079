"""The wasm module's own profile: a time for each step, and the same results as a run."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_models import model, node, random
from webnn_compile.codegen.render_host import STEPS
from webnn_compile.cpu.compile_for_cpu import compile_for_cpu
from webnn_compile.execution.wasm_model import WasmModel
from webnn_compile.frontends.onnx import import_model
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.program.program import read_tensor
from webnn_compile.target import WASM_RELAXED
from webnn_compile.wasm.build_module import build_module


@pytest.mark.parametrize("steps", [3, STEPS + 3])
def test_a_time_for_each_step(steps: int) -> None:
    """More steps than one function holds are profiled in several."""
    nodes = [node("MatMul", [f"v{n}" if n else "x", "w"], [f"v{n + 1}"]) for n in range(steps)]
    graph = import_model(model(nodes, {"x": [4, 4]}, [f"v{steps}"], {"w": random((4, 4)) * 0.5}))
    program = compile_for_cpu(lower_model(graph), WASM_RELAXED)
    assert len(program.steps) == steps
    compiled = WasmModel(program, build_module(program, relaxed=True), relaxed=True)
    x = {"x": random((4, 4), 1)}
    expected = compiled.run(x)[f"v{steps}"]
    compiled._instance.memory[compiled._arena :] = 0xFF
    times = compiled.profile(x)
    assert len(times) == steps
    assert all(t >= 0 for t in times)
    found = read_tensor(compiled._instance.memory[compiled._arena :], program.outputs[0])
    np.testing.assert_array_equal(found, expected)
