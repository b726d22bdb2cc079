"""The smaller passes, and all of them in a row."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest
from graph_checks import check_pass, feeds_of, ops
from onnx import TensorProto, helper, numpy_helper
from onnx_models import assert_close, model, node, onnxruntime_results, random
from webnn_compile.frontends.model_inputs import ModelInputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.convert_float16 import convert_float16
from webnn_compile.graph.eliminate_dead_code import eliminate_dead_code
from webnn_compile.graph.evaluate import evaluate_graph
from webnn_compile.graph.fold_constants import fold_constants
from webnn_compile.graph.ir import Graph, Node
from webnn_compile.graph.merge_duplicates import merge_duplicates
from webnn_compile.graph.passes import GRAPH_PASSES, run_graph_passes
from webnn_compile.graph.verify import verify_graph

SHARED = Path(os.environ.get("WEBNN_SHARED") or Path(__file__).parents[3] / "shared")
LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def test_dead_nodes_outputs_and_constants_go_and_inputs_stay() -> None:
    nodes = [node("Relu", ["x"], ["y"]), node("Add", ["y", "k"], ["a"]), node("Neg", ["a"], ["b"])]
    nodes += [node("MaxPool", ["y"], ["p", "indices"], kernel_shape=[2, 2])]
    proto = model(nodes, {"x": [1, 1, 4, 4], "unused": [1]}, ["y", "p"], {"k": random((4,))})
    before = import_model(proto)
    after = check_pass(eliminate_dead_code, proto)
    assert ops(after) == ["Relu", "MaxPool"]
    assert after.nodes[1].outputs[1:] == (None,)
    assert len(before.constants) == 1
    assert len(after.constants) == 0
    assert [v.name for v in after.inputs] == ["x", "unused"]


def test_fold_constants_after_an_input_became_known() -> None:
    proto = model([node("Neg", ["k"], ["n"]), node("Add", ["x", "n"], ["y"])], {"x": [3], "k": [3]}, ["y"])
    graph = import_model(proto)
    x, k = graph.inputs
    data = random((3,), 5)
    known = Graph(graph.name, (x,), graph.outputs, graph.nodes, {k: data})
    folded = fold_constants(known)
    verify_graph(folded, "fold_constants")
    assert ops(folded) == ["Add"]
    assert fold_constants(folded) is folded
    feeds = {"x": random((3,))}
    assert_close(evaluate_graph(folded, feeds), {"y": feeds["x"] - data})


def test_float16_is_computed_in_float32() -> None:
    nodes = [
        node("MatMul", ["x", "w"], ["m"]),
        node("Cast", ["m"], ["f"], to=TensorProto.FLOAT),
        node("Exp", ["f"], ["e"]),
        node("Cast", ["e"], ["h"], to=TensorProto.FLOAT16),
        node("Add", ["h", "k"], ["y"]),
        node("Relu", ["y"], ["z"]),
        node("Shape", ["x"], ["s"]),
        node("Greater", ["h", "m"], ["larger"]),
    ]
    weights = {"w": random((4, 3), 1, np.float16), "k": random((3,), 2, np.float16)}
    proto = model(nodes, {"x": [2, 4]}, ["y", "z", "f", "s", "larger"], weights, dtype=TensorProto.FLOAT16)
    graph = check_pass(convert_float16, proto, 2e-3)
    assert [v.dtype.name for v in graph.outputs] == ["float16", "float16", "float32", "int64", "bool"]
    inner = [n for n in graph.nodes if n.op != "Cast"]
    assert {v.dtype.name for n in inner for v in n.outputs if v} == {"float32", "bool"}
    assert "float16" not in {v.dtype.name for v in graph.constants}
    # Two for the outputs, one for the input; in the middle that to float16 rounds, the other has no effect.
    assert Counter(ops(graph))["Cast"] == 6
    assert Counter(ops(run_graph_passes(graph)))["Cast"] == 5
    assert convert_float16(graph) is graph


def test_float16_inputs_and_constants_that_are_outputs() -> None:
    nodes = [node("Identity", ["x"], ["y"]), node("Relu", ["x"], ["z"])]
    proto = model(nodes, {"x": [3]}, ["y", "z", "k"], {"k": random((3,), 2, np.float16)}, dtype=TensorProto.FLOAT16)
    graph = check_pass(convert_float16, proto, reference=False)
    assert {v.dtype.name for v in graph.outputs} == {"float16"}


def test_attributes_that_name_float16() -> None:
    eye = node("EyeLike", ["x"], ["e"], dtype=TensorProto.FLOAT16)
    proto = model([eye, node("Add", ["h", "e"], ["y"])], {"x": [3, 3]}, ["y"])
    proto.graph.input.append(helper.make_tensor_value_info("h", TensorProto.FLOAT16, [3, 3]))
    graph = import_model(proto)
    converted = convert_float16(graph)
    verify_graph(converted, "convert_float16")
    assert "float16" not in {v.dtype.name for n in converted.nodes[:-1] for v in n.outputs if v}


def test_without_float16_nothing_changes() -> None:
    graph = import_model(model([node("Relu", ["x"], ["y"])], {"x": [2]}, ["y"]))
    assert convert_float16(graph) is graph


def test_equal_nodes_and_constants_are_merged() -> None:
    nodes = [
        node("Add", ["x", "a"], ["p"]),
        node("Add", ["x", "b"], ["q"]),
        node("LeakyRelu", ["p"], ["r"], alpha=0.5),
        node("LeakyRelu", ["q"], ["s"], alpha=0.5),
        node("LeakyRelu", ["q"], ["t"], alpha=0.25),
        node("Sum", ["r", "s", "t"], ["y"]),
    ]
    values = {"a": random((3,)), "b": random((3,))}
    graph = check_pass(merge_duplicates, model(nodes, {"x": [3]}, ["y"], values))
    assert ops(graph) == ["Add", "LeakyRelu", "LeakyRelu", "Sum"]
    assert len(graph.constants) == 1


def test_constants_that_differ_in_dtype_shape_or_sign_of_zero_stay_apart() -> None:
    values = {"a": np.zeros(1, np.float32), "b": np.zeros((), np.float32), "c": np.float32(-0.0).reshape(1)}
    values["d"] = np.zeros(1, np.int32)
    nodes = [node("Cast", ["x"], ["i"], to=TensorProto.INT32), node("Add", ["i", "d"], ["y"])]
    nodes += [node("Div", ["x", name], [f"y{name}"]) for name in "abc"]
    graph = import_model(model(nodes, {"x": [3]}, ["y", "ya", "yb", "yc"], values))
    assert merge_duplicates(graph) is graph


def test_outputs_keep_their_own_names() -> None:
    nodes = [node("Neg", ["x"], ["y"]), node("Neg", ["x"], ["z"]), node("Neg", ["x"], ["a"]), node("Abs", ["a"], ["b"])]
    graph = check_pass(merge_duplicates, model(nodes, {"x": [3]}, ["y", "z", "b"]))
    assert ops(graph) == ["Neg", "Neg", "Abs"]


def test_pass_names_are_those_of_their_files() -> None:
    for run in GRAPH_PASSES:
        assert run.__module__.rpartition(".")[2] == run.__name__


def test_observer_is_told_every_pass() -> None:
    seen: list[str] = []
    graph = import_model(model([node("Relu", ["x"], ["y"])], {"x": [2]}, ["y"]))
    assert run_graph_passes(graph, observe=lambda name, _: seen.append(name)) is graph
    assert seen == [run.__name__ for run in GRAPH_PASSES]


def _all_passes(graph: Graph) -> Graph:
    return run_graph_passes(graph, observe=lambda name, result: verify_graph(result, name))


def test_a_small_network() -> None:
    values = {"w": random((8, 3, 3, 3)), "b": random((8,), 1), "g": random((8,), 2), "n": random((8,), 3)}
    values |= {"m": random((8,), 4), "v": np.abs(random((8,), 5)) + 0.5, "fc": random((5, 8), 6)}
    nodes = [
        node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c", "g", "n", "m", "v"], ["bn"]),
        node("Dropout", ["bn"], ["d", "mask"]),
        node("Relu", ["d"], ["r"]),
        node("GlobalAveragePool", ["r"], ["p"]),
        node("Shape", ["p"], ["s"]),
        node("Reshape", ["p", "s"], ["same"]),
        node("Flatten", ["same"], ["f"]),
        node("Gemm", ["f", "fc"], ["o"], transB=1),
        node("Identity", ["o"], ["y"]),
    ]
    graph = check_pass(_all_passes, model(nodes, {"x": [2, 3, 6, 6]}, ["y"], values))
    assert ops(graph) == ["Conv", "Relu", "GlobalAveragePool", "Flatten", "Gemm"]


@pytest.mark.parametrize("path", sorted(LIGHT.glob("*.onnx")), ids=lambda p: p.stem)
def test_light_models(path: Path) -> None:
    before = import_model(path)
    verify_graph(before, "import_model")
    after = _all_passes(before)
    assert [repr(v) for v in after.outputs] == [repr(v) for v in before.outputs]
    assert run_graph_passes(after) is after
    kinds = Counter(ops(after))
    assert not kinds.keys() & {"Identity", "Dropout"}
    if path.stem in ("light_resnet50", "light_inception_v2", "light_shufflenet"):
        assert "BatchNormalization" not in kinds


@pytest.mark.parametrize(
    ("name", "shape"),
    [("mnist", None), ("superres_x3_core", ("_ppp5_expanded", (1, 1, 12, 10)))],
)
def test_shared_models_against_onnxruntime(name: str, shape: tuple[str, tuple[int, ...]] | None) -> None:
    path = SHARED / "models" / f"{name}.onnx"
    if not path.exists():
        pytest.skip(f"{path.name} is not there: set WEBNN_SHARED to the folder of shared models")
    before = import_model(path, ModelInputs(dict([shape] if shape else [])))
    feeds = feeds_of(before)
    assert_close(evaluate_graph(_all_passes(before), feeds), onnxruntime_results(onnx.load(path), feeds), 1e-4)


def test_duplicate_array_attributes() -> None:
    tensor = numpy_helper.from_array(np.float32([7]), "t")
    nodes = [node("ConstantOfShape", ["n"], [name], value=tensor) for name in "ab"] + [node("Add", ["a", "b"], ["y"])]
    proto = model(nodes, {}, ["y"], {})
    proto.graph.input.append(helper.make_tensor_value_info("n", TensorProto.INT64, [1]))
    # Known only to this graph, so that the two nodes are not folded.
    fill = {"value": np.float32([7])}
    graph = import_model(model([node("Neg", ["x"], ["a"]), node("Neg", ["x"], ["b"]), nodes[2]], {"x": [1]}, ["y"]))
    twins = tuple(Node(n.op, n.name, n.inputs, n.outputs, fill, n.opset) for n in graph.nodes[:2])
    merged = merge_duplicates(Graph(graph.name, graph.inputs, graph.outputs, (*twins, graph.nodes[2]), {}))
    assert ops(merged) == ["Neg", "Add"]
