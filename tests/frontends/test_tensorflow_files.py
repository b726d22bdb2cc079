"""TensorFlow's files as a whole: SavedModels with variables and functions, frozen graphs, names, layouts, and damage.
Graphs are written without TensorFlow."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from effort import DAMAGED_FILES, effort_of
from google.protobuf import json_format
from tensorflow_graphs import (
    Func,
    Sizes,
    Type,
    Writer,
    random_of,
    varint,
    write_checkpoint,
    write_saved_model,
    write_table,
)
from webnn_compile.driver.build import build
from webnn_compile.driver.options import Options
from webnn_compile.errors import InputError, UnsupportedError
from webnn_compile.frontends.importers import as_onnx, describe_model, find_importer, import_model
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.frontends.tensorflow import convert, read_model
from webnn_compile.frontends.tensorflow.read_model import read_json_graph
from webnn_compile.frontends.tensorflow.read_table import read_table, unsnappy
from webnn_compile.frontends.tensorflow.read_tensor import read_tensor
from webnn_compile.frontends.tensorflow.schema import CLASSES
from webnn_compile.graph.passes import run_graph_passes

Array = np.ndarray
RNG = random_of("files")
REAL = Type("float32")


def real(*shape: int) -> Array:
    return RNG.uniform(-1, 1, shape).astype(np.float32)


WEIGHTS, BIAS = real(3, 4), real(4)


def dense(folder: Path, restored: bool = True) -> Path:
    """x W + b of a SavedModel of TensorFlow 2: a function of captured variables, which both are named "w". Without
    `restored` they are found by names."""
    graph = Writer()
    x = graph.placeholder("serving_default_x", "float32", [None, 3])
    names = ("w", "w") if restored else ("w", "w_1")
    handles = [graph.node("VarHandleOp", [], f"var{i}", shared_name=name) for i, name in enumerate(names)]
    call = graph.node("StatefulPartitionedCall", [x, *handles, "^saver"], "call", f=Func("apply"))
    graph.node("NoOp", [], "saver")
    types = {"x": "float32", "kernel": "resource", "bias": "resource"}
    inner = graph.function("apply", types, {"out": ("float32", "sum:z:0")})
    inner.node("ReadVariableOp", ["kernel"], "read")
    inner.node("ReadVariableOp", ["bias"], "read_1")
    inner.node("MatMul", ["x", "read:value:0"], "product", T=REAL)
    inner.node("AddV2", ["product:product:0", "read_1:value:0"], "sum", T=REAL)
    keys = ("kernel/.ATTRIBUTES/VARIABLE_VALUE", "bias/.ATTRIBUTES/VARIABLE_VALUE")
    if restored:
        file = graph.node("Placeholder", [], "file", dtype=Type("string"))
        graph.node("StatefulPartitionedCall", [file, *handles], "restore", f=Func("restore"))
        restoring = graph.function("restore", {"file": "string", "a": "resource", "b": "resource"}, {})
        names_of = restoring.nodes.add(op="Const", name="names")
        names_of.attr["value"].tensor.dtype = 7
        names_of.attr["value"].tensor.string_val.extend(k.encode() for k in reversed(keys))
        restoring.node("RestoreV2", ["file", "names:output:0", "names:output:0"], "read")
        for argument, at in (("a", 1), ("b", 0)):
            restoring.node("Identity", [f"read:tensors:{at}"], f"copy_{argument}")
            restoring.node("AssignVariableOp", [argument, f"copy_{argument}:output:0"], f"assign_{argument}")
    write_saved_model(
        folder, graph, {"x": ("serving_default_x:0", "float32", (None, 3))}, {"scores": (call, "float32")}
    )
    objects = None if restored else {"w": keys[0], "w_1": keys[1]}
    write_checkpoint(folder / "variables", dict(zip(keys, (WEIGHTS, BIAS), strict=True)), objects)
    return folder


@pytest.mark.parametrize("restored", [True, False])
def test_a_saved_model_by_its_folder_or_file(restored: bool, tmp_path: Path) -> None:
    folder = dense(tmp_path / "net", restored)
    data = real(2, 3)
    (tmp_path / "link.pb").symlink_to(folder / "saved_model.pb")
    for given in (folder, str(folder), folder / "saved_model.pb", tmp_path / "link.pb"):
        assert find_importer(given).name == "TensorFlow"
        got = webnn_compile.compile(given, dims={"x_0": 2}).run({"x": data})
        np.testing.assert_allclose(got["scores"], data @ WEIGHTS + BIAS, atol=1e-6)
    card = describe_model(folder)
    assert (card.name, card.producer, card.parameters) == ("net", "TensorFlow 2.21.0", 16)
    assert card.operators == {"MatMul": 1, "AddV2": 1}
    assert [(p.name, p.dtype, p.shape) for p in card.inputs] == [("x", "float32", ("x_0", 3))]
    assert [p.name for p in card.outputs] == ["scores"]


def test_any_number_of_rows(tmp_path: Path) -> None:
    model = webnn_compile.compile(dense(tmp_path / "net"), dims={"x_0": (1, 9)})
    for rows in (1, 5, 9):
        data = real(rows, 3)
        np.testing.assert_allclose(model.run({"x": data})["scores"], data @ WEIGHTS + BIAS, atol=1e-6)


def test_variables_of_tensorflow_1(tmp_path: Path) -> None:
    """Restored by nodes of the main graph, or of the name that they have."""
    graph = Writer()
    x = graph.placeholder("x", "float32", [2, 3])
    graph.node("VariableV2", [], "kernel", dtype=REAL, shape=Sizes([3, 4]))
    graph.node("VariableV2", [], "offset", dtype=REAL, shape=Sizes([4]))
    graph.node("Identity", ["kernel"], "kernel/read", T=REAL)
    graph.node("MatMul", [x, "kernel/read"], "product", T=REAL)
    graph.node("BiasAdd", ["product", "offset"], "sum", T=REAL)
    names = graph.nodes.add(op="Const", name="save/names")
    names.attr["value"].tensor.dtype = 7
    names.attr["value"].tensor.string_val.append(b"moving/kernel")
    graph.node("RestoreV2", ["save/Const", "save/names", "save/names"], "save/RestoreV2")
    graph.node("Assign", ["kernel", "save/RestoreV2"], "save/Assign", T=REAL)
    folder = tmp_path / "net"
    write_saved_model(folder, graph, {"rows": ("x:0", "float32", (2, 3))}, {"y": ("sum:0", "float32")}, "predict")
    write_checkpoint(folder / "variables", {"moving/kernel": WEIGHTS, "offset": BIAS})
    data = real(2, 3)
    got = webnn_compile.compile(folder).run({"rows": data})["y"]
    np.testing.assert_allclose(got, data @ WEIGHTS + BIAS, atol=1e-6)


def test_what_a_folder_may_lack(tmp_path: Path) -> None:
    folder = dense(tmp_path / "net")
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match=r"none is a folder without saved_model\.pb"):
        read_model(tmp_path / "none")
    (folder / "variables" / "variables.data-00000-of-00001").unlink()
    with pytest.raises(InputError, match=r"net: there is no variables/variables\.data-00000-of-00001"):
        import_model(folder)
    (folder / "variables" / "variables.index").unlink()
    with pytest.raises(InputError, match=r"its variable 'var1' has no value in variables/variables\.index"):
        import_model(folder)
    with pytest.raises(InputError, match=r"its variable 'var1' has no value"):
        import_model((folder / "saved_model.pb").read_bytes())


def branches() -> bytes:
    """Where the sum of x is positive: x + y, else x * y; and a loop that doubles until 100 is reached."""
    graph = Writer()
    x, y = (graph.placeholder(name, "float32", [3]) for name in "xy")
    axes, zero = graph.constant([0], "axes", "int32"), graph.constant(0, "zero", "int32")
    graph.node("Sum", [x, axes], "total", T=REAL)
    graph.node("Greater", ["total", graph.constant(0.0, "least")], "flag", T=REAL)
    functions = {"then_branch": Func("add"), "else_branch": Func("multiply")}
    graph.node("StatelessIf", ["flag", x, y], "chosen", **functions)
    shapes = {"output_shapes": [Sizes([3]), Sizes([])]}
    graph.node("StatelessWhile", ["chosen", zero], "looped", cond=Func("goes_on"), body=Func("twice"), **shapes)
    graph.node("Identity", ["looped"], "numbers", T=REAL)
    graph.node("Identity", ["looped:1"], "rounds", T=Type("int32"))
    reals = {"a": "float32", "b": "float32"}
    graph.function("add", reals, {"c": ("float32", "c:z:0")}).node("AddV2", ["a", "b"], "c", T=REAL)
    graph.function("multiply", reals, {"c": ("float32", "c:z:0")}).node("Mul", ["a", "b"], "c", T=REAL)
    carried = {"a": "float32", "n": "int32"}
    condition = graph.function("goes_on", carried, {"c": ("bool", "less:z:0")})
    condition.constant([0], "axes", "int32")
    condition.constant(100.0, "limit")
    condition.node("Max", ["a", "axes:output:0"], "most", T=REAL)
    condition.node("Less", ["most:output:0", "limit:output:0"], "less", T=REAL)
    body = graph.function("twice", carried, {"a2": ("float32", "sum:z:0"), "n2": ("int32", "next:z:0")})
    body.constant(1, "one", "int32")
    body.node("AddV2", ["a", "a"], "sum", T=REAL)
    body.node("AddV2", ["n", "one:output:0"], "next", T=Type("int32"))
    return graph.bytes()


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


def mobile(classes: int = 5) -> bytes:
    """As MobileNet has it: a convolution of a picture, then depthwise ones with residuals, a squeeze with excitation, a
    classifier. Shapes of weights alone are in the file."""
    graph = Writer()
    at = graph.placeholder("image", "float32", [1, 16, 16, 3])
    count = 0

    def name(stem: str) -> str:
        nonlocal count
        count += 1
        return f"{stem}_{count}"

    def conv(x: str, inputs: int, outputs: int, stride: int = 1, deep: bool = False, activation: str = "Relu6") -> str:
        k = 3 if deep or inputs == 3 else 1
        weights = graph.constant(real(k, k, inputs, 1) if deep else real(k, k, inputs, outputs), name("w"))
        window = {"strides": [1, stride, stride, 1], "padding": "SAME", "T": REAL}
        y = graph.node("DepthwiseConv2dNative" if deep else "Conv2D", [x, weights], name("conv"), **window)
        numbers = [
            graph.constant(v, name("n")) for v in (real(outputs), real(outputs), real(outputs), real(outputs) + 2)
        ]
        y = graph.node("FusedBatchNormV3", [y, *numbers], name("norm"), is_training=False, epsilon=0.01)
        return graph.node(activation, [y], name("y"), T=REAL) if activation else y

    at = conv(at, 3, 8, stride=2)
    axes = graph.constant([1, 2], "axes", "int32")
    for keeps in (True, False):
        wide = conv(at, 8, 24)
        deep = conv(wide, 24, 24, deep=True)
        means = graph.node("Mean", [deep, axes], name("means"), keep_dims=keeps, T=REAL)
        if not keeps:
            means = graph.node("Reshape", [means, graph.constant([-1, 1, 1, 24], "pixel", "int32")], name("means"))
        gate = graph.node("Sigmoid", [conv(means, 24, 24)], name("gate"), T=REAL)
        scaled = graph.node("Mul", [deep, gate], name("scaled"), T=REAL)
        at = graph.node("AddV2", [at, conv(scaled, 24, 8, activation="")], name("sum"), T=REAL)
    means = graph.node("Mean", [at, axes], "means", keep_dims=False, T=REAL)
    product = graph.node("MatMul", [means, graph.constant(real(8, classes), "classifier")], "product", T=REAL)
    graph.node("BiasAdd", [product, graph.constant(real(classes), "bias")], "scores", T=REAL)
    return graph.bytes()


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
    bias, slope = graph.constant(real(4), "b"), graph.constant(real(1, 1, 4), "slope")
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


def test_it_is_verified_by_onnxruntime(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    folder = dense(tmp_path / "net")
    options = Options(model_inputs(dims={"x_0": 2}), targets=("wasm",), verify=True)
    report = build(folder, tmp_path / "bundle", options, lambda _: None, lambda _: None)
    assert {c.backend for c in report.comparisons} >= {"native"}
    assert all(c.ok for c in report.comparisons)


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


def test_rows_of_a_variable(tmp_path: Path) -> None:
    graph = Writer()
    ids = graph.placeholder("ids", "int32", [2, 3])
    graph.node("VarHandleOp", [], "table", shared_name="table")
    graph.node("ResourceGather", ["table", ids], "rows", batch_dims=0)
    graph.node("PlaceholderWithDefault", [graph.constant(2.0, "two")], "factor", dtype=REAL)
    graph.node("Mul", ["rows", "factor"], "y", T=REAL)
    folder = tmp_path / "net"
    write_saved_model(folder, graph, {"ids": ("ids:0", "int32", (2, 3))}, {"y": ("y:0", "float32")})
    table = real(7, 4)
    write_checkpoint(folder / "variables", {"table": table})
    data = RNG.integers(0, 7, (2, 3)).astype(np.int32)
    np.testing.assert_allclose(webnn_compile.compile(folder).run({"ids": data})["y"], 2 * table[data], atol=1e-6)


def test_what_is_not_supported_is_said_at_once(tmp_path: Path) -> None:
    graph = Writer()
    at = graph.placeholder("x", "float32", [2, 3])
    for i, op in enumerate(("RandomUniform", "StringJoin", "MyOwn", "MyOwn", "Switch", "AssignVariableOp")):
        at = graph.node(op, [at], f"t{i}")
    (tmp_path / "net.pb").write_bytes(graph.bytes())
    with pytest.raises(UnsupportedError) as raised:
        import_model(tmp_path / "net.pb")
    assert str(raised.value).splitlines() == [
        "net.pb needs what is not supported, 5 in all:",
        "  MyOwn: 2 operators 't3', 't2'",
        "  AssignVariableOp: 1 operator 't5'; it keeps values from one run to the next: save a function that takes and "
        "returns them",
        "  RandomUniform: 1 operator 't0'; its results are random: save the model for inference (training=False)",
        "  StringJoin: 1 operator 't1'; it works on text or files: save the part of the model behind it, which takes "
        "numbers",
        "  Switch: 1 operator 't4'; it is control flow of TensorFlow 1: save the model with "
        "tf.compat.v1.enable_control_flow_v2(), for TensorFlow.js with tensorflowjs_converter --control_flow_v2=True, "
        "or give the SavedModel in place of a frozen graph",
        "Replace or remove these in the model, or save the part of it without them.",
    ]
    assert describe_model(tmp_path / "net.pb").unsupported == (
        "AssignVariableOp",
        "Switch",
        "MyOwn",
        "StringJoin",
        "RandomUniform",
    )


def test_what_nodes_need_is_said_at_once(tmp_path: Path) -> None:
    graph = Writer()
    x = graph.placeholder("x", "float32", [2, 3, 4, 5])
    numbers = [graph.constant(real(5), f"n{i}") for i in range(4)]
    graph.node("FusedBatchNormV3", [x, *numbers], "norm", is_training=True, epsilon=0.01)
    graph.node("ArgMax", ["norm", "norm:1"], "best", T=REAL)
    graph.node("ReverseV2", [x, graph.node("ArgMax", [x, graph.constant(1, "one", "int32")], "at")], "y", T=REAL)
    (tmp_path / "net.pb").write_bytes(graph.bytes())
    with pytest.raises(UnsupportedError, match="2 in all") as raised:
        import_model(tmp_path / "net.pb")
    assert "FusedBatchNormV3 ('norm'): it normalises by the batch" in str(raised.value)
    assert "ReverseV2 ('y'): the axes must be constant, and 'at' is computed" in str(raised.value)


def _loop_of_nodes() -> bytes:
    graph = Writer()
    graph.placeholder("x", "float32", [2])
    graph.node("AddV2", ["x", "b"], "a", T=REAL)
    graph.node("Neg", ["a"], "b", T=REAL)
    graph.node("Neg", ["b"], "y", T=REAL)
    return graph.bytes()


def _recursion() -> bytes:
    graph = Writer()
    graph.placeholder("x", "float32", [2])
    graph.node("PartitionedCall", ["x"], "y", f=Func("f"))
    inner = graph.function("f", {"x": "float32"}, {"y": ("float32", "again:output:0")})
    inner.node("PartitionedCall", ["x"], "again", f=Func("f"))
    return graph.bytes()


def _many_calls() -> bytes:
    """2 to the power of 20 nodes, once functions are inlined."""
    graph = Writer()
    graph.placeholder("x", "float32", [2])
    graph.node("PartitionedCall", ["x"], "y", f=Func("f0"))
    for i in range(20):
        inner = graph.function(f"f{i}", {"x": "float32"}, {"y": ("float32", "b:output:0")})
        inner.node("PartitionedCall", ["x"], "a", f=Func(f"f{i + 1}"))
        inner.node("PartitionedCall", ["a:output:0"], "b", f=Func(f"f{i + 1}"))
    graph.function("f20", {"x": "float32"}, {"y": ("float32", "x")})
    return graph.bytes()


def _large_constant() -> bytes:
    graph = Writer()
    graph.placeholder("x", "float32", [1])
    constant = graph.nodes.add(op="Const", name="c")
    constant.attr["value"].tensor.dtype = 1
    for _ in range(3):
        constant.attr["value"].tensor.tensor_shape.dim.add(size=2000)
    graph.node("AddV2", ["x", "c"], "y", T=REAL)
    return graph.bytes()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"net\.pb is empty; save or download the model again"),
        (b"some words that are no model", r"net\.pb is truncated or damaged: its 28 bytes"),
        (branches()[:-3], r"net\.pb is truncated or damaged: its \d+ bytes are not a whole TensorFlow graph"),
        (_loop_of_nodes(), r"net\.pb is not a valid TensorFlow graph: \w+ \('[ab]'\) depends on itself"),
        (_recursion(), r"not a valid TensorFlow graph: .*the function 'f' calls itself"),
        (_large_constant(), r"8000000000 elements, and a tensor may have"),
    ],
    ids=["empty", "words", "cut", "loop", "recursion", "large"],
)
def test_files_that_are_none(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "net.pb"
    path.write_bytes(data)
    with pytest.raises(InputError, match=message):
        import_model(path)
    with pytest.raises(InputError, match=r"there is no such file"):
        import_model(tmp_path / "none.pb")


def test_calls_of_calls_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["webnn_compile.frontends.tensorflow.convert"], "NODES", 500)
    (tmp_path / "net.pb").write_bytes(_many_calls())
    with pytest.raises(InputError, match=r"net\.pb has more than 500 nodes, with its functions inlined"):
        import_model(tmp_path / "net.pb")


def test_a_signature_is_chosen(tmp_path: Path) -> None:
    graph, folder = Writer(), tmp_path / "net"
    graph.placeholder("x", "float32", [2, 3])
    graph.placeholder("z", "float32", [4])
    graph.node("Neg", ["x"], "y", T=REAL)
    graph.node("Abs", ["z"], "size", T=REAL)
    other = {"z": ("z:0", "float32", (4,))}, {"size": ("size:0", "float32")}
    inputs, outputs = {"x": ("x:0", "float32", (2, 3))}, {"y": ("y:0", "float32")}
    write_saved_model(folder, graph, inputs, outputs, others={"sizes": other})
    z = np.array([-1, 2, -3, 0.5], np.float32)
    np.testing.assert_array_equal(webnn_compile.compile(folder, signature="sizes").run({"z": z})["size"], np.abs(z))
    assert [v.name for v in import_model(folder).inputs] == ["x"]
    card = describe_model(folder, model_inputs(signature="sizes"))
    assert (card.signatures, [p.name for p in card.inputs]) == (("sizes", "serving_default"), ["z"])
    with pytest.raises(InputError, match=r"net has no signature 'size': it has 'serving_default', 'sizes'; give one"):
        import_model(folder, model_inputs(signature="size"))


def test_a_saved_model_without_a_signature(tmp_path: Path) -> None:
    write_saved_model(tmp_path / "net", Writer(), {}, {})
    with pytest.raises(InputError, match=r"net has no signature: save the model with one, by tf\.saved_model\.save"):
        import_model(tmp_path / "net")


def literal(block: bytes) -> bytes:
    """As Snappy writes what repeats nothing."""
    return varint(len(block)) + bytes([61 << 2]) + (len(block) - 1).to_bytes(2, "little") + block


def test_tables_are_read() -> None:
    entries = {f"layers/{i}/kernel".encode(): bytes([i]) * i for i in range(30)}
    assert read_table(write_table(entries)) == entries
    assert read_table(write_table(entries, literal)) == entries
    with pytest.raises(ValueError, match="does not end as a table"):
        read_table(b"text" * 20)


def test_snappy() -> None:
    """Literals, copies of all three kinds, and one that repeats itself."""
    data = bytes([30, 3 << 2]) + b"abcd" + bytes([0b00_000_01, 4]) + bytes([9 << 2 | 2, 2, 0])
    data += bytes([11 << 2 | 3, 4, 0, 0, 0])
    assert unsnappy(data) == b"abcdabcd" + b"cd" * 5 + b"cdcdcdcdcdcd"
    for damaged in (bytes([5, 9 << 2]) + b"ab", bytes([5, 1, 9]), bytes([9, 0]) + b"a"):
        with pytest.raises(ValueError, match=r"literal|copy|in place of"):
            unsnappy(damaged)


def test_a_graph_as_json(tmp_path: Path) -> None:
    """As TensorFlow.js has it: names of fields in other letters, bytes in base64, weights beside it."""
    matrix, vector = ({"dim": [{"size": str(n)} for n in shape]} for shape in ((3, 4), (4,)))
    rows = {"dim": [{"size": "2"}, {"size": "3"}]}
    kinds: dict[str, Any] = {"dtype": {"type": "DT_FLOAT"}}

    def constant(name: str, shape: Any) -> dict[str, Any]:
        return {"name": name, "op": "Const", "attr": {"value": {"tensor": {"dtype": "DT_FLOAT", "tensorShape": shape}}}}

    fused = {"fused_ops": {"list": {"s": ["Qmlhc0FkZA==", "UmVsdQ=="]}}, "transpose_a": {"b": False}}
    topology = {
        "node": [
            {"name": "x", "op": "Placeholder", "attr": {**kinds, "shape": {"shape": rows}}},
            constant("w", matrix),
            constant("b", vector),
            {"name": "y", "op": "_FusedMatMul", "input": ["x", "w", "b"], "attr": fused},
        ],
        "library": {},
        "versions": {"producer": 1882},
    }
    inputs = {"rows": {"name": "x:0", "dtype": "DT_FLOAT", "tensorShape": rows}}
    signature = {"inputs": inputs, "outputs": {"Identity:0": {"name": "y:0"}}}
    weights = [{"name": n, "shape": list(a.shape), "dtype": "float32"} for n, a in (("w", WEIGHTS), ("b", BIAS))]
    manifest = [{"paths": ["group1-shard1of1.bin"], "weights": weights}]
    whole = {"format": "graph-model", "modelTopology": topology, "signature": signature, "weightsManifest": manifest}
    path = tmp_path / "model.json"
    path.write_text(json.dumps(whole))
    (tmp_path / "group1-shard1of1.bin").write_bytes(WEIGHTS.tobytes() + BIAS.tobytes())
    data = real(2, 3)
    got = webnn_compile.compile(path).run({"rows": data})["Identity"]
    np.testing.assert_allclose(got, (data @ WEIGHTS + BIAS).clip(0), atol=1e-6)
    card = describe_model(path)
    assert (card.parameters, card.operators, card.inputs[0].name) == (16, {"_FusedMatMul": 1}, "rows")
    plain = read_json_graph({"modelTopology": topology}, {"w": WEIGHTS, "b": BIAS}, "net")
    assert [p.name for p in (*plain.inputs, *plain.outputs)] == ["x", "y"]
    for damaged in ({}, {"modelTopology": 7}, {"modelTopology": {"node": [{"name": 7}]}}):
        with pytest.raises(InputError, match="net is damaged: its modelTopology is not a graph"):
            read_json_graph(damaged, {}, "net")


def test_an_onnx_model_of_any_name_stays_one(tmp_path: Path) -> None:
    graph = onnx.helper.make_graph([], "g", [], [])
    (tmp_path / "net.pb").write_bytes(onnx.helper.make_model(graph, ir_version=8).SerializeToString())
    assert find_importer(tmp_path / "net.pb").name == "ONNX"


@pytest.mark.parametrize("make", [mobile, branches], ids=["mobile", "branches"])
def test_damaged_graphs_are_imported_or_refused_by_one_error(
    make: Callable[[], bytes], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Cut off, and with bytes that are others."""
    file, rng = make(), np.random.default_rng(7)
    path = tmp_path / "net.pb"
    for _ in range(DAMAGED_FILES[effort_of(request.config)]):
        path.write_bytes(_damaged(file, rng))
        with suppress(InputError, UnsupportedError):
            import_model(path)


@pytest.mark.parametrize("name", ["saved_model.pb", "variables/variables.index"])
def test_damaged_saved_models(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    folder, rng = dense(tmp_path / "net", restored=name.startswith("saved")), np.random.default_rng(7)
    file = (folder / name).read_bytes()
    for _ in range(DAMAGED_FILES[effort_of(request.config)]):
        (folder / name).write_bytes(_damaged(file, rng))
        for read in (import_model, describe_model):
            with suppress(InputError, UnsupportedError):
                read(folder)


def _damaged(file: bytes, rng: Any) -> bytes:
    data = bytearray(file[: rng.integers(2, len(file))] if rng.random() < 0.3 else file)
    for _ in range(rng.integers(1, 4)):
        data[rng.integers(len(data))] = rng.integers(256)
    return bytes(data)
