"""Sizes that have kernels of their own, over one copy of the weights: results are those of any other size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import control_flow
import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from fast_products import products, products_with_states
from onnx_models import Array, assert_close, model, node, onnxruntime_results, random
from test_dynamic_sizes import MODELS, feeds_of, open_sizes, parsed, runs
from webnn_compile.errors import InputError
from webnn_compile.execution.device_model import DeviceModel
from webnn_compile.frontends.model_inputs import Dim
from webnn_compile.program.steps import Branch, leaves
from webnn_compile.tensor.steps import BranchStep

TARGETS = ("native", "c", "wasm", "opencl", "cuda", "webgpu", "webgl")


def spread(span: tuple[int, ...], fast: int) -> Dim:
    return Dim(*span, fast=fast)


def largest_of_nan(feeds: Mapping[str, Array]) -> dict[str, Array]:
    return {n: np.full_like(a, np.nan) if a.dtype.kind == "f" else a for n, a in feeds.items()}


@pytest.mark.parametrize("target", TARGETS)
def test_all_sizes_of_products(target: str) -> None:
    """One row, two, odd numbers, the most: each after others, whose values in memory nothing reads."""
    need_driver(target)
    made = products()
    compiled = webnn_compile.compile(made, target, dims={"batch": 1, "n": Dim(1, 9, fast=1), "m": (0, 5)})
    compiled.run(largest_of_nan(feeds_of(made, {"batch": 1, "n": 9, "m": 5})))
    for n, m in ((1, 0), (2, 3), (9, 5), (1, 5), (7, 1), (1, 2)):
        feeds = feeds_of(made, {"batch": 1, "n": n, "m": m})
        assert_close(compiled.run(feeds), onnxruntime_results(made, feeds), 1e-4)


@pytest.mark.parametrize("target", ["native", "webgl"])
@pytest.mark.parametrize("name", MODELS)
def test_each_size_may_be_fast(name: str, target: str) -> None:
    """The least, with which results may have no elements, and the next one."""
    need_driver(target)
    made = parsed(MODELS[name])
    dims = open_sizes(made)
    for size, (least, _, *multiple) in dims.items():
        fast = least if size in ("count", "n") else least + (*multiple, 1)[0]
        compiled = webnn_compile.compile(made, target, dims=dims | {size: spread(dims[size], fast)})
        largest, other, *_ = runs(dims)
        compiled.run(largest_of_nan(feeds_of(made, largest)))
        for sizes in (other, largest | {size: fast}, largest, other | {size: fast}):
            feeds = feeds_of(made, sizes)
            assert_close(compiled.run(feeds), onnxruntime_results(made, feeds))


@pytest.mark.parametrize("target", ["native", "webgpu", "webgl"])
@pytest.mark.parametrize("name", control_flow.MODELS)
def test_structures_in_both_ways(name: str, target: str) -> None:
    """Loops and branches, whose results have sizes that the run finds."""
    need_driver(target)
    made = control_flow.MODELS[name]()
    for fast in (1, 5):
        dims: dict[str, Any] = dict(control_flow.SIZES[name])
        compiled = webnn_compile.compile(made, target, dims=dims | {"rows": spread(dims["rows"], fast)})
        for rows, seed in ((control_flow.MOST_ROWS, 0), (fast, 1), (fast, 2), (13, 5), (fast, 4)):
            feeds = control_flow.feeds(name, rows, seed)
            assert_close(compiled.run(feeds), control_flow.results(made, feeds), 1e-4)


@pytest.mark.parametrize("target", ["webgl", "opencl"])
def test_launches_of_the_fast_size_run_for_it_alone(target: str) -> None:
    """Where two sizes are fast, both have to be; a profile has the times of the launches that ran."""
    need_driver(target)
    made = products()
    dims = {"batch": Dim(1, 3, fast=1), "n": Dim(2, 8, 2, fast=4), "m": (0, 5)}
    compiled: Any = webnn_compile.compile(made, target, dims=dims)
    (branch,) = compiled.program.steps
    general = len([*leaves(branch.then)])
    for batch, n in ((1, 4), (2, 4), (1, 2), (1, 8)):
        feeds = {"x": random((batch, n, 96)), "past": random((3, 96), 1)}
        assert_close(compiled.run(feeds), onnxruntime_results(made, feeds), 1e-4)
        times = [ms > 0 for _, ms in compiled.profile(feeds, 1)]
        fast = (batch, n) == (1, 4)
        assert times == [not fast] * general + [fast] * (len(times) - general)


def test_kernels_of_the_fast_size_are_for_it_alone() -> None:
    """No loop of theirs asks how long it is, and weights have one layout for both."""
    made = products()
    plain: Any = webnn_compile.compile(made, dims={"batch": 1, "n": (1, 9), "m": 2})
    compiled: Any = webnn_compile.compile(made, dims={"batch": 1, "n": Dim(1, 9, fast=1), "m": 2})
    (branch,) = compiled.program.steps
    assert isinstance(branch, Branch)
    assert any(s.scalars for s in leaves(branch.then))
    assert not any(s.scalars for s in leaves(branch.otherwise))
    assert len(compiled.program.weights) == len(plain.program.weights)
    assert compiled.program.prepared == plain.program.prepared


@pytest.mark.parametrize("target", ["webgpu", "webgl", "opencl"])
def test_devices_have_one_copy_of_the_weights(target: str) -> None:
    """Kernels of one row, which sum parts of long products, take it as those of many rows have it."""
    need_driver(target)
    made = products()
    compiled = webnn_compile.compile(made, target, dims={"batch": 1, "n": Dim(1, 64, fast=1), "m": 2})
    assert isinstance(compiled, DeviceModel)
    program = compiled.program
    names = [program.values[c.value].name for c in program.constants]
    assert set("wv") <= set(names)
    assert len(names) == len(set(names))
    for n in (1, 64, 5):
        feeds = feeds_of(made, {"batch": 1, "n": n, "m": 2})
        assert_close(compiled.run(feeds), onnxruntime_results(made, feeds), 1e-4)


def test_outputs_that_are_one_tensor_for_the_fast_size() -> None:
    """Rows and their sums, and rows that are added to themselves in two ways."""
    nodes = [
        node("Shape", ["x"], ["s"], end=1),
        node("Cast", ["s"], ["f"], to=1),
        node("Mul", ["x", "f"], ["y"]),
        node("Identity", ["x"], ["z"]),
        node("Div", ["x", "f"], ["same"]),
        node("Mul", ["same", "f"], ["w"]),
    ]
    made = model(nodes, {"x": ["n", 3]}, ["y", "z", "w", "same"])
    compiled = webnn_compile.compile(made, dims={"n": Dim(1, 4, fast=1)})
    for n in (1, 4, 1):
        feeds = {"x": random((n, 3), n)}
        assert_close(compiled.run(feeds), onnxruntime_results(made, feeds))


@pytest.mark.parametrize("target", ["native", "wasm", "webgpu", "webgl"])
def test_states_are_the_same_memory(target: str) -> None:
    """Rows that runs of either kind add follow each other, and take no copies."""
    need_driver(target)
    made = products_with_states()
    dims: dict[str, Any] = {"batch": 1, "n": Dim(1, 4, fast=1), "m": (0, 16)}
    kept: Any = webnn_compile.compile(made, target, dims=dims, states=["past_rows=present_rows"])
    past = np.zeros((0, 96), np.float32)
    for n in (3, 1, 1, 4, 1, 2, 1):
        x = random((1, n, 96), len(past))
        expected = onnxruntime_results(made, {"x": x, "past_rows": past})
        assert_close(kept.run({"x": x}), {"y": expected["y"]}, 1e-4)
        past = expected["present_rows"]
        assert_close(kept.save_state(), {"past_rows": past}, 0)


@pytest.mark.parametrize(
    ("dim", "message"),
    [
        ("1..9,fast=10", "the size 'n' is given as 1..9,fast=10: no run may have 10; give one of the range"),
        ("4..16,multiple=4,fast=6", "given as 4..16,multiple=4,fast=6: no run may have 6"),
        ("1..9,fast=", r"dims=\{'n': '1..9,fast='\}: give a number, \(least, most\), .* such as '1..512,fast=1'"),
    ],
)
def test_sizes_that_cannot_be_fast(dim: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        webnn_compile.compile(parsed("(float[n, 4] x) => (y) { y = Exp(x) }"), dims={"n": dim})


def test_a_single_size_is_not_fast() -> None:
    compiled: Any = webnn_compile.compile(parsed("(float[n, 4] x) => (y) { y = Exp(x) }"), dims={"n": "3,fast=3"})
    assert not any(isinstance(s, Branch | BranchStep) for s in compiled.program.steps)


def test_values_out_of_range_are_refused_as_before() -> None:
    compiled = webnn_compile.compile(parsed("(float[n, 4] x) => (y) { y = Exp(x) }"), dims={"n": "2..5,fast=2"})
    with pytest.raises(InputError, match="makes n 1, and the model was compiled for 2 to 5"):
        compiled.run({"x": random((1, 4))})


def test_parts_on_the_host_are_as_few_in_either_way() -> None:
    """Sums of int64, in between what fragments compute, in another order than the model's."""
    need_driver("webgl")
    made = parsed("""
        (float[n, 64] x, int64[n, 64] i) => (float[n, 64] y, int64[n, 64] k)
        <int64 along = {1}, int64 down = {0}> {
          a = MatMul(x, w)
          j = CumSum(i, along)
          b = MatMul(a, w)
          k = CumSum(j, down)
          y = MatMul(b, w)
        }""")
    made.graph.initializer.append(onnx.numpy_helper.from_array(random((64, 64)) / 8, "w"))
    spans = {"plain": (1, 6), "fast": Dim(1, 6, fast=2)}
    plain, fast = (webnn_compile.compile(made, "webgl", dims={"n": span}) for span in spans.values())
    assert isinstance(plain, DeviceModel)
    assert isinstance(fast, DeviceModel)
    assert plain.program.calls
    assert plain.program.kernels
    assert len(fast.program.calls) == 2 * len(plain.program.calls)
    for n in (2, 6, 2, 1):
        feeds = {"x": random((n, 64), n), "i": np.arange(64 * n).reshape(n, 64)}
        assert_close(fast.run(feeds), onnxruntime_results(made, feeds), 1e-4)


def test_the_range_says_which_size_is_fast() -> None:
    made = parsed("(float[n, 4] x) => (y) { y = Exp(x) }")
    for text in ("1..9,fast=1", "8..64,multiple=8,fast=32"):
        compiled: Any = webnn_compile.compile(made, dims={"n": text})
        assert [d.span for d in compiled.program.dimensions] == [text]
