"""Large windows axis by axis: the same results, NaN included, from fewer operations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import webnn_compile
from kernel_checks import check_model
from onnx_models import model, node
from onnxruntime import InferenceSession
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.target import CPU_LAYOUTS, LayoutPolicy


def reductions(policy: LayoutPolicy, op: str, shape: list[int], **attributes: Any) -> list[int]:
    """The number of operations for each result, of each kernel that reduces."""
    proto = model([node(op, ["x"], ["y"], **attributes)], {"x": shape}, ["y"])
    low = lower_model(run_graph_passes(import_model(proto)), policy=policy)
    return [int(np.prod([v.extent for v in g.reduce.axes])) for g in low.groups if g.reduce is not None]


@pytest.mark.parametrize(
    ("op", "shape", "attributes", "expected"),
    [
        ("MaxPool", [1, 1, 20, 21], {"kernel_shape": [9, 9], "pads": [4] * 4}, [9, 9]),
        ("AveragePool", [1, 32, 20, 21], {"kernel_shape": [5, 7], "pads": [2, 3, 2, 3]}, [5, 7]),
        ("MaxPool", [1, 3, 8, 9, 10], {"kernel_shape": [3, 3, 3], "pads": [1] * 6}, [3, 9]),
        ("MaxPool", [1, 3, 9, 10, 11], {"kernel_shape": [5, 5, 5], "pads": [2] * 6}, [5, 5, 5]),
        ("MaxPool", [1, 3, 20, 21], {"kernel_shape": [3, 3], "pads": [1] * 4}, [9]),
        ("MaxPool", [1, 3, 20, 21], {"kernel_shape": [5, 5], "strides": [4, 4]}, [25]),
        ("LpPool", [1, 3, 20, 21], {"kernel_shape": [5, 5]}, [25]),
        ("GlobalMaxPool", [1, 3, 20, 21], {}, [420]),
    ],
    ids=lambda v: "" if isinstance(v, dict) else str(v),
)
def test_windows_that_are_large_and_overlap(
    op: str, shape: list[int], attributes: dict[str, Any], expected: list[int]
) -> None:
    assert reductions(CPU_LAYOUTS, op, shape, **attributes) == expected


def test_not_where_launches_take_longer() -> None:
    attributes = {"kernel_shape": [9, 9], "pads": [4] * 4}
    assert reductions(LayoutPolicy(few_launches=True), "MaxPool", [1, 1, 20, 21], **attributes) == [81]


POOLS: list[dict[str, Any]] = [
    {"kernel_shape": [5, 5], "pads": [2] * 4},
    {"kernel_shape": [7, 4], "pads": [3, 0, 1, 3], "strides": [1, 2]},
    {"kernel_shape": [4, 5], "pads": [2, 3, 1, 0], "dilations": [2, 3]},
    {"kernel_shape": [6, 6], "pads": [1, 2, 3, 4], "strides": [2, 1], "ceil_mode": 1},
    {"kernel_shape": [9, 9], "auto_pad": "SAME_LOWER"},
]


@pytest.mark.parametrize("channels", range(1, 6))
@pytest.mark.parametrize("attributes", POOLS, ids=str)
def test_results(attributes: dict[str, Any], channels: int) -> None:
    shape = [2, channels, 11, 21]
    x = np.random.default_rng(channels).standard_normal(shape).astype(np.float32)
    for op in ("MaxPool", "AveragePool"):
        proto = model([node(op, ["x"], ["y"], **attributes)], {"x": shape}, ["y"], opset=19)
        (expected,) = InferenceSession(proto.SerializeToString()).run(None, {"x": x})
        for target in ("native", "wasm"):
            got = webnn_compile.compile(proto, target).run({"x": x})["y"]
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6, err_msg=f"{op} {target}")


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_a_nan_is_the_result_of_each_window_that_has_it(channels: int) -> None:
    shape = [1, channels, 13, 19]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    x[0, 0, 0, 0] = x[0, -1, 6, 7] = np.nan
    x[0, 0, 9:] = -np.inf
    proto = model([node("MaxPool", ["x"], ["y"], kernel_shape=[5, 5], pads=[2] * 4)], {"x": shape}, ["y"])
    padded = np.pad(x, ((0, 0), (0, 0), (2, 2), (2, 2)), constant_values=-np.inf)
    expected = np.lib.stride_tricks.sliding_window_view(padded, (5, 5), (2, 3)).max((-1, -2))
    for target in ("native", "wasm"):
        got = webnn_compile.compile(proto, target).run({"x": x})["y"]
        np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(got[finite], expected[finite])


def test_sizes_that_vary() -> None:
    proto = model([node("MaxPool", ["x"], ["y"], kernel_shape=[5, 5], pads=[2] * 4)], {"x": [1, 1, "h", "w"]}, ["y"])
    compiled = webnn_compile.compile(proto, "native", dims={"h": (1, 20), "w": (1, 30)})
    session = InferenceSession(proto.SerializeToString())
    for height, width in ((1, 1), (3, 30), (20, 7), (19, 29)):
        x = np.random.default_rng(height).standard_normal((1, 1, height, width)).astype(np.float32)
        np.testing.assert_array_equal(compiled.run({"x": x})["y"], session.run(None, {"x": x})[0])


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_quanta(dtype: str) -> None:
    proto = model([node("MaxPool", ["x"], ["y"], kernel_shape=[5, 5], pads=[2] * 4)], {"x": [1, 2, 9, 21]}, ["y"])
    kind = {"uint8": 2, "int8": 3}[dtype]
    for port in (*proto.graph.input, *proto.graph.output):
        port.type.tensor_type.elem_type = kind
    x = np.random.default_rng(0).integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (1, 2, 9, 21)).astype(dtype)
    (expected,) = InferenceSession(proto.SerializeToString()).run(None, {"x": x})
    for target in ("native", "wasm"):
        np.testing.assert_array_equal(webnn_compile.compile(proto, target).run({"x": x})["y"], expected)


def test_every_stage_means_the_same() -> None:
    attributes = {"kernel_shape": [5, 5], "pads": [2] * 4}
    nodes = [node("Relu", ["x"], ["r"]), node("MaxPool", ["r"], ["y"], **attributes)]
    check_model(model(nodes, {"x": [1, 2, 6, 9]}, ["y"]), work=10**6)
