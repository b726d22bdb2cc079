"""Running sums and the first elements of long lines: what they cost, sizes that vary, every element type."""

from __future__ import annotations

from math import prod

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import Array, assert_close, onnxruntime_results
from op_table import evaluate_model
from webnn_compile.dtypes import F32, I32
from webnn_compile.ir.reduction import Reduce
from webnn_compile.ir.sizes import capacity
from webnn_compile.ops.reductions.running import running
from webnn_compile.ops.selection.keys import Keys, Order
from webnn_compile.ops.selection.ordering import first_in_order, sorted_order
from webnn_compile.tensor import Tensor, placeholder
from webnn_compile.tensor.structure import Loop

_random = np.random.default_rng(7)


def work(*results: Tensor) -> int:
    """Elements that are computed, each as often as a reduction visits it and a loop repeats it."""
    times: dict[Tensor, int] = {}

    def visit(t: Tensor) -> int:
        if t not in times:
            if t.source is not None and isinstance(structure := t.source.structure, Loop):
                times.update({c.inside: capacity(structure.trips) for c in structure.carried})
                for other in (*(c.start for c in structure.carried), *structure.results):
                    visit(other)
            times[t] = max(map(visit, t.reads), default=1)
        return times[t]

    for t in results:
        visit(t)
    over = {t: prod(v.extent for v in t.body.axes) if isinstance(t.body, Reduce) else 1 for t in times}
    return sum(prod(t.extents) * over[t] * n for t, n in times.items())


def first(n: int, k: int, lines: tuple[int, ...] = ()) -> Order:
    x = placeholder("x", (*lines, n), I32)
    return first_in_order("y", Keys(lines, n, lambda line, i: x.read((*line, i)), (x,), largest=True), k)


@pytest.mark.parametrize("exclusive", [False, True])
def test_work_of_running_sums_is_linear(exclusive: bool) -> None:
    for n in (100, 1000, 10007, 100_000):
        x = placeholder("x", (1, n), F32)
        assert work(running("y", "sum", x, 1, exclusive=exclusive)) < 80 * n


def test_work_of_the_first_elements_is_linear() -> None:
    for n, k in ((1000, 50), (8400, 100), (8400, 300), (84_000, 300)):
        assert work(first(n, k).rows) < 120 * n + 4 * k * k
    assert work(first(2000, 300, (16,)).rows) < 16 * (120 * 2000 + 4 * 300**2)


def test_a_long_line_is_sorted_by_a_network() -> None:
    x = placeholder("x", (20_000,), I32)
    keys = Keys((), 20_000, lambda _, i: x.read((i,)), (x,), largest=False)
    assert work(sorted_order("y", keys).rows) < 4 * 32768 * 120


TEXT = """<ir_version: 10, opset_import: ["" : 21]> g {text}"""
FEW = """
(float[lines, n] x) => (float[lines, k] top, int64[lines, k] at) <int64[1] most = {40}> {
  l = Shape <start = 1> (x)
  few = Min(l, most)
  top, at = TopK <axis = 1> (x, few)
}"""
SUMS = """
(float[lines, n] x) => (float[lines, n] y, float[lines, n] z) <int64 axis = {1}, int64 first = {0}> {
  y = CumSum <exclusive = 1> (x, axis)
  z = CumSum <reverse = 1, exclusive = 1> (x, axis)
}"""


@pytest.mark.parametrize("target", ["native", "wasm", "webgl", "webgpu"])
@pytest.mark.parametrize("text", [FEW, SUMS], ids=["few", "sums"])
def test_sizes_that_vary(text: str, target: str) -> None:
    need_driver(target)
    made = onnx.parser.parse_model(TEXT.format(text=text))
    compiled = webnn_compile.compile(made, target=target, dims={"lines": (1, 2), "n": (1, 700)})
    for lines, n in ((2, 700), (1, 1), (2, 33), (1, 64), (2, 65), (1, 487)):
        x = _random.integers(-30, 30, (lines, n)).astype(np.float32)
        assert_close(compiled.run({"x": x}), onnxruntime_results(made, {"x": x}))


DTYPES = ("float16", "float64", "int64", "int32", "uint32", "uint64")


@pytest.mark.parametrize("dtype", [*DTYPES, "int8", "uint16"])
@pytest.mark.parametrize("largest", [0, 1])
def test_the_first_of_every_type(dtype: str, largest: int) -> None:
    x = _ends(dtype, 2, 450)
    made = onnx.parser.parse_model(
        TEXT.format(
            text=f"({_onnx(dtype)}[2, 450] x) => ({_onnx(dtype)}[2, 60] y, int64[2, 60] i) "
            f"<int64[1] k = {{60}}> {{ y, i = TopK <axis = 1, largest = {largest}> (x, k) }}"
        )
    )
    order = np.argsort(x if not largest else x[:, ::-1], axis=1, kind="stable")
    at = 449 - order[:, ::-1] if largest else order
    for y, i in (evaluate_model(made, {"x": x}), list(webnn_compile.compile(made).run({"x": x}).values())):
        np.testing.assert_array_equal(i, at[:, :60])
        np.testing.assert_array_equal(y, np.take_along_axis(x, at[:, :60], 1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_running_sums_of_every_type(dtype: str) -> None:
    x = _random.integers(0, 5, (2, 230)).astype(dtype)
    made = onnx.parser.parse_model(
        TEXT.format(
            text=f"({_onnx(dtype)}[2, 230] x) => ({_onnx(dtype)}[2, 230] y) <int64 axis = {{1}}> "
            "{ y = CumSum(x, axis) }"
        )
    )
    np.testing.assert_array_equal(evaluate_model(made, {"x": x})[0], np.cumsum(x, 1, dtype=x.dtype))
    np.testing.assert_array_equal(webnn_compile.compile(made).run({"x": x})["y"], np.cumsum(x, 1, dtype=x.dtype))


def _onnx(dtype: str) -> str:
    return {"float64": "double"}.get(dtype, dtype)


def _ends(dtype: str, *shape: int) -> Array:
    """Numbers among which are the ends of the type, and many are equal."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return _random.integers(-40, 40, shape).astype(kind)
    limits = np.iinfo(kind)
    ends = np.asarray([limits.min, limits.max, limits.min + 1, limits.max - 1, limits.max // 2], kind)
    few = _random.integers(0, 100, shape).astype(kind)
    return np.where(_random.random(shape) < 0.3, ends[_random.integers(0, 5, shape)], few)
