"""Fusion repeats no arithmetic: the groups of a model make no more operations on elements than its tensors do."""

from __future__ import annotations

from collections.abc import Callable

import exported
import numpy as np
import onnx
import pytest
from kernel_checks import check_model
from onnx_models import model, node, random
from operations import operations_of_group, operations_of_tensor
from random_graphs import random_graph
from webnn_compile.dtypes import F32
from webnn_compile.frontends.model_inputs import ModelInputs, model_inputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.pipeline.lowered import Lowered
from webnn_compile.tensor import compute, placeholder, reduce


def lowered(proto: onnx.ModelProto, given: ModelInputs | None = None) -> Lowered:
    return lower_model(run_graph_passes(import_model(proto, given)))


def check(low: Lowered) -> None:
    groups = sum(map(operations_of_group, low.groups))
    tensors = sum(map(operations_of_tensor, low.tensors.tensors))
    assert groups <= tensors, f"{groups} operations of groups, {tensors} of tensors"


def _gelu(x: str, y: str) -> list[onnx.NodeProto]:
    return [
        node("Mul", [x, "root"], [f"{y}.s"]),
        node("Erf", [f"{y}.s"], [f"{y}.e"]),
        node("Add", [f"{y}.e", "one"], [f"{y}.a"]),
        node("Mul", [x, f"{y}.a"], [y]),
    ]


_SCALARS = {"root": np.float32(0.7071), "one": np.float32(1)}


def gelu_reshaped_into_a_product() -> onnx.ModelProto:
    nodes = [*_gelu("x", "g"), node("Reshape", ["g", "shape"], ["r"]), node("MatMul", ["r", "w"], ["y"])]
    return model(nodes, {"x": [6, 4, 8]}, ["y"], {**_SCALARS, "shape": np.array([6, 32]), "w": random((32, 48))})


def gelu_transposed_into_a_convolution() -> onnx.ModelProto:
    nodes = [*_gelu("x", "g"), node("Transpose", ["g"], ["t"], perm=[0, 2, 1]), node("Conv", ["t", "w"], ["y"])]
    return model(nodes, {"x": [1, 20, 6]}, ["y"], {**_SCALARS, "w": random((10, 6, 5))})


def stack_transposed_into_a_convolution() -> onnx.ModelProto:
    """Slices of a spectrum side by side, scaled, as channels of an image."""
    nodes = [
        node("Mul", ["x", "scale"], ["m"]),
        node("Slice", ["m", "zero", "eight", "last"], ["a"]),
        node("Slice", ["m", "four", "twelve", "last"], ["b"]),
        node("Concat", ["a", "b"], ["c"], axis=1),
        node("Transpose", ["c"], ["t"], perm=[0, 1, 3, 2]),
        node("Conv", ["t", "w"], ["y"], pads=[1, 1, 1, 1]),
    ]
    constants = {n: np.array([v]) for n, v in {"zero": 0, "four": 4, "eight": 8, "twelve": 12, "last": 3}.items()}
    weights = {"scale": random((1, 1, 1, 12)), "w": random((5, 4, 3, 3))}
    return model(nodes, {"x": [1, 2, 9, 12]}, ["y"], constants | weights)


def rows_looked_up_into_a_convolution() -> onnx.ModelProto:
    nodes = [
        node("Gather", ["table", "x"], ["g"]),
        node("Mul", ["g", "g"], ["s"]),
        node("Transpose", ["s"], ["t"], perm=[0, 2, 1]),
        node("Conv", ["t", "w"], ["y"]),
    ]
    weights = {"table": random((256, 8)), "w": random((6, 8, 3))}
    return model(nodes, {"x": [1, 30]}, ["y"], weights, dtype=onnx.TensorProto.INT32)


def a_quotient_read_by_several() -> onnx.ModelProto:
    nodes = [
        node("Exp", ["x"], ["e"]),
        node("Reshape", ["e", "shape"], ["r"]),
        node("ReduceSum", ["r", "axis"], ["a"]),
        node("MatMul", ["r", "w"], ["b"]),
        node("Add", ["a", "b"], ["y"]),
    ]
    return model(nodes, {"x": [4, 6]}, ["y"], {"shape": np.array([8, 3]), "axis": np.array([1]), "w": random((3, 5))})


MODELS: tuple[Callable[[], onnx.ModelProto], ...] = (
    gelu_reshaped_into_a_product,
    gelu_transposed_into_a_convolution,
    stack_transposed_into_a_convolution,
    rows_looked_up_into_a_convolution,
    a_quotient_read_by_several,
)


@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
def test_small_models(make: Callable[[], onnx.ModelProto]) -> None:
    check(lowered(make()))
    check_model(make())


@pytest.mark.parametrize("name", ["audio_encoder_dynamo", "cached_decoder_dynamo"])
def test_exported_models(name: str) -> None:
    check(lowered(onnx.load(exported.path_of(name)), model_inputs(dims=exported.dims(name))))


@pytest.mark.parametrize("seed", range(200, 212))
def test_random_graphs(seed: int) -> None:
    check(lowered(random_graph(seed).model()))


def test_equal_operations_of_an_element_count_once() -> None:
    x = placeholder("x", (5,), F32)
    square = compute("square", (5,), (x,), lambda i: (x[i] * 2.0) * (x[i] * 2.0))
    assert operations_of_tensor(square) == 5 * 2


def test_every_term_counts() -> None:
    x = placeholder("x", (3, 7), F32)
    total = compute("total", (3,), (x,), lambda i: reduce("sum", (7,), lambda r: x[i, r] * x[i, r] + 1.0))
    assert operations_of_tensor(total) == 3 * 7 * 3
