"""Convolutions and pooling of fewer channels than lanes, and what is only moved before them, run in vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from kernel_checks import TARGETS, check_model, stages_of
from onnx_models import model, node, random
from onnxruntime import InferenceSession
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.nodes import Alloc, For, Kernel, LoopKind, Stmt, Store
from webnn_compile.ir.rewrite import children
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.target import Target


def scheduled(proto: onnx.ModelProto, target: Target) -> list[Kernel]:
    """The kernels that reduce, after the schedule."""
    low = lower_model(run_graph_passes(import_model(proto)))
    return [dict(stages)["schedule_cpu"] for group, stages in stages_of(low, target) if group.reduce is not None]


def stores(stmt: Any, times: int = 1, lanes: int = 1) -> Iterator[tuple[int, int]]:
    """How often each store runs, as vectors count, and its lanes."""
    match stmt:
        case Store():
            yield times, lanes
        case For(v, body, kind, _):
            vector = kind is LoopKind.VECTOR
            yield from stores(body, times * (1 if vector else v.extent), v.extent if vector else lanes)
        case _:
            for child in children(stmt):
                if isinstance(child, Stmt):
                    yield from stores(child, times, lanes)


def operations(kernel: Kernel) -> tuple[int, int]:
    """Updates and stores of a kernel: those of vectors, and single ones."""
    found = list(stores(kernel.body))
    return sum(n for n, lanes in found if lanes > 1), sum(n for n, lanes in found if lanes == 1)


def image(channels: int, rank: int) -> list[int]:
    return [1, channels, *{1: [70], 2: [12, 70], 3: [5, 6, 70]}[rank]]


def of_few(op: str, channels: int, rank: int, shape: list[int] | None = None) -> onnx.ModelProto:
    """3 taps along each axis."""
    around = {"pads": [1] * (2 * rank)}
    shape = shape or image(channels, rank)
    if op.startswith("Conv"):
        group = channels if op == "Conv depthwise" else 1
        weights = {"w": random((channels, channels // group, *[3] * rank))}
        return model([node("Conv", ["x", "w"], ["y"], group=group, **around)], {"x": shape}, ["y"], weights)
    return model([node(op, ["x"], ["y"], kernel_shape=[3] * rank, **around)], {"x": shape}, ["y"])


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("channels", [1, 2, 3])
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "Conv", "Conv depthwise"])
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_vectors_lie_along_rows(target: Target, op: str, channels: int, rank: int) -> None:
    """All but the first and the last of a row, whose windows reach beyond it, and what is less than a vector."""
    for kernel in scheduled(of_few(op, channels, rank), target):
        vectors, single = operations(kernel)
        assert single <= 0.75 * target.lanes * vectors, f"{vectors} vectors, {single} single elements"


@pytest.mark.parametrize("op", ["GlobalMaxPool", "GlobalAveragePool"])
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_a_whole_image_is_reduced_along_its_rows(target: Target, op: str) -> None:
    proto = model([node(op, ["x"], ["y"])], {"x": [1, 3, 16, 16]}, ["y"])
    assert len(lower_model(run_graph_passes(import_model(proto))).kernels) == 1
    (kernel,) = scheduled(proto, target)
    vectors, single = operations(kernel)
    assert single < vectors


@pytest.mark.parametrize("out", [1, 2, 3])
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_few_output_channels_are_sums_in_vectors(target: Target, out: int) -> None:
    """Along the channels of a window, whose weights are in that order."""
    nodes = [node("Relu", ["x"], ["r"]), node("Conv", ["r", "w"], ["y"], pads=[1] * 4)]
    proto = model(nodes, {"x": [1, 32, 5, 7]}, ["y"], {"w": random((out, 32, 3, 3))})
    (kernel,) = scheduled(proto, target)
    weights = next(p for p in kernel.params if p.constant)
    assert weights.layout is not None
    assert weights.layout.order == (0, 2, 3, 1)
    vectors, single = operations(kernel)
    products = out * 5 * 7 * 32 * 9
    assert products / target.lanes <= vectors < 2 * products / target.lanes
    assert single < products / 32
    assert any(isinstance(n, Alloc) and n.buffer.name == "part" for n in _walk(kernel.body))


def _walk(node: Any) -> Iterator[Any]:
    yield node
    for child in children(node):
        yield from _walk(child)


@pytest.mark.parametrize(("rows", "columns"), [(1, 2), (7, 3), (9, 1)])
def test_few_columns_of_a_product(rows: int, columns: int) -> None:
    proto = model([node("MatMul", ["x", "w"], ["y"])], {"x": [rows, 67]}, ["y"], {"w": random((67, columns))})
    check_model(proto, TARGETS, work=10**6)
    for target in TARGETS:
        (kernel,) = scheduled(proto, target)
        vectors, single = operations(kernel)
        assert vectors >= rows * columns * (67 // target.lanes)
        assert single < rows * columns * 67 / 2


@pytest.mark.parametrize("channels", range(1, 6))
@pytest.mark.parametrize(
    "attributes",
    [
        {"pads": [1] * 4},
        {"strides": [2, 2], "pads": [0, 1, 2, 1]},
        {"dilations": [2, 3], "pads": [2, 2, 2, 2]},
        {"strides": [1, 3], "auto_pad": "SAME_UPPER"},
    ],
    ids=str,
)
def test_results(attributes: dict[str, Any], channels: int) -> None:
    """Every kind of window over few channels, and convolutions from and to as few, against onnxruntime."""
    shape = [2, channels, 9, 37]
    window = {"kernel_shape": [3, 3], **attributes}
    weights = {
        "w": random((channels, 1, 3, 3)),
        "v": random((channels, channels, 3, 3)),
        "u": random((9, channels, 1, 1)),
    }
    nodes = [
        node("MaxPool", ["x"], ["m"], **window),
        node("AveragePool", ["x"], ["a"], **window),
        node("LpPool", ["x"], ["l"], **window),
        node("Conv", ["x", "w"], ["d"], group=channels, **window),
        node("Conv", ["x", "v"], ["c"], **window),
        node("Conv", ["c", "u"], ["wide"]),
        node("Add", ["c", "d"], ["s"]),
        node("GlobalMaxPool", ["s"], ["g"]),
        node("MaxPool", ["wide"], ["p"], kernel_shape=[2, 2]),
    ]
    results = ["m", "a", "l", "d", "c", "g", "p", "s"]
    proto = model(nodes, {"x": shape}, results, weights, opset=19)
    x = np.random.default_rng(channels).standard_normal(shape).astype(np.float32)
    expected = InferenceSession(proto.SerializeToString()).run(results, {"x": x})
    for target in ("native", "wasm"):
        got = webnn_compile.compile(proto, target).run({"x": x})
        for name, e in zip(results, expected, strict=True):
            np.testing.assert_allclose(got[name], e, rtol=1e-4, atol=1e-4, err_msg=f"{name} {target}")


@pytest.mark.parametrize("op", ["MaxPool", "Conv", "Conv depthwise"])
@pytest.mark.parametrize("channels", [1, 3, 5])
def test_every_stage_means_the_same(op: str, channels: int) -> None:
    proto = of_few(op, channels, 2, [1, channels, 3, 11])
    check_model(proto, TARGETS, work=10**6)
