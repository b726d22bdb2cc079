"""Every kernel of the operator table and of the constructs is WGSL that Tint accepts, within the default limits."""

from __future__ import annotations

import pytest
from device_constructs import DEVICE_CONSTRUCTS
from effort import TINT_ROWS, effort_of, every_nth_row
from op_table import all_cases, feeds, make_model
from tint import assert_valid, complaints
from webnn_compile.frontends.model_inputs import ModelInputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.gpu.compile_for_device import compile_for_device
from webnn_compile.gpu.plan_for_device import plan_for_device
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.pipeline.weights import Weights
from webnn_compile.simt.lower import SUBGROUP_PASSES, TREE_PASSES, lower
from webnn_compile.wgsl import WebGpu, render


def test_kernels_of_the_operator_table(request: pytest.FixtureRequest) -> None:
    backend = WebGpu()
    sources: set[str] = set()
    every = TINT_ROWS[effort_of(request.config)]
    for case in all_cases():
        if not every_nth_row(case.id, every):
            continue
        shapes = {name: a.shape for name, a in feeds(case).items()}
        lowered = lower_model(
            run_graph_passes(import_model(make_model(case), ModelInputs(shapes))), policy=backend.layouts
        )
        for kernel in compile_for_device(lowered, plan_for_device(lowered, backend, Weights())).kernels:
            sources |= {kernel.source, kernel.with_subgroups or kernel.source}
    assert len(sources) > 1000 // every
    assert sum("subgroupAdd" in s for s in sources) > 12 // every
    assert_valid(sorted(sources))


def test_constructs() -> None:
    kernels = [make() for make in DEVICE_CONSTRUCTS.values()]
    assert_valid([render(lower(k, passes)) for k in kernels for passes in (TREE_PASSES, SUBGROUP_PASSES)])


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("@compute @workgroup_size(64) fn main() { let x: f32 = 1u; }", "cannot initialize"),
        ("@compute @workgroup_size(512) fn main() {}", "workgroup"),
    ],
)
def test_tint_refuses_what_is_wrong(source: str, complaint: str) -> None:
    (said,) = complaints([source])
    assert said is not None
    assert complaint in said
