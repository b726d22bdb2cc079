"""Products in parts: the same results from shorter sums, in tensors and on a device."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import assert_close, model, node, onnxruntime_results, random
from webnn_compile.dtypes import F16, F32
from webnn_compile.execution.device_model import DeviceModel
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.lower_graph import lower_graph
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.layout import Layout
from webnn_compile.ir.reduction import Reduce
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.simt.backend import layouts_of
from webnn_compile.target import WEBGPU, Stages
from webnn_compile.tensor import Tensor
from webnn_compile.tensor.evaluate import evaluate
from webnn_compile.tensor.program import TensorProgram
from webnn_compile.tensor.split_contractions import LEAST, split_contractions
from webnn_compile.tensor.split_reductions import split_reductions

BUSY = 2048


def product(rows: int, columns: int, depth: int) -> tuple[object, dict[str, np.ndarray]]:
    """relu(x @ w + b)"""
    nodes = [node("Gemm", ["x", "w", "b"], ["h"]), node("Relu", ["h"], ["y"])]
    weights = {"w": random((depth, columns), 1), "b": random((columns,), 2)}
    return model(nodes, {"x": [rows, depth]}, ["y"], weights), {"x": random((rows, depth), 3)}


def convolution(
    size: int, channels: int, filters: int, batch: int = 1, group: int = 1
) -> tuple[object, dict[str, np.ndarray]]:
    """relu(conv(x) + b + z)"""
    nodes = [
        node("Conv", ["x", "w", "b"], ["h"], pads=[1, 1, 1, 1], strides=[2, 2], group=group),
        node("Add", ["h", "z"], ["s"]),
        node("Relu", ["s"], ["y"]),
    ]
    out = -(-size // 2)
    weights = {"w": random((filters, channels // group, 3, 3), 1), "b": random((filters,), 2)}
    feeds = {"x": random((batch, channels, size, size), 3), "z": random((batch, filters, out, out), 4)}
    return model(nodes, {name: list(a.shape) for name, a in feeds.items()}, ["y"], weights), feeds


def tensors_of(proto: object) -> TensorProgram:
    return lower_graph(run_graph_passes(import_model(proto)))


def layouts_on_devices(proto: onnx.ModelProto) -> Mapping[Tensor, Layout]:
    return lower_model(run_graph_passes(import_model(proto)), policy=layouts_of(WEBGPU)).layouts


FEW_RESULTS = {
    "classifier": (product(1, 1000, 512), 4),
    "odd sum": (product(3, 50, 1001), 7),
    "not in fours": (product(1, 7, 3 * 11 * 31), 3),
    "image": (convolution(13, 128, 160), 4),
    "one column of images": (convolution(1, 2700, 10), 15),
}


@pytest.mark.parametrize("case", FEW_RESULTS)
def test_parts_give_the_same(case: str) -> None:
    (proto, feeds), parts = FEW_RESULTS[case]
    before = tensors_of(proto)
    after = split_contractions(before, BUSY)
    (partial,) = (t for t in after.tensors if t.name.endswith(".parts"))
    assert partial.shape[0] == parts
    assert partial.exact
    assert isinstance(partial.body, Reduce)
    assert prod(v.extent for v in partial.body.axes) >= LEAST
    assert {r for t in after.tensors for r in t.reads if not r.is_constant} <= {
        *dict(after.inputs).values(),
        *after.tensors,
    }
    assert set(after.origins) == set(after.tensors)
    given = {t: feeds[name] for name, t in before.inputs}
    want, got = (evaluate(p.outputs[0][1], given) for p in (before, after))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * np.abs(want).max())
    assert split_contractions(after, BUSY) is after


def test_a_matrix_of_three_dimensions_lies_as_another_does() -> None:
    """Its parts are no image: what reads it, such as values of attention, has its columns innermost."""
    nodes = [node("MatMul", ["x", "w"], ["h"]), node("Relu", ["h"], ["r"]), node("MatMul", ["p", "r"], ["y"])]
    proto = model(nodes, {"x": [1, 24, 512], "p": [1, 24, 24]}, ["y"], {"w": random((512, 48), 1)})
    layouts = layouts_on_devices(proto)
    assert any(t.name.endswith(".parts") for t in layouts)
    assert all(layout.is_row_major for layout in layouts.values())


def test_parts_of_an_image_have_their_channels_innermost() -> None:
    nodes = [node("Conv", ["x", "w"], ["h"]), node("Relu", ["h"], ["y"])]
    proto = model(nodes, {"x": [1, 512, 24]}, ["y"], {"w": random((48, 512, 1), 1)})
    layouts = layouts_on_devices(proto)
    (partial,) = (layout for t, layout in layouts.items() if t.name.endswith(".parts"))
    assert partial.order == (0, 2, 1)


@pytest.mark.parametrize("precision", ["f32", "f16"])
@pytest.mark.parametrize("case", FEW_RESULTS)
def test_a_device_gives_the_same(case: str, precision: str) -> None:
    need_driver("webgpu", "shader-f16" if precision == "f16" else "")
    (proto, feeds), parts = FEW_RESULTS[case]
    made = webnn_compile.compile(proto, target="webgpu", precision=precision)
    assert isinstance(made, DeviceModel)
    p = made.program
    (partial,) = (v for v in p.values if v.name.endswith(".parts"))
    assert partial.shape[0] == parts
    assert p.storages[partial.storage].dtype == F32
    if precision == "f16":
        assert F16 in {s.dtype for s in p.storages}
    assert_close(made.run(feeds), onnxruntime_results(proto, feeds), 1e-4 if precision == "f32" else 2e-2)


@pytest.mark.parametrize(
    "proto",
    [
        product(1, 1000, 2 * LEAST - 1)[0],
        product(1, 10, 1009)[0],
        product(512, 512, 1000)[0],
        convolution(13, 64, 64, batch=2)[0],
        convolution(13, 128, 128, group=128)[0],
        model([node("MatMul", ["x", "y"], ["z"])], {"x": [1, 900], "y": [900, 8]}, ["z"]),
    ],
    ids=["short", "prime", "many results", "batch", "depthwise", "no constant"],
)
def test_others_stay(proto: object) -> None:
    program = tensors_of(proto)
    assert split_contractions(program, BUSY) is program


def test_what_is_added_up_in_parts_needs_no_stages() -> None:
    after = split_contractions(tensors_of(product(1, 1000, 8192)[0]), BUSY)
    assert split_reductions(after, *[Stages(2048, 2048)] * 2) is after
