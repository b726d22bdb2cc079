"""The verifier proves that every access of every kernel of the operator table stays in its buffer."""

from __future__ import annotations

import pytest
from effort import PROVED_ROWS, effort_of, every_nth_row
from op_table import Case, all_cases, feeds, make_model
from webnn_compile.costs import CPU_COSTS
from webnn_compile.driver.options import graph_passes
from webnn_compile.frontends.model_inputs import ModelInputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.glsl.backend import WebGl
from webnn_compile.gpu.lower_for_device import choice_for
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.verify import verify_kernel
from webnn_compile.native.jit import host_target
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.schedule.schedule_cpu import schedule_cpu
from webnn_compile.schedule.schedule_simt import schedule_simt
from webnn_compile.target import CPU_LAYOUTS, WASM_PLAIN, WASM_RELAXED, WEBGPU
from webnn_compile.tensor.choose_tile import choose_tile
from webnn_compile.wgsl.backend import WebGpu

FAMILIES = 16
"""Rows are checked in so many groups: a test for each row would be thousands more."""


def verify(case: Case) -> int:
    """The number of kernels."""
    shapes = {name: a.shape for name, a in feeds(case).items()}
    graph = run_graph_passes(import_model(make_model(case), ModelInputs(shapes)), graph_passes())
    on_cpu = lower_model(graph, choose=choose_tile(CPU_COSTS), policy=CPU_LAYOUTS)
    on_gpu = lower_model(graph, choose=choice_for(WebGpu()), policy=WebGpu().layouts)
    for kernel in lower_model(graph, choose=choice_for(WebGl()), policy=WebGl().layouts).kernels:
        verify_kernel(kernel, "build_kernel")  # scheduled, it reads texels, beyond which a fetch is defined
    for kernel in on_cpu.kernels:
        verify_kernel(kernel, "build_kernel")
        for target in (WASM_PLAIN, WASM_RELAXED, host_target()):
            verify_kernel(schedule_cpu(kernel, target), "schedule_cpu")
    for kernel in on_gpu.kernels:
        verify_kernel(kernel, "build_kernel")
        verify_kernel(schedule_simt(kernel, WEBGPU), "schedule_simt")
    return len(on_cpu.kernels) + len(on_gpu.kernels)


@pytest.mark.parametrize("family", range(FAMILIES))
def test_every_access_is_proved(family: int, request: pytest.FixtureRequest) -> None:
    every = PROVED_ROWS[effort_of(request.config)]
    cases = [case for case in all_cases() if every_nth_row(f"proved {case.id}", every)]
    assert sum(verify(case) for case in cases[family::FAMILIES]) > 0
