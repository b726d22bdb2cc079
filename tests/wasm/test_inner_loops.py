"""LLVM's code for the loops that matter: browsers run them as they are, so they must have no needless instruction."""

from __future__ import annotations

import pytest
from constructs import CONSTRUCTS, render
from onnx_models import model, node
from webnn_compile.cpu.compile_for_cpu import compile_for_cpu
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.target import WASM_RELAXED
from webnn_compile.wasm.build_module import render_module
from webnn_compile.wasm.emit import emit_assembly
from webnn_compile.wasm.triple import HEADER

Line = tuple[str, str]
"""An instruction and its operands."""


def assembly(llvm_ir: str) -> list[Line]:
    text = emit_assembly(llvm_ir.replace("define internal", "define"), relaxed=True)
    return [line.strip().partition("\t")[::2] for line in text.splitlines() if line.startswith("\t")]


def innermost_loops(lines: list[Line]) -> list[list[Line]]:
    found, start = [], -1
    for i, (name, _) in enumerate(lines):
        if name == "loop":
            start = i
        elif name == "end_loop" and start >= 0:
            found.append(lines[start:i])
            start = -1
    return found


def inner_loop() -> list[Line]:
    """Two rows, one vector of columns, two steps in an iteration."""
    return innermost_loops(assembly(HEADER + render(CONSTRUCTS["steps_in_order"]())))[0]


def test_no_step_begins_before_the_last_is_done() -> None:
    steps: list[list[str]] = [[]]
    for name, _ in inner_loop():
        if name == "#APP":
            steps.append([])
        steps[-1].append(name)
    done = [s.count("f32x4.relaxed_madd") for s in steps]
    assert [n for n in done if n] == [2, 2]
    assert steps[0].count("v128.load32_splat") == 2
    assert steps[0].count("v128.load") == 1


def test_single_elements_of_another_step_are_read_at_no_other_offsets() -> None:
    """V8 takes one more instruction for each constant that is added to the address of such a load."""
    offsets = [at.partition(":")[0] for name, at in inner_loop() if name == "v128.load32_splat"]
    assert offsets == ["0", "24", "0", "24"]


@pytest.mark.parametrize("op", ["Erf", "Sigmoid", "Tanh"])
def test_coefficients_are_not_loaded_anew_in_each_iteration(op: str) -> None:
    lowered = lower_model(run_graph_passes(import_model(model([node(op, ["x"], ["y"])], {"x": [4000]}, ["y"]))))
    loops = innermost_loops(assembly(render_module(compile_for_cpu(lowered, WASM_RELAXED))))
    (heavy,) = [x for x in loops if sum(name == "f32x4.relaxed_madd" for name, _ in x) > 4]
    # A sign bit and what is added to an exponent are integers.
    assert sum(name == "v128.const" for name, _ in heavy) <= 2
