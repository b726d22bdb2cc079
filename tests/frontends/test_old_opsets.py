"""Models of opset 1 to 6, whose results are known: onnxruntime runs few of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx import helper, numpy_helper
from onnx_models import Array, assert_close, onnxruntime_results, random

Weights = Mapping[str, Array]
B, M = random((3,), 1), random((4, 5), 2)
GATES, RECURRENT = random((1, 8, 4), 3), random((1, 8, 2), 4)
CHANNELS = B[None, :, None, None]


def old(nodes: list[onnx.NodeProto], shape: list[int | str], weights: Weights, opset: int) -> onnx.ModelProto:
    """A model from x to y of the third format, with its weights as inputs, too."""
    values = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)]
    values += [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, a.shape) for n, a in weights.items()]
    tensors = [numpy_helper.from_array(a, n) for n, a in weights.items()]
    output = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "old", values, [output], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=3)


node = helper.make_node
CASES: dict[str, tuple[list[onnx.NodeProto], list[int | str], Weights, int, Callable[[Array], Array]]] = {
    "a bias along an axis": (
        [node("Relu", ["x"], ["a"], consumed_inputs=[0]), node("Add", ["a", "b"], ["y"], broadcast=1, axis=1)],
        ["n", 3, 2, 4],
        {"b": B},
        1,
        lambda x: np.maximum(x, 0) + CHANNELS,
    ),
    "a bias behind an operator that has no schema": (
        [node("ThresholdedRelu", ["x"], ["a"], alpha=0.25), node("Add", ["a", "b"], ["y"], broadcast=1, axis=1)],
        [2, 3, 2, 4],
        {"b": B},
        6,
        lambda x: np.where(x > 0.25, x, 0) + CHANNELS,
    ),
    "a factor along the last axes": (
        [node("Mul", ["x", "m"], ["y"], broadcast=1)],
        [2, 3, 4, 5],
        {"m": M},
        6,
        lambda x: x * M,
    ),
    "a shape as an attribute": (
        [node("Reshape", ["x"], ["r"], shape=[0, 3, -1]), node("Sub", ["r", "b"], ["y"], broadcast=1, axis=1)],
        ["n", 3, 2, 4],
        {"b": B},
        4,
        lambda x: x.reshape(len(x), 3, -1) - B[:, None],
    ),
    "slopes of channels": (
        [node("PRelu", ["x", "b"], ["y"], consumed_inputs=[0])],
        [2, 3, 2, 4],
        {"b": B},
        1,
        lambda x: np.where(x < 0, x * CHANNELS, x),
    ),
    "parts by an operand": (
        [node("Split", ["x", "lengths"], ["a", "c"], axis=1), node("Neg", ["c"], ["y"])],
        [2, 5],
        {"lengths": np.asarray([2, 3], np.float32)},
        1,
        lambda x: -x[:, 2:],
    ),
    "parts by an attribute": (
        [node("Split", ["x"], ["a", "c"], axis=1, split=[1, 4]), node("Neg", ["c"], ["y"])],
        [2, 5],
        {},
        1,
        lambda x: -x[:, 1:],
    ),
    "repeats along an axis": (
        [
            node("Constant", [], ["axis"], value=numpy_helper.from_array(np.asarray([1], np.float32))),
            node("Tile", ["x", "tiles", "axis"], ["a"]),
            node("Add", ["a", "b"], ["y"], broadcast=1, axis=0),
        ],
        [3, 2, 4],
        {"tiles": np.asarray([3], np.float32), "b": B},
        5,
        lambda x: np.tile(x, [1, 3, 1]) + B[:, None, None],
    ),
    "a norm of pixels": (
        [node("LpPool", ["x"], ["y"], kernel_shape=[2, 2], p=1.0)],
        [1, 2, 2, 3],
        {},
        1,
        lambda x: sum(np.abs(x[:, :, i : i + 1, j : j + 2]) for i in (0, 1) for j in (0, 1)),
    ),
    "a norm of all pixels": (
        [node("GlobalLpPool", ["x"], ["y"], p=2.0)],
        [1, 2, 2, 3],
        {},
        1,
        lambda x: np.sqrt((x * x).sum((2, 3), keepdims=True)),
    ),
    "types by name": (
        [node("Cast", ["x"], ["i"], to="INT32"), node("Cast", ["i"], ["y"], to="FLOAT")],
        [2, 3, 2, 4],
        {},
        5,
        np.trunc,
    ),
    "paddings": (
        [node("Pad", ["x"], ["y"], paddings=[0, 1, 0, 2])],
        [2, 3],
        {},
        1,
        lambda x: np.pad(x, [(0, 0), (1, 2)]),
    ),
    "a product with a bias": (
        [node("Gemm", ["x", "m", "c"], ["y"], broadcast=1, transB=1)],
        [2, 5],
        {"m": M, "c": random((4,), 5)},
        6,
        lambda x: x @ M.T + random((4,), 5),
    ),
    "a dropout": ([node("Dropout", ["x"], ["y"], is_test=0, ratio=0.5)], [2, 5], {}, 6, lambda x: x),
    "a normalisation": (
        [node("BatchNormalization", ["x", "b", "b", "b", "v"], ["y"], is_test=1, epsilon=1e-5)],
        [1, 3, 2, 4],
        {"b": B, "v": np.abs(B)},
        6,
        lambda x: (x - CHANNELS) / np.sqrt(np.abs(CHANNELS) + 1e-5) * CHANNELS + CHANNELS,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_operators_of_old_opsets(name: str) -> None:
    nodes, shape, weights, opset, reference = CASES[name]
    free = {"n": (1, 3)} if "n" in shape else {}
    compiled = webnn_compile.compile(old(nodes, shape, weights, opset), dims=free)
    for n in (1, 3):
        x = random([n if d == "n" else d for d in shape])
        assert_close(compiled.run({"x": x}), {"y": reference(x).astype(np.float32)})


ACTIVATIONS = {"s": random((3, 2, 4), 6), "b": random((3, 2, 4), 7), "m": random((3, 2, 4), 8)}
ACTIVATIONS["v"] = np.abs(random((3, 2, 4), 9)) + np.float32(0.1)


def per_activation(x: Array, mean: Array, variance: Array) -> Array:
    normalised = (x - mean) / np.sqrt(variance + np.float32(1e-5))
    return np.asarray(normalised * ACTIVATIONS["s"] + ACTIVATIONS["b"], np.float32)


@pytest.mark.parametrize("target", ["native", "wasm", "webgl"])
@pytest.mark.parametrize(
    ("opset", "attributes"),
    [(1, {"is_test": 1, "consumed_inputs": [0, 0, 0, 1, 1]}), (1, {}), (6, {"is_test": 1}), (6, {"is_test": 0})],
)
def test_a_normalisation_of_each_activation(target: str, opset: int, attributes: Mapping[str, int]) -> None:
    """With spatial=0 the operands have the shape of x without its batch."""
    need_driver(target)
    nodes = [node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"], spatial=0, **attributes)]
    compiled = webnn_compile.compile(old(nodes, ["n", 3, 2, 4], ACTIVATIONS, opset), target, dims={"n": (1, 3)})
    for n in (1, 3):
        x = random((n, 3, 2, 4))
        assert_close(compiled.run({"x": x}), {"y": per_activation(x, ACTIVATIONS["m"], ACTIVATIONS["v"])})


def test_a_training_of_each_activation() -> None:
    """A node of opset 6: more than one output says that it trains, and gives the statistics of the batch."""
    nodes = [node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y", "", "", "mean", "v2"], spatial=0)]
    proto = old(nodes, [4, 3, 2, 4], ACTIVATIONS, 6)
    proto.graph.output.append(helper.make_tensor_value_info("mean", onnx.TensorProto.FLOAT, None))
    x = random((4, 3, 2, 4))
    expected = {"y": per_activation(x, x.mean(0), x.var(0)), "mean": x.mean(0)}
    assert_close(webnn_compile.compile(proto).run({"x": x}), expected)


def test_a_test_has_no_statistics() -> None:
    nodes = [node("BatchNormalization", ["x", "b", "b", "b", "v"], ["y", "mean"], is_test=1)]
    x = random((2, 3, 2, 4))
    compiled = webnn_compile.compile(old(nodes, [2, 3, 2, 4], {"b": B, "v": np.abs(B)}, 6))
    root = np.sqrt(np.abs(CHANNELS) + np.float32(1e-5))
    assert_close(compiled.run({"x": x}), {"y": (x - CHANNELS) / root * CHANNELS + CHANNELS})


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ([node("LpPool", ["x"], ["y"], kernel_shape=[2, 2], p=1.5)], "attribute p=1.5 of LpPool is no whole number"),
        ([node("Split", ["x", "x"], ["y", "z"], axis=1)], "'x' is not a constant of few elements"),
        ([node("Mystery", ["x"], ["a"]), node("PRelu", ["a", "b"], ["y"])], "the rank of 'a' is not known"),
    ],
)
def test_what_is_not_converted(nodes: list[onnx.NodeProto], reason: str) -> None:
    with pytest.raises(webnn_compile.UnsupportedError, match=f"onnx.version_converter does not convert it .*{reason}"):
        webnn_compile.compile(old(nodes, [2, 3, 4, 4], {"b": B}, 1))


def test_a_recurrent_layer() -> None:
    weights = {"w": GATES, "r": RECURRENT}
    layer = {"hidden_size": 2}
    before = old([node("LSTM", ["x", "w", "r"], ["y"], output_sequence=1, **layer)], [3, 1, 4], weights, 1)
    after = old([node("LSTM", ["x", "w", "r"], ["y"], **layer)], [3, 1, 4], weights, 7)
    feeds = {"x": random((3, 1, 4))}
    assert_close(webnn_compile.compile(before).run(feeds), onnxruntime_results(after, feeds))


def test_names_of_sizes_stay() -> None:
    nodes, shape, weights, opset, _ = CASES["a bias along an axis"]
    compiled = webnn_compile.compile(old(nodes, shape, weights, opset), dims={"n": (1, 3)})
    with pytest.raises(webnn_compile.errors.InputError, match=r"makes n 4, and the model was compiled for 1 to 3"):
        compiled.run({"x": random((4, 3, 2, 4))})
