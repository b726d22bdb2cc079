"""The stages that `--dump` can name are those that an observer sees, for every target."""

from __future__ import annotations

import re

import pytest
from onnx_models import model, node, random
from webnn_compile.cpu.compile_for_cpu import compile_for_cpu
from webnn_compile.driver.targets import TARGETS, bundled_targets
from webnn_compile.frontends.onnx import import_model
from webnn_compile.glsl.backend import WebGl
from webnn_compile.glsl.compose import compose
from webnn_compile.gpu.compile_for_device import compile_for_device
from webnn_compile.gpu.plan_for_device import plan_for_device
from webnn_compile.ir.nodes import Kernel
from webnn_compile.pipeline.dump import Dump
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.pipeline.tensor_passes import STAGES
from webnn_compile.pipeline.weights import Weights
from webnn_compile.target import WASM_RELAXED
from webnn_compile.wgsl.backend import WebGpu

PROTO = model(
    [node("Conv", ["x", "w"], ["c"]), node("Softmax", ["c"], ["s"]), node("ReduceSum", ["s"], ["y"], keepdims=0)],
    {"x": [1, 3, 20, 20]},
    ["y"],
    {"w": random((4, 3, 3, 3))},
)


@pytest.mark.parametrize("target", bundled_targets())
def test_every_stage_is_seen(target: str) -> None:
    stages = TARGETS[target].stages()
    seen: list[str] = []
    texts: list[object] = []

    def observe(stage: str, made: object) -> None:
        seen.append(stage)
        if not isinstance(made, Kernel):
            texts.append(made)

    graph = import_model(PROTO)
    if target == "wasm":
        lowered = lower_model(graph)
        program = compile_for_cpu(lowered, WASM_RELAXED, observe)
        assert len(program.kernels) > 1
        assert [*dict.fromkeys(seen), "llvm"] == list(stages)
        return
    backend = WebGpu(observe=observe) if target == "webgpu" else WebGl(observe=observe)
    lowered = lower_model(graph, policy=backend.layouts)
    made = compile_for_device(lowered, plan_for_device(lowered, backend, Weights()))
    assert set(seen) == set(stages)
    first = [s for s in dict.fromkeys(seen) if s != "reduce_by_subgroups"]
    assert first == [s for s in stages if s != "reduce_by_subgroups"]
    shipped = {k.source if k.declarations is None else compose(k) for k in made.kernels}
    assert shipped <= {re.sub(r"^// .*\n", "", str(text), flags=re.MULTILINE) for text in texts}


def test_every_pass_over_tensors_is_seen_and_printed() -> None:
    seen: list[str] = []
    shown: dict[str, str] = {}

    def observe(stage: str, made: object) -> None:
        seen.append(stage)
        Dump(stage, lambda text: shown.update({stage: text}))(stage, made)

    lower_model(import_model(PROTO), observe, choose=lambda *_: [(2, 2)])
    assert [*dict.fromkeys(seen)] == [*STAGES, "build_kernel"]
    assert "x_channels_last[i0<1, i1<3, i2<20, i3<20]: float32 = x[i0, i1, i2, i3]  stored" in shown["add_relayouts"]
    assert ".windows[" not in shown["add_relayouts"]
    assert ".windows[" in shown["use_winograd"]
    assert "  output y = ReduceSum_2\n" in shown["split_reads"]
    assert "order=[0, 2, 3, 1]" not in shown["fuse"]
    assert "order=[0, 2, 3, 1]" in shown["choose_layout"]
    assert "where Softmax_1.max = max[" in shown["find_aliases"]


def test_an_observer_is_no_part_of_what_a_cache_knows_a_backend_by() -> None:
    def observe(_: str, __: object) -> None: ...

    for plain, seen in ((WebGpu(), WebGpu(observe=observe)), (WebGl(), WebGl(observe=observe))):
        assert (repr(plain), plain) == (repr(seen), seen)
