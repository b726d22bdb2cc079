"""The data that a page shows of a build: kernels, work, memory and reasons."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import control_flow
import numpy as np
import pytest
from onnx_models import model, node, random
from report.built import PEAK, described, two_layers
from webnn_compile.driver.profiles import StepTime
from webnn_compile.errors import InputError
from webnn_compile.frontends.model_inputs import Dim, ModelInputs
from webnn_compile.report.page_data import Block, Memory, Peak
from webnn_compile.report.render_page import render_page
from webnn_compile.text.size import size


@pytest.mark.parametrize("target", ["wasm", "webgpu", "webgl", "c", "native"])
def test_each_kernel_is_there_once_with_its_work(target: str, tmp_path: Path) -> None:
    (shown,) = described(two_layers(), tmp_path, [target]).targets
    assert shown.name == target
    launched = [k for k in shown.kernels if k.steps]
    assert sorted(n for k in launched for n in k.steps) == list(range(len(shown.steps)))
    products = [k for k in launched if k.form == "contraction"]
    assert len(products) == (2 if target == "webgl" else 1), "inputs are in other textures than results"
    first, second = sorted(n for k in products for n in k.steps)
    assert [shown.steps[n].nodes for n in (first, second)] == [("first", "first_relu"), ("second", "second_relu")]
    assert [shown.steps[n].ops for n in (first, second)] == [("MatMul", "Relu")] * 2
    for product in products:
        assert product.operations == 8 * (8 * 2) + 8, "multiplications, additions, and the maximum of each element"
        assert product.bytes == 4 * (8 + 64 + 8)
    assert all(k.source for k in shown.kernels)
    assert shown.operations == sum((k.operations or 0) * len(k.steps) for k in launched)
    softmax = shown.steps[-1]
    assert softmax.ops == ("Softmax",)
    assert softmax.before
    assert softmax.result == "float32[1, 8]"
    assert shown.steps[second].before == (first,)


def test_sources_are_those_of_the_target(tmp_path: Path) -> None:
    marks = {"wasm": "define ", "webgpu": "@compute", "webgl": "#version 300 es"}
    shown = {t.name: t for t in described(two_layers(), tmp_path, marks).targets}
    assert {name: t.language for name, t in shown.items()} == {"wasm": "llvm", "webgpu": "wgsl", "webgl": "glsl"}
    for name, mark in marks.items():
        assert all(mark in k.source for k in shown[name].kernels)


def test_decisions_of_schedules_are_listed(tmp_path: Path) -> None:
    wide = model([node("MatMul", ["x", "w"], ["y"])], {"x": [64, 64]}, ["y"], {"w": random((64, 64))})
    for target in described(wide, tmp_path, ["wasm", "webgpu", "webgl"]).targets:
        decided = [d for k in target.kernels if k.steps for d in k.decisions]
        assert decided, target.name
        assert all(d.options > 1 and d.chosen for d in decided)


def test_the_graph_before_fusion(tmp_path: Path) -> None:
    page = described(two_layers(), tmp_path, ["wasm"])
    assert [(n.name, n.op, n.before) for n in page.nodes] == [
        ("first", "MatMul", ()),
        ("first_relu", "Relu", (0,)),
        ("same", "Identity", (1,)),
        ("second", "MatMul", (2,)),
        ("second_relu", "Relu", (3,)),
        ("softmax", "Softmax", (4,)),
    ]
    assert [n.name for n in page.nodes if not n.kept] == ["same"]
    assert page.optimised == 5


@pytest.mark.parametrize("target", ["wasm", "webgpu"])
def test_memory_is_that_of_the_plan(target: str, tmp_path: Path) -> None:
    """Blocks that are live at the same time lie apart, inside of the total."""
    (shown,) = described(two_layers(), tmp_path, [target]).targets
    memory = shown.memory
    assert list(memory.labels) == [s.name for s in shown.steps]
    assert max(b.at + b.bytes for b in memory.blocks) == memory.total
    for step in range(len(memory.labels)):
        held = sorted(memory.at(step), key=lambda b: b.at)
        assert held
        for below, above in pairwise(held):
            assert below.at + below.bytes <= above.at
    assert all(0 <= b.first <= b.last < len(memory.labels) for b in memory.blocks)
    assert dict(memory.fixed)["weights" if target == "wasm" else "constants"] >= 2 * 4 * 64


@pytest.mark.parametrize("target", ["wasm", "webgpu"])
def test_states_are_beside_the_memory_of_a_run(target: str, tmp_path: Path) -> None:
    """Counted once, though a run reads and writes them: four rows of capacity and one more, a state of fixed size."""
    nodes = [
        node("Concat", ["past_0", "x"], ["present_0"], axis=0),
        node("ReduceSum", ["present_0"], ["s"], keepdims=0),
        node("Add", ["past_1", "s"], ["present_1"]),
        node("Neg", ["present_1"], ["y"]),
    ]
    proto = model(nodes, {"x": [1, 64], "past_0": ["P", 64], "past_1": [64]}, ["y", "present_0", "present_1"])
    page = described(proto, tmp_path, [target], inputs=ModelInputs(dims={"P": Dim(0, 4)}))
    memory = page.targets[0].memory
    assert memory.states == 4 * (5 * 64 + 64)
    assert max(b.at + b.bytes for b in memory.blocks) <= memory.total < memory.states
    assert not {"past_0", "past_1", "present_0", "present_1"} & {b.name for b in memory.blocks}
    assert f"What runs leave for the next takes {size(memory.states)} a session." in render_page(page)


def test_the_peak_is_the_step_of_most_bytes() -> None:
    blocks = (Block("a", 64, 0, 0, 1), Block("b", 128, 64, 1, 2), Block("c", 64, 0, 2, 3))
    memory = Memory(192, ("s", "t", "u", "v"), blocks, ())
    assert memory.live == (64, 192, 192, 64)
    assert memory.peak == 1
    assert [b.name for b in memory.at(1)] == ["b", "a"]


@pytest.mark.parametrize("make", [control_flow.loop_while, control_flow.branch])
@pytest.mark.parametrize("target", ["wasm", "webgpu"])
def test_loops_and_branches(make: object, target: str, tmp_path: Path) -> None:
    page = described(make(), tmp_path, [target], inputs=ModelInputs(dims={"rows": Dim(1, 4)}))  # type: ignore[operator]
    (shown,) = page.targets
    marks = {"loop begins", "loop ends", "branch"} & set(shown.memory.labels)
    assert marks == ({"branch"} if make is control_flow.branch else {"loop begins", "loop ends"})
    assert len(shown.memory.labels) > len(shown.steps)
    assert f'id="{target}"' in render_page(page)


def test_what_runs_on_the_host_and_why(tmp_path: Path) -> None:
    nodes = [
        node("MatMul", ["x", "w"], ["m"], "product"),
        node("Cast", ["m"], ["d"], "wide", to=11),
        node("Erf", ["d"], ["e"], "erf"),
        node("Cast", ["e"], ["y"], "narrow", to=1),
    ]
    wide = model(nodes, {"x": [3, 40]}, ["y"], {"w": random((40, 7), 1)})
    (shown,) = described(wide, tmp_path, ["webgpu"]).targets
    (on_host,) = [s for s in shown.steps if s.kernel is None]
    assert "float64" in on_host.host
    assert "erf" in on_host.nodes
    (note,) = [n for n in shown.notes if n.why == on_host.host]
    assert note.where == "on the processor, in WebAssembly"
    assert dict(shown.memory.fixed)["the host's values"] > 0


def test_layers_by_winograd_have_a_reason(tmp_path: Path) -> None:
    conv = node("Conv", ["x", "w"], ["y"], "conv", pads=[1] * 4)
    proto = model([conv], {"x": [1, 64, 28, 28]}, ["y"], {"w": random((64, 64, 3, 3))})
    (shown,) = described(proto, tmp_path, ["wasm"]).targets
    (note,) = [n for n in shown.notes if n.where.startswith("winograd = (")]
    assert note.what == ("conv",)
    assert note.why == "preferred by the cost model"
    assert [p.name for p in shown.prepared] == ["conv (WinogradWeights)"]


@pytest.mark.parametrize("target", ["wasm", "webgpu", "webgl"])
def test_transforms_count_what_their_schedule_leaves(target: str, tmp_path: Path) -> None:
    """Windows and results of 6 x 6 take at most 12 products with a matrix, of 6 elements each, of less than 4 entries
    besides 0; between these are 36 products of matrices. Both matrices at once would take twice as many operations."""
    names = ["x", "a", "b", "c", "y"]
    nodes = [node("Conv", [x, "w"], [y], pads=[1] * 4) for x, y in pairwise(names)]
    proto = model(nodes, {"x": [1, 64, 56, 56]}, ["y"], {"w": random((64, 64, 3, 3))})
    (shown,) = described(proto, tmp_path, [target]).targets
    assert any("transform" in form for s in shown.steps for form in s.forms)
    tiles = 4 * 14 * 14
    products = tiles * 36 * 64 * 64 * 2
    assert products < shown.operations < 1.1 * products + 2 * tiles * 64 * 12 * 6 * 7


def test_peaks_are_measured_for_processors_and_given_for_others(tmp_path: Path) -> None:
    peaks = {"webgl": (500.0, 25.0)}
    shown = {t.name: t for t in described(two_layers(), tmp_path, ["wasm", "webgpu", "webgl"], peaks=peaks).targets}
    assert {name: t.peak for name, t in shown.items()} == {"wasm": PEAK, "webgpu": None, "webgl": Peak(500, 25)}
    assert Peak(500, 25).ridge == 20
    assert Peak(500, 25).least_ms(10**9, 10**6) == pytest.approx(2.0)
    assert Peak(500, 25).least_ms(10**6, 10**9) == pytest.approx(40.0)


def test_times_of_a_profile(tmp_path: Path) -> None:
    (plain,) = described(two_layers(), tmp_path, ["webgpu"]).targets
    times = tuple(StepTime(s.name, s.nodes, 0.5 * (n + 1)) for n, s in enumerate(plain.steps))
    (tmp_path / "again").mkdir()
    (shown,) = described(two_layers(), tmp_path / "again", ["webgpu"], profiles={"webgpu": times}).targets
    assert [s.ms for s in shown.steps] == [t.ms for t in times]
    product = next(k for k in shown.kernels if len(k.steps) == 2)
    assert shown.kernel_ms(product) == sum(times[n].ms for n in product.steps)
    assert shown.ms == sum(t.ms for t in times)
    assert plain.ms is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p[:-1], r"it has \d steps, the model as compiled here \d"),
        (lambda p: (StepTime("other", None, 1.0), *p[1:]), "step 0 is other there, .* as compiled here"),
        (lambda p: (StepTime(p[0].name, ("x",), 1.0), *p[1:]), "step 0 is"),
    ],
)
def test_a_profile_of_another_build_is_refused_before_anything_is_written(
    change: object, message: str, tmp_path: Path
) -> None:
    (plain,) = described(two_layers(), tmp_path, ["webgpu"]).targets
    times = tuple(StepTime(s.name, s.nodes, 1.0) for s in plain.steps)
    again = tmp_path / "again"
    again.mkdir()
    with pytest.raises(InputError, match=message):
        described(two_layers(), again, ["webgpu"], profiles={"webgpu": change(times)})  # type: ignore[operator]
    assert [p.name for p in again.iterdir()] == ["model.onnx"]


def test_half_precision_has_its_reasons(tmp_path: Path) -> None:
    proto = model([node("MatMul", ["x", "w"], ["y"])], {"x": [64, 64]}, ["y"], {"w": random((64, 64))})
    (shown,) = described(proto, tmp_path, ["webgpu"], precision="f16").targets
    assert any(n.where == "stored as float16" for n in shown.notes)
    assert np.isfinite(shown.operations)
