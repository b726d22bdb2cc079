"""Scales and shifts of channels fold into what feeds them, and only where that is exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from graph_checks import check_pass, ops
from onnx_models import Array, model, node, random
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.fold_batch_norm import fold_batch_norm


def statistics(channels: int, prefix: str = "") -> dict[str, Array]:
    values = {f"{prefix}{name}": random((channels,), i) for i, name in enumerate(("gamma", "beta", "mean"))}
    return values | {f"{prefix}var": np.abs(random((channels,), 9)) + 0.1}


def norm(source: str, made: str, prefix: str = "", **attributes: Any) -> onnx.NodeProto:
    names = [f"{prefix}{name}" for name in ("gamma", "beta", "mean", "var")]
    return node("BatchNormalization", [source, *names], [made], f"{prefix}norm", **attributes)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    ("op", "weights", "attributes"),
    [
        ("Conv", (6, 4, 3, 3), {"pads": [1, 1, 1, 1]}),
        ("Conv", (6, 2, 3, 3), {"group": 2, "strides": [2, 2]}),
        ("Conv", (4, 1, 3, 3), {"group": 4, "dilations": [2, 1]}),
        ("ConvTranspose", (4, 6, 3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ("ConvTranspose", (4, 3, 2, 2), {"group": 2}),
        ("ConvTranspose", (4, 1, 2, 2), {"group": 4, "strides": [2, 2]}),
    ],
)
def test_convolution(op: str, weights: tuple[int, ...], attributes: dict[str, Any], bias: bool) -> None:
    channels = weights[0] if op == "Conv" else weights[1] * attributes.get("group", 1)
    values = {"w": random(weights, 3), **statistics(channels)} | ({"b": random((channels,), 4)} if bias else {})
    nodes = [node(op, ["x", "w", *(["b"] if bias else [])], ["c"], "conv", **attributes)]
    nodes += [norm("c", "n", epsilon=1e-3), node("Relu", ["n"], ["y"])]
    graph = check_pass(fold_batch_norm, model(nodes, {"x": [2, 4, 7, 6]}, ["y"], values))
    assert ops(graph) == [op, "Relu"]
    assert graph.nodes[0].name == "conv"


@pytest.mark.parametrize("shape", [(5, 4, 3), (5, 4, 3, 3, 3)], ids=["1-d", "3-d"])
def test_convolution_of_other_ranks(shape: tuple[int, ...]) -> None:
    nodes = [node("Conv", ["x", "w"], ["c"]), norm("c", "y")]
    values = {"w": random(shape), **statistics(5)}
    assert ops(check_pass(fold_batch_norm, model(nodes, {"x": [1, 4, *([5] * (len(shape) - 2))]}, ["y"], values))) == [
        "Conv"
    ]


@pytest.mark.parametrize("bias", [None, (), (1,), (5,), (1, 5), (3, 1), (3, 5)])
@pytest.mark.parametrize("transposed", [0, 1])
def test_gemm(bias: tuple[int, ...] | None, transposed: int) -> None:
    values = {"w": random((5, 4) if transposed else (4, 5)), **statistics(5)}
    if bias is not None:
        values["b"] = random(bias, 8)
    inputs = ["x", "w", *(["b"] if bias is not None else [])]
    nodes = [node("Gemm", inputs, ["g"], alpha=0.5, beta=2.0, transB=transposed), norm("g", "y")]
    graph = check_pass(fold_batch_norm, model(nodes, {"x": [3, 4]}, ["y"], values))
    assert ops(graph) == ["Gemm"]


def test_matmul_keeps_the_shift_as_an_add() -> None:
    nodes = [node("MatMul", ["x", "w"], ["m"], "mm"), norm("m", "y")]
    graph = check_pass(fold_batch_norm, model(nodes, {"x": [3, 4]}, ["y"], {"w": random((4, 5)), **statistics(5)}))
    assert ops(graph) == ["MatMul", "Add"]
    assert [n.name for n in graph.nodes] == ["mm", "norm"]


def test_matmul_of_batches_folds_a_scale_of_the_last_axis() -> None:
    nodes = [node("MatMul", ["x", "w"], ["m"]), node("Mul", ["m", "s"], ["y"])]
    values = {"w": random((2, 4, 5)), "s": random((5,), 1)}
    assert ops(check_pass(fold_batch_norm, model(nodes, {"x": [2, 3, 4]}, ["y"], values))) == ["MatMul"]


def test_batch_norm_of_another_axis_than_that_of_matmul_stays() -> None:
    nodes = [node("MatMul", ["x", "w"], ["m"]), norm("m", "y")]
    values = {"w": random((4, 3)), **statistics(3)}
    graph = check_pass(fold_batch_norm, model(nodes, {"x": [2, 3, 4]}, ["y"], values))
    assert ops(graph) == ["MatMul", "BatchNormalization"]


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (6, 1, 1), (1, 6, 1, 1)])
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize("first", [False, True], ids=["constant-right", "constant-left"])
def test_per_channel_arithmetic(op: str, shape: tuple[int, ...], first: bool) -> None:
    nodes = [node("Conv", ["x", "w"], ["c"]), node(op, ["k", "c"] if first else ["c", "k"], ["y"])]
    values = {"w": random((6, 4, 3, 3)), "k": random(shape, 1) + np.float32(3)}
    folds = not (first and op == "Div")
    graph = check_pass(fold_batch_norm, model(nodes, {"x": [1, 4, 5, 5]}, ["y"], values), 1e-4, reference=folds)
    assert ops(graph) == (["Conv"] if folds else ["Conv", op])


def test_chain() -> None:
    nodes = [node("Conv", ["x", "w"], ["c"]), norm("c", "n"), node("Mul", ["n", "s"], ["m"])]
    nodes += [node("Add", ["b", "m"], ["a"]), node("Sub", ["k", "a"], ["y"])]
    values = {"w": random((6, 4, 3, 3)), **statistics(6), "s": random((6, 1, 1), 2), "b": random((1, 6, 1, 1), 3)}
    values["k"] = random((), 4)
    assert ops(check_pass(fold_batch_norm, model(nodes, {"x": [1, 4, 5, 5]}, ["y"], values))) == ["Conv"]


def test_shared_weights_stay_as_they_are_for_others() -> None:
    nodes = [node("Conv", ["x", "w"], ["c"]), norm("c", "y"), node("Conv", ["x", "w"], ["z"])]
    graph = check_pass(
        fold_batch_norm, model(nodes, {"x": [1, 4, 5, 5]}, ["y", "z"], {"w": random((6, 4, 3, 3)), **statistics(6)})
    )
    assert ops(graph) == ["Conv", "Conv"]


@pytest.mark.parametrize(
    ("nodes", "outputs"),
    [
        ([node("Conv", ["x", "w"], ["c"]), norm("c", "y"), node("Relu", ["c"], ["z"])], ["y", "z"]),
        ([node("Conv", ["x", "w"], ["c"]), norm("c", "y")], ["y", "c"]),
        ([node("Conv", ["x", "x"], ["c"]), norm("c", "y")], ["y"]),
        ([node("Conv", ["x", "w"], ["c"]), node("Mul", ["c", "width"], ["y"])], ["y"]),
        ([node("Conv", ["x", "w"], ["c"]), node("Add", ["c", "larger"], ["y"])], ["y"]),
        ([node("Conv", ["x", "w"], ["c"]), node("Div", ["c", "zero"], ["y"])], ["y"]),
        ([node("Conv", ["x", "w"], ["c"]), node("Mul", ["c", "huge"], ["y"])], ["y"]),
        ([node("Relu", ["x"], ["c"]), norm("c", "y")], ["y"]),
    ],
    ids=["two-readers", "output", "computed-weights", "another-axis", "broadcasts-up", "by-zero", "overflow", "relu"],
)
def test_left_alone(nodes: list[onnx.NodeProto], outputs: list[str]) -> None:
    values = {"w": random((4, 4, 1, 1)), "width": random((4,), 1), "larger": random((3, 4, 4, 4), 2)}
    values |= {"zero": np.zeros((4, 1, 1), np.float32), "huge": np.full((4, 1, 1), 3e38, np.float32)}
    proto = model(nodes, {"x": [4, 4, 4, 4] if nodes[0].input[1:] == ["x"] else [1, 4, 4, 4]}, outputs, values)
    if any(n.op_type == "BatchNormalization" for n in nodes):
        proto.graph.initializer.extend(onnx.numpy_helper.from_array(a, n) for n, a in statistics(4).items())

    graph = import_model(proto)
    assert fold_batch_norm(graph) is graph


def test_a_small_variance_is_folded_in_float64() -> None:
    # In float32, 1e-12 + 1e-5 loses the variance, and the folded weights would inherit the error of the square root.
    values = {"w": random((4, 4, 1, 1)), **statistics(4)}
    values["var"] = np.full(4, 1e-12, np.float32)
    nodes = [node("Conv", ["x", "w"], ["c"]), norm("c", "y", epsilon=1e-7)]
    graph = check_pass(fold_batch_norm, model(nodes, {"x": [1, 4, 3, 3]}, ["y"], values))
    exact = values["w"].astype(np.float64)[:, :, 0, 0]
    exact *= (values["gamma"].astype(np.float64) / np.sqrt(np.float64(np.float32(1e-12)) + np.float32(1e-7)))[:, None]
    folded = graph.constants[graph.nodes[0].inputs[1]]  # type: ignore[index]
    np.testing.assert_array_equal(folded[:, :, 0, 0], exact.astype(np.float32))
