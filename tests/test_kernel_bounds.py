"""The verifier proves that every access of every kernel of the operator table stays in its buffer."""

from __future__ import annotations

import pytest
from op_table import Case, all_cases, feeds, make_model
from webnn_compile.build.options import graph_passes
from webnn_compile.costs import CPU_COSTS
from webnn_compile.device.lower_for_device import choice_for
from webnn_compile.errors import InternalError
from webnn_compile.frontends.model_inputs import ModelInputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.glsl.backend import WebGl
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.layout import CPU_LAYOUTS
from webnn_compile.ir.verify import verify_kernel
from webnn_compile.native.jit import host_target
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.schedule.schedule_cpu import schedule_cpu
from webnn_compile.schedule.schedule_simt import schedule_simt
from webnn_compile.target import WASM_PLAIN, WASM_RELAXED, WEBGPU
from webnn_compile.tensor.choose_tile import choose_tile
from webnn_compile.wgsl.backend import WebGpu

FAMILIES = 16
"""Rows are checked in so many groups: a test for each row would be thousands more."""


UNPROVED = {
    "slice-axes-any-order-of-a-run": "schedule_simt",
    "slice-backward-of-a-run": "schedule_simt",
    "slice-clamped-of-a-run": "schedule_simt",
    "slice-step-of-a-run": "schedule_simt",
    "split-sizes-of-a-run": "schedule_cpu",
    "squeeze-axes-of-a-run": "schedule_simt",
    "unsqueeze-axes-of-a-run": "schedule_simt",
    "unsqueeze-many-axes-of-a-run": "schedule_simt",
}
"""Rows whose naive kernels are proved, and after this pass no longer: one loop over several sizes that a run computes,
any of which may be zero, is divided by them again. No iteration runs then, which the proof of an access does not
know."""


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
def test_every_access_is_proved(family: int) -> None:
    cases = all_cases()[family::FAMILIES]
    assert sum(verify(case) for case in cases if case.id not in UNPROVED) > 0


@pytest.mark.parametrize("row", UNPROVED)
def test_what_is_not_proved_yet(row: str) -> None:
    (case,) = (c for c in all_cases() if c.id == row)
    with pytest.raises(InternalError, match=f"after {UNPROVED[row]}: .* an index may leave"):
        verify(case)
