"""Halos of images whose sizes a run decides: zeros stand where the image of that run ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from kernel_checks import TARGETS, stages_of
from onnx_models import assert_close, model, node, onnxruntime_results, random
from webnn_compile.frontends.model_inputs import Dim, ModelInputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.ir import Graph
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.nodes import Kernel, Load
from webnn_compile.ir.rewrite import walk
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.target import LayoutPolicy

DIMS = {"n": (1, 2), "h": (1, 13), "w": (1, 19)}
SIZES = ((2, 13, 19), (1, 4, 7), (2, 1, 1), (1, 12, 18), (1, 13, 2), (2, 5, 19))
WINDOWS: tuple[dict[str, Any], ...] = (
    {"pads": [1, 1, 1, 1]},
    {"pads": [2, 0, 1, 2]},
    {"strides": [2, 2], "pads": [1, 1, 1, 1]},
    {"strides": [3, 2], "auto_pad": "SAME_UPPER"},
    {"strides": [1, 2], "auto_pad": "SAME_LOWER"},
    {"dilations": [2, 3], "pads": [2, 3, 2, 3]},
)


def guards(kernel: Kernel) -> Iterator[Load]:
    return (n for n in walk(kernel.body) if isinstance(n, Load) and n.guard is not None)


def imported(proto: onnx.ModelProto, w: Dim) -> Graph:
    return run_graph_passes(import_model(proto, ModelInputs(dims={"n": Dim(1, 1), "h": Dim(8, 128), "w": w})))


def two(channels: int, out: int, size: int = 3, **window: Any) -> onnx.ModelProto:
    """A convolution of an input, and one of a Relu of its result, whose halo that writes."""
    weights = {"u": random((8, channels, 3, 3)), "w": random((out, 8, size, size)), "b": random((out,))}
    nodes = [
        node("Conv", ["x", "u"], ["c"], **(window or {"pads": [1] * 4})),
        node("Relu", ["c"], ["r"]),
        node("Conv", ["r", "w", "b"], ["y"], pads=[size // 2] * 4),
    ]
    return model(nodes, {"x": ["n", channels, "h", "w"]}, ["y"], weights)


def check(proto: onnx.ModelProto, target: str = "native", sizes: Any = SIZES, channels: int = 3) -> None:
    """Each run, after one that leaves other elements where its halo is, against onnxruntime."""
    compiled = webnn_compile.compile(proto, target, dims=DIMS)
    whole = np.full((2, channels, 13, 19), np.nan, np.float32)
    for n, h, w in sizes:
        compiled.run({"x": whole})
        x = np.random.default_rng(h).standard_normal((n, channels, h, w)).astype(np.float32)
        assert_close(compiled.run({"x": x}), onnxruntime_results(proto, {"x": x}), 1e-4)


@pytest.mark.parametrize(("channels", "out", "size"), [(3, 1, 3), (1, 3, 5), (3, 2, 3), (8, 9, 3), (2, 3, 7)])
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_no_product_is_guarded(target: Any, channels: int, out: int, size: int) -> None:
    proto = two(channels, out, size)
    low = lower_model(imported(proto, w=Dim(8, 128)))
    for group, stages in stages_of(low, target):
        if group.reduce is not None:
            assert not [*guards(dict(stages)["schedule_cpu"])]


def test_memory_that_is_zeroed_once_has_no_such_halo() -> None:
    """The run before leaves its elements there."""
    low = lower_model(imported(two(3, 8), w=Dim(16, 16)), policy=LayoutPolicy(fill_halos=False))
    assert not any(map(any, (halo for g in low.groups for halo in low.layouts[g.output].pad)))


@pytest.mark.parametrize("out", [1, 3, 8])
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_results(window: dict[str, Any], out: int) -> None:
    check(two(3, out, **window))


@pytest.mark.parametrize("target", ["wasm", "c", "opencl", "webgpu", "webgl"])
def test_results_elsewhere(target: str) -> None:
    need_driver(target)
    check(two(3, 3, 5, strides=[2, 2], pads=[1, 1, 1, 1]), target, SIZES[1:4])


def test_other_readers() -> None:
    """Sums of images, pooling and depthwise convolutions of images with a halo."""
    weights = {"d": random((3, 1, 3, 3)), "w": random((3, 3, 3, 3)), "v": random((2, 3, 5, 5))}
    nodes = [
        node("Sigmoid", ["x"], ["s"]),
        node("Conv", ["s", "d"], ["a"], group=3, pads=[1] * 4),
        node("Conv", ["s", "w"], ["b"], pads=[1] * 4),
        node("Add", ["a", "b"], ["c"]),
        node("Add", ["c", "s"], ["e"]),
        node("MaxPool", ["e"], ["m"], kernel_shape=[3, 3], pads=[1] * 4),
        node("AveragePool", ["e"], ["p"], kernel_shape=[3, 3], pads=[1] * 4),
        node("Concat", ["m", "p", "s"], ["t"], axis=1),
        node("Conv", ["e", "v"], ["y"], pads=[2] * 4),
    ]
    check(model(nodes, {"x": ["n", 3, "h", "w"]}, ["y", "t"], weights))
