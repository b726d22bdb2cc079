"""If, Loop and Scan on every target, over sizes that vary, against onnxruntime; and what a run waits for."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from control_flow import MODELS, MOST_ROWS, SIZES, WIDTH, feeds, graph, loop_until, results, scalar
from drivers import need_driver
from onnx_models import assert_close, model, node, random
from webnn_compile.errors import InputError, UnsupportedError
from webnn_compile.execution.device_model import DeviceModel
from webnn_compile.program.steps import Branch, Loop

RUNS = ((MOST_ROWS, 0), (1, 1), (5, 2), (13, 5), (MOST_ROWS, 3), (2, 8))
"""Rows and seeds, a long run before a short one: what that leaves in memory must not be read."""


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("target", ["native", "c", "wasm", "opencl", "cuda", "webgpu", "webgl"])
def test_any_size_and_any_way(target: str, name: str) -> None:
    need_driver(target)
    made = MODELS[name]()
    compiled = webnn_compile.compile(made, target, dims=dict(SIZES[name]))
    for rows, seed in RUNS if target in ("native", "wasm") else RUNS[:4]:
        given = feeds(name, rows, seed)
        assert_close(compiled.run(given), results(made, given), 1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_what_a_run_leaves_is_not_read(name: str) -> None:
    """NaN everywhere, at the largest size, before a short run."""
    made = MODELS[name]()
    compiled = webnn_compile.compile(made, dims=dict(SIZES[name]))
    given = feeds(name, 3, 2)
    expected = compiled.run(given)
    poison = feeds(name, MOST_ROWS, 2)
    compiled.run(poison | {"x": np.full_like(poison["x"], np.nan)})
    assert_close(compiled.run(given), expected, 0)


def steps_of(made: onnx.ModelProto, **options: Any) -> list[type]:
    compiled: Any = webnn_compile.compile(made, **options)
    return [type(s) for s in compiled.program.steps]


def test_what_is_known_at_build_is_no_step() -> None:
    """A branch whose condition is constant, and a loop that does nothing."""
    then, other = graph([node("Exp", ["x"], ["e"])], [], ["e"]), graph([node("Neg", ["x"], ["n"])], [], ["n"])
    nodes = [node("If", ["c"], ["y"], then_branch=then, else_branch=other)]
    made = model(nodes, {"x": [3, WIDTH]}, ["y"], {"c": np.array(False)})
    compiled: Any = webnn_compile.compile(made)
    assert not any(isinstance(s, Branch | Loop) for s in compiled.program.steps)
    x = random((3, WIDTH))
    np.testing.assert_array_equal(compiled.run({"x": x})["y"], -x)


def test_a_constant_decides_a_branch_that_an_input_decided() -> None:
    made = MODELS["branch"]()
    sizes = dict(SIZES["branch"])
    assert Branch in steps_of(made, dims=sizes)
    assert Branch not in steps_of(made, dims=sizes, constants={"choose": False})
    fixed = webnn_compile.compile(made, dims=sizes, constants={"choose": True, "deep": False})
    given = feeds("branch", 7)
    expected = results(made, given | {"choose": np.array(True), "deep": np.array(False)})
    assert_close(fixed.run({"x": given["x"]}), expected, 1e-5)


@pytest.mark.parametrize("target", ["opencl", "webgpu", "webgl"])
def test_what_a_run_on_a_gpu_waits_for(target: str) -> None:
    """Nothing, where the host knows how often and which way; the condition, where the device finds out, and how many
    rows there are; on WebGL rows of a number of elements that is no multiple of four are written by the host."""
    need_driver(target)
    for name, waits in (("branch", 0), ("loop_times", 0), ("scan", 0), ("loop_until", 3 if target == "webgl" else 2)):
        compiled = webnn_compile.compile(MODELS[name](), target, dims=dict(SIZES[name]))
        assert isinstance(compiled, DeviceModel)
        assert compiled.program.readbacks == waits, name
    until = loop_until()
    del until.graph.output[1]
    compiled = webnn_compile.compile(until, target, dims=dict(SIZES["loop_until"]))
    assert isinstance(compiled, DeviceModel)
    assert compiled.program.readbacks == 1


@pytest.mark.parametrize("target", ["native", "webgl"])
def test_wrong_sizes_are_refused_before_anything_is_computed(target: str) -> None:
    need_driver(target)
    compiled = webnn_compile.compile(MODELS["loop_times"](), target, dims=dict(SIZES["loop_times"]))
    good = feeds("loop_times", 3)
    before = compiled.run(good)
    for wrong, message in (
        ({"x": random((MOST_ROWS + 1, WIDTH))}, f"makes rows {MOST_ROWS + 1}, and the model was compiled for 1 to "),
        ({"x": random((3, WIDTH + 1))}, "input 'x': expected float32"),
        (
            {"times": np.array(6, np.int64)},
            "the element of input 'times' makes times 6, and the model was compiled for 0",
        ),
    ):
        with pytest.raises(InputError, match=message):
            compiled.run(good | wrong)
    assert_close(compiled.run(good), before, 0)


def test_a_loop_without_iterations_may_change_a_shape() -> None:
    counter, goes_on = scalar("i", onnx.TensorProto.INT64), scalar("go")
    carried = onnx.helper.make_tensor_value_info("s", onnx.TensorProto.FLOAT, None)
    nodes = [node("Concat", ["s", "s"], ["longer"], axis=0), node("Identity", ["go"], ["again"])]
    body = graph(nodes, [counter, goes_on, carried], ["again", "longer"])
    made = model([node("Loop", ["none", "", "x"], ["y"], body=body)], {"x": [3]}, ["y"], {"none": np.array(0)})
    x = random((3,))
    np.testing.assert_array_equal(webnn_compile.compile(made).run({"x": x})["y"], x)


def test_a_number_of_iterations_that_nothing_bounds() -> None:
    with pytest.raises(UnsupportedError, match=r"Loop \(node 'Loop_0'\).*bound it by --dim times=0\.\.MOST"):
        webnn_compile.compile(MODELS["loop_times"](), dims={"rows": (1, 4)})


def test_iterations_are_counted_in_a_profile() -> None:
    """Each launch as often as it ran."""
    need_driver("webgl")
    compiled = webnn_compile.compile(loop_until(), "webgl", dims={"rows": (1, MOST_ROWS)})
    assert isinstance(compiled, DeviceModel)
    times = compiled.profile(feeds("loop_until", 5, 3), 1)
    assert all(ms >= 0 for _, ms in times)
    assert len(times) == len(compiled.program.work)


@pytest.mark.parametrize("target", ["webgl", "opencl"])
def test_no_launch_of_a_gpu_writes_what_it_reads(target: str) -> None:
    """So one that is repeated on the spot, to be timed, computes the same each time."""
    need_driver(target)
    for name in ("loop_until", "branch_of_sizes", "scan"):
        compiled = webnn_compile.compile(MODELS[name](), target, dims=dict(SIZES[name]))
        assert isinstance(compiled, DeviceModel)
        program = compiled.program
        for launch in program.launches:
            storages = [program.values[a].storage for a in launch.arguments]
            params = program.kernels[launch.kernel].params
            written = {s for s, p in zip(storages, params, strict=True) if p.access == "write"}
            assert written
            assert not written & {s for s, p in zip(storages, params, strict=True) if p.access == "read"}, launch.name
