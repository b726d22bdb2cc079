"""Graphs of TensorFlow as they run: branches, loops, lists of tensors, and the layouts of images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webnn_compile
from google.protobuf import json_format
from tensorflow_graphs import (
    Func,
    Type,
    Writer,
)
from tensorflow_models import REAL, Array, branches, mobile, real
from webnn_compile.frontends.importers import as_onnx, import_model
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.frontends.tensorflow import convert
from webnn_compile.frontends.tensorflow.read_model import read_json_graph
from webnn_compile.frontends.tensorflow.read_tensor import read_tensor
from webnn_compile.frontends.tensorflow.schema import CLASSES
from webnn_compile.graph.passes import run_graph_passes


@pytest.mark.parametrize("x", [(1, 2, 3), (-0.5, -2, 0.25), (500, 1, 1)])
@pytest.mark.parametrize("target", ["native", "wasm", "webgl"])
def test_branches_and_loops(x: tuple[float, ...], target: str, tmp_path: Path) -> None:
    (tmp_path / "net.pb").write_bytes(branches())
    a, b = np.array(x, np.float32), np.array([1, 2, 0.5], np.float32)
    got = webnn_compile.compile(tmp_path / "net.pb", target=target).run({"x": a, "y": b})
    want, rounds = a + b if a.sum() > 0 else a * b, 0
    while want.max() < 100:
        if rounds == 60:
            pytest.skip("it does not end")
        want, rounds = want + want, rounds + 1
    np.testing.assert_allclose(got["numbers"], want, rtol=1e-6)
    assert got["rounds"] == rounds


def test_no_transpose_is_left_between_convolutions(tmp_path: Path) -> None:
    """One of the input is left: a part of the kernel that brings it into the order of the first convolution."""
    ort = pytest.importorskip("onnxruntime")
    path = tmp_path / "net.pb"
    path.write_bytes(mobile())
    graph = run_graph_passes(import_model(path))
    assert [n.inputs[0] for n in graph.nodes if n.op == "Transpose"] == [graph.inputs[0]]
    data = real(1, 16, 16, 3)
    (want,) = ort.InferenceSession(as_onnx(path)).run(None, {"image": data})
    got = webnn_compile.compile(path).run({"image": data})["scores"]
    np.testing.assert_allclose(got, want, atol=2e-4)


def test_images_are_cut_split_and_squeezed_in_their_order(tmp_path: Path) -> None:
    """Behind a convolution that changes nothing."""
    graph = Writer()
    x = graph.placeholder("x", "float32", [2, 7, 6, 4])
    one = graph.constant(np.eye(4, dtype=np.float32)[None, None], "one")
    window = {"strides": [1, 1, 1, 1], "padding": "VALID", "T": REAL}
    image = graph.node("Conv2D", [x, one], "image", **window)
    cuts = [graph.constant(n, f"n{i}", "int32") for i, n in enumerate(([0, 1, 5, 0], [0, -1, 0, 3], [1, 2, -2, 1]))]
    graph.node("StridedSlice", [image, *cuts], "cut", begin_mask=9, end_mask=1)
    graph.node("Split", [graph.constant(-1, "last", "int32"), image], "halves", num_split=2)
    graph.node("Neg", ["halves:1"], "half", T=REAL)
    graph.node("Mean", [image, graph.constant([1], "axis", "int32")], "line", keep_dims=True, T=REAL)
    graph.node("Squeeze", ["line"], "squeezed", squeeze_dims=[1], T=REAL)
    graph.node("Relu", ["squeezed"], "row", T=REAL)
    graph.node("Pad", [image, graph.constant([[0, 0], [1, 2], [0, 1], [3, 0]], "pads", "int32")], "padded", T=REAL)
    graph.node("ConcatV2", [image, image, graph.constant(3, "channels", "int32")], "twice", N=2)
    graph.node("Identity", ["cut"], "cut_out", T=REAL)
    graph.node("Identity", ["halves"], "first_out", T=REAL)
    (tmp_path / "net.pb").write_bytes(graph.bytes())
    data = real(2, 7, 6, 4)
    got = webnn_compile.compile(tmp_path / "net.pb").run({"x": data})
    want = {
        "cut_out": data[:, 1:-1:2, 5:0:-2, :3],
        "first_out": data[..., :2],
        "half": -data[..., 2:],
        "row": data.mean(1).clip(0),
        "padded": np.pad(data, [(0, 0), (1, 2), (0, 1), (3, 0)]),
        "twice": np.concatenate([data, data], 3),
    }
    assert got.keys() == want.keys()
    for name, array in want.items():
        np.testing.assert_allclose(got[name], array, atol=1e-6, err_msg=name)


def test_channels_first(tmp_path: Path) -> None:
    """Convolutions and pools of N, C, H, W compute what those of N, H, W, C do."""
    graph = Writer()
    x = graph.placeholder("x", "float32", [2, 7, 6, 4])
    weights, bias = graph.constant(real(3, 2, 4, 5), "w"), graph.constant(real(5), "b")
    for form in ("NHWC", "NCHW"):

        def sizes(h: int, w: int, form: str = form) -> list[int]:
            return [1, h, w, 1] if form == "NHWC" else [1, 1, h, w]

        at = x
        if form == "NCHW":
            at = graph.node("Transpose", [x, graph.constant([0, 3, 1, 2], "to", "int32")], "planar", T=REAL)
        common: dict[str, Any] = {"data_format": form, "T": REAL, "padding": "SAME"}
        at = graph.node("Conv2D", [at, weights], f"conv_{form}", strides=sizes(1, 2), **common)
        at = graph.node("BiasAdd", [at, bias], f"bias_{form}", data_format=form, T=REAL)
        at = graph.node("MaxPool", [at], f"pool_{form}", ksize=sizes(3, 2), strides=sizes(2, 1), **common)
        if form == "NCHW":
            at = graph.node("Transpose", [at, graph.constant([0, 2, 3, 1], "fro", "int32")], "whole", T=REAL)
        graph.node("Identity", [at], form, T=REAL)
    (tmp_path / "net.pb").write_bytes(graph.bytes())
    got = webnn_compile.compile(tmp_path / "net.pb").run({"x": real(2, 7, 6, 4)})
    np.testing.assert_allclose(got["NCHW"], got["NHWC"], atol=1e-5)


@pytest.mark.parametrize("op", ["DepthwiseConv2dNative", "Conv2D"])
def test_fused_functions_of_tensorflow_js(op: str, tmp_path: Path) -> None:
    """Bias and PReLU behind a convolution, fused and one after the other."""
    graph = Writer()
    x, window = graph.placeholder("x", "float32", [2, 7, 6, 4]), {"strides": [1, 1, 1, 1], "padding": "SAME", "T": REAL}
    operands = [x, graph.constant(real(3, 3, 4, 1 if op.startswith("D") else 4), "w")]
    # Slopes of both signs: where all were negative, no result would be.
    bias, slope = graph.constant(real(4), "b"), graph.constant([[[-0.5, 0.25, 0.5, 0.75]]], "slope")
    fused = "_FusedConv2D" if op == "Conv2D" else "FusedDepthwiseConv2dNative"
    functions = {"fused_ops": ["BiasAdd", "Prelu"], "num_args": 2}
    graph.node(fused, [*operands, bias, slope], "fused", **window, **functions)
    at = graph.node("BiasAdd", [graph.node(op, operands, "conv", **window), bias], "sum", T=REAL)
    graph.node("Prelu", [at, slope], "apart")
    (tmp_path / "net.pb").write_bytes(graph.bytes())
    got = webnn_compile.compile(tmp_path / "net.pb").run({"x": real(2, 7, 6, 4)})
    np.testing.assert_allclose(got["fused"], got["apart"], atol=1e-5)
    assert (got["fused"] < 0).any()


@pytest.mark.parametrize("deep", [False, True])
def test_blocks_are_dilated_convolutions(deep: bool, tmp_path: Path) -> None:
    """As TensorFlow writes dilation with SAME padding: 9 and 8 elements, which blocks of 2 and 3 do not divide, are
    padded further, and cropped in the end. Any batch is taken, and no transposes are between two of them."""
    weights = real(3, 3, 4, 1) if deep else real(3, 3, 4, 4)
    op, window = "DepthwiseConv2dNative" if deep else "Conv2D", {"strides": [1, 1, 1, 1], "T": REAL}

    def graph(blocks: bool) -> Path:
        writer = Writer()
        at, kernel = writer.placeholder("x", "float32", [None, 9, 8, 4]), writer.constant(weights, "w")
        block = writer.constant([2, 3], "block", "int32")
        pads = writer.constant([[2, 3], [3, 4]], "pads", "int32")
        crops = writer.constant([[0, 1], [0, 1]], "crops", "int32")
        for i in range(2):
            if blocks:
                at = writer.node("SpaceToBatchND", [at, block, pads], f"apart{i}", T=REAL)
                at = writer.node(op, [at, kernel], f"conv{i}", padding="VALID", **window)
                at = writer.node("BatchToSpaceND", [at, block, crops], f"y{i}", T=REAL)
            else:
                dilations = [1, 2, 3, 1]
                at = writer.node(op, [at, kernel], f"y{i}", padding="SAME", dilations=dilations, **window)
        path = tmp_path / f"net{blocks:d}.pb"
        path.write_bytes(writer.bytes())
        return path

    data = real(2, 9, 8, 4)
    got, want = (webnn_compile.compile(graph(b), dims={"x_0": 2}).run({"x": data})["y1"] for b in (True, False))
    np.testing.assert_allclose(got, want, atol=1e-5)
    nodes = run_graph_passes(import_model(graph(True), model_inputs(dims={"x_0": 2}))).nodes
    assert [n.op for n in nodes].count("Transpose") == 2


def test_sizes_that_are_computed_of_shapes(tmp_path: Path) -> None:
    """As Keras flattens: the batch is cut from the shape, and packed with what is known."""
    graph = Writer()
    x = graph.placeholder("x", "float32", [None, 2, 3])
    graph.node("Shape", [x], "shape", T=REAL)
    cuts = [graph.constant([n], f"cut{n}", "int32") for n in (0, 1)]
    graph.node("StridedSlice", ["shape", cuts[0], cuts[1], cuts[1]], "batch", shrink_axis_mask=1)
    graph.node("Pack", ["batch", graph.constant(6, "six", "int32")], "sizes", axis=0, N=2)
    graph.node("Reshape", [x, "sizes"], "flat", T=REAL)
    (tmp_path / "net.pb").write_bytes(graph.bytes())
    model = webnn_compile.compile(tmp_path / "net.pb", dims={"x_0": (1, 5)})
    for batch in (1, 4):
        data = real(batch, 2, 3)
        np.testing.assert_array_equal(model.run({"x": data})["flat"], data.reshape(batch, 6))


def test_lists_of_tensors_in_a_loop(tmp_path: Path) -> None:
    """As a recurrent layer keeps its results: running sums of the rows of x."""
    graph = Writer()
    x = graph.placeholder("x", "float32", [4, 2, 3])
    number = {"element_dtype": REAL}
    count, sizes = graph.constant(4, "count", "int32"), graph.constant([2, 3], "sizes", "int32")
    graph.node("TensorListFromTensor", [x, sizes], "list", **number)
    graph.node("TensorListReserve", [sizes, count], "results", **number)
    zeros, zero = graph.constant(np.zeros((2, 3), np.float32), "zeros"), graph.constant(0, "zero", "int32")
    functions = {"cond": Func("goes_on"), "body": Func("step")}
    graph.node("While", [zero, zeros, "list", "results"], "loop", **functions)
    graph.node("TensorListStack", ["loop:3", sizes], "sums", **number)
    types = {"i": "int32", "total": "float32", "rows": "variant", "sums": "variant"}
    condition = graph.function("goes_on", types, {"c": ("bool", "less:z:0")})
    condition.node("TensorListLength", ["rows"], "length")
    condition.node("Less", ["i", "length:length:0"], "less", T=Type("int32"))
    results = {"i2": ("int32", "next:z:0"), "t2": ("float32", "sum:z:0"), "r2": ("variant", "rows")}
    body = graph.function("step", types, {**results, "s2": ("variant", "set:output_handle:0")})
    body.constant(1, "one", "int32")
    body.constant([2, 3], "sizes", "int32")
    body.node("AddV2", ["i", "one:output:0"], "next", T=Type("int32"))
    body.node("TensorListGetItem", ["rows", "i", "sizes:output:0"], "row", **number)
    body.node("AddV2", ["total", "row:item:0"], "sum", T=REAL)
    body.node("TensorListSetItem", ["sums", "i", "sum:z:0"], "set", **number)
    (tmp_path / "net.pb").write_bytes(graph.bytes())
    data = real(4, 2, 3)
    got = webnn_compile.compile(tmp_path / "net.pb").run({"x": data})["sums"]
    np.testing.assert_allclose(got, np.cumsum(data, axis=0), atol=1e-6)


@pytest.mark.parametrize("last_alone", [False, True])
def test_lists_of_tensors_of_any_shape(last_alone: bool, tmp_path: Path) -> None:
    """As Keras writes recurrent layers: the batch is free, so the shape of elements is left open. One that gives its
    last result alone overwrites it."""
    graph = Writer()
    x = graph.placeholder("x", "float32", [None, 4, 3])
    open_shape, number = graph.constant([-1, 3], "open", "int32"), {"element_dtype": REAL}
    graph.node("Transpose", [x, graph.constant([1, 0, 2], "order", "int32")], "steps", T=REAL)
    graph.node("TensorListFromTensor", ["steps", open_shape], "list", **number)
    count = graph.constant(1 if last_alone else 4, "count", "int32")
    graph.node("TensorListReserve", [open_shape, count], "results", **number)
    cuts = [graph.constant(n, f"n{i}", "int32") for i, n in enumerate(([0, 0], [0, 1], [1, 1]))]
    graph.node("StridedSlice", [x, *cuts], "first", begin_mask=1, end_mask=1, shrink_axis_mask=2)
    graph.node("ZerosLike", ["first"], "zeros", T=REAL)
    zero, steps = graph.constant(0, "zero", "int32"), graph.constant(4, "most", "int32")
    functions = {"cond": Func("goes_on"), "body": Func("step")}
    graph.node("While", [zero, steps, zero, "results", "zeros", "list"], "loop", **functions)
    graph.node("TensorListStack", ["loop:3", open_shape], "sums", **number)
    types = {"loops": "int32", "most": "int32", "i": "int32", "sums": "variant", "total": "float32", "rows": "variant"}
    condition = graph.function("goes_on", types, {"c": ("bool", "same:output:0")})
    condition.constant(4, "end", "int32")
    condition.node("Less", ["loops", "most"], "less", T=Type("int32"))
    condition.node("Less", ["i", "end:output:0"], "less_1", T=Type("int32"))
    condition.node("LogicalAnd", ["less:z:0", "less_1:z:0"], "both")
    condition.node("Identity", ["both:z:0"], "same", T=Type("bool"))
    results = {"l2": ("int32", "next_1:z:0"), "m2": ("int32", "most"), "i2": ("int32", "next:z:0")}
    results |= {"s2": ("variant", "set:output_handle:0"), "t2": ("float32", "sum:z:0"), "r2": ("variant", "rows")}
    body = graph.function("step", types, results)
    body.constant(1, "one", "int32")
    body.constant(0, "place", "int32")
    body.constant([-1, 3], "sizes", "int32")
    body.node("AddV2", ["i", "one:output:0"], "next", T=Type("int32"))
    body.node("AddV2", ["loops", "one:output:0"], "next_1", T=Type("int32"))
    body.node("TensorListGetItem", ["rows", "i", "sizes:output:0"], "row", **number)
    body.node("AddV2", ["total", "row:item:0"], "sum", T=REAL)
    body.node("TensorListSetItem", ["sums", "place:output:0" if last_alone else "i", "sum:z:0"], "set", **number)
    (tmp_path / "net.pb").write_bytes(graph.bytes())
    # The same as TensorFlow.js has it, which keeps constants of functions beside the graph, too.
    apart = convert(read_json_graph(*_weights_apart(graph.bytes()), "net"))
    for given in (tmp_path / "net.pb", apart):
        model = webnn_compile.compile(given, dims={"x_0": (1, 5)})
        for batch in (1, 3):
            data = real(batch, 4, 3)
            want = np.cumsum(data.transpose(1, 0, 2), axis=0)
            np.testing.assert_allclose(model.run({"x": data})["sums"], want[-1:] if last_alone else want, atol=1e-6)


def _weights_apart(graph: bytes) -> tuple[dict[str, Any], dict[str, Array]]:
    """The content of a model.json, and the constants by name."""
    proto = CLASSES["GraphDef"].FromString(graph)
    weights = {}
    for node in (*proto.node, *(n for f in proto.library.function for n in f.node_def)):
        if node.op == "Const":
            weights[node.name] = read_tensor(node.attr["value"].tensor)
            node.attr["value"].tensor.ClearField("tensor_content")
    return {"modelTopology": json_format.MessageToDict(proto)}, weights
