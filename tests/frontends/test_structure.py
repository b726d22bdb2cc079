"""Functions, branches, optional inputs, names and outputs."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import assert_close, model, node, onnxruntime_results, random
from webnn_compile.errors import InputError, InternalError, UnsupportedError
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.evaluate import evaluate_graph
from webnn_compile.graph.verify import verify_graph
from webnn_compile.ops import OPERATORS


def check(proto: onnx.ModelProto, **inputs: tuple[int, ...]) -> list[str]:
    """Compares with onnxruntime; the node names of the imported graph."""
    feeds = {name: random(shape, i) for i, (name, shape) in enumerate(inputs.items())}
    graph = import_model(proto)
    verify_graph(graph, "import_model")
    assert_close(evaluate_graph(graph, feeds), onnxruntime_results(proto, feeds))
    return [n.name for n in graph.nodes]


def test_functions_are_inlined() -> None:
    inner = helper.make_function(
        "my", "Scale", ["a"], ["b"], [node("Mul", ["a", "a"], ["b"], "square")], [helper.make_opsetid("", 17)]
    )
    outer = helper.make_function(
        "my",
        "Twice",
        ["a"],
        ["c"],
        [node("Scale", ["a"], ["b"], domain="my"), node("LeakyRelu", ["b"], ["c"])],
        [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)],
    )
    nodes = [node("Twice", ["x"], ["t"], "first", domain="my"), node("Twice", ["t"], ["y"], "second", domain="my")]
    names = check(
        model(nodes, {"x": [3]}, ["y"], functions=[inner, outer], imports=[helper.make_opsetid("my", 1)]), x=(3,)
    )
    assert len(names) == 4
    assert len(set(names)) == 4


def test_function_attributes_reach_its_nodes() -> None:
    leaky = node("LeakyRelu", ["a"], ["b"])
    leaky.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    function = helper.make_function("my", "Leak", ["a"], ["b"], [leaky], [helper.make_opsetid("", 17)], ["slope"])
    nodes = [node("Leak", ["x"], ["y"], domain="my", slope=0.75)]
    graph = import_model(model(nodes, {"x": [3]}, ["y"], functions=[function], imports=[helper.make_opsetid("my", 1)]))
    assert [(n.op, n.attributes) for n in graph.nodes] == [("LeakyRelu", {"alpha": 0.75})]


def test_function_of_another_opset() -> None:
    function = helper.make_function(
        "my", "F", ["a"], ["b"], [node("Relu", ["a"], ["b"])], [helper.make_opsetid("", 18)]
    )
    nodes = [node("F", ["x"], ["y"], domain="my")]
    graph = import_model(model(nodes, {"x": [3]}, ["y"], functions=[function], imports=[helper.make_opsetid("my", 1)]))
    assert [n.op for n in graph.nodes] == ["Relu"]


def test_functions_of_other_opsets_that_call_each_other() -> None:
    """Types are not known inside of them, which converting versions needs."""
    older, mine = [helper.make_opsetid("", 16)], helper.make_opsetid("my", 1)
    inner = helper.make_function(
        "my", "Inner", ["a"], ["b"], [node("IsNaN", ["a"], ["n"]), node("Not", ["n"], ["b"])], older
    )
    outer = helper.make_function(
        "my",
        "Outer",
        ["a", "c"],
        ["d"],
        [node("Inner", ["a"], ["b"], domain="my"), node("Where", ["b", "a", "c"], ["d"])],
        [*older, mine],
    )
    nodes = [node("Outer", ["x", "x"], ["y"], domain="my")]
    made = model(nodes, {"x": [3]}, ["y"], functions=[inner, outer], imports=[mine])
    assert check(made, x=(3,)) != []
    assert [f.opset_import[0].version for f in made.functions] == [16, 16], "the caller's model is changed"


def test_sparse_initialiser_of_a_branch() -> None:
    values = helper.make_tensor("w", TensorProto.FLOAT, [1], [5])
    indices = helper.make_tensor("at", TensorProto.INT64, [1], [2])
    output = helper.make_tensor_value_info("o", TensorProto.FLOAT, [3])
    graph = helper.make_graph([node("Add", ["x", "w"], ["o"])], "branch", [], [output])
    graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [3]))
    proto = model(
        [node("If", ["c"], ["y"], then_branch=graph, else_branch=graph)], {"x": [3]}, ["y"], {"c": np.asarray(True)}
    )
    x = random((3,))
    assert_close(evaluate_graph(import_model(proto), {"x": x}), {"y": x + np.asarray([0, 0, 5], np.float32)})


@pytest.mark.parametrize("within", [True, False])
def test_operators_in_two_versions(within: bool) -> None:
    imports = [helper.make_opsetid(domain, version) for domain, version in (("ai.onnx", 13), ("", 17))]
    function = helper.make_function(
        "my", "F", ["a"], ["b"], [node("Relu", ["a"], ["b"])], imports if within else imports[1:]
    )
    mine = helper.make_opsetid("my", 1)
    proto = model([node("F", ["x"], ["y"], domain="my")], {"x": [3]}, ["y"], functions=[function], imports=[mine])
    if not within:
        proto.opset_import.append(imports[0])
    with pytest.raises(InputError, match=r"imports the operators of 'ai.onnx' in the versions (13 and 17|17 and 13);"):
        import_model(proto)
    for i in (*proto.functions[0].opset_import, *proto.opset_import):
        i.version = 1 if i.domain == "my" else 17
    assert [n.op for n in import_model(proto).nodes] == ["Relu"]


def test_unsupported_node_within_a_function() -> None:
    function = helper.make_function(
        "my", "F", ["a"], ["b"], [node("Mystery", ["a"], ["b"], "m")], [helper.make_opsetid("", 17)]
    )
    nodes = [node("F", ["x"], ["y"], domain="my")]
    proto = model(nodes, {"x": [3]}, ["y"], functions=[function], imports=[helper.make_opsetid("my", 1)])
    with pytest.raises(UnsupportedError, match=r"Mystery \(no operator of opset 17\): 1 node 'm"):
        import_model(proto)


def test_operators_that_onnx_defines_by_others_are_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    for op in ("HardSwish", "MeanVarianceNormalization", "Celu"):
        monkeypatch.delitem(OPERATORS, ("", op), raising=False)
    nodes = [node("Celu", ["x"], ["c"], alpha=0.5), node("HardSwish", ["c"], ["h"])]
    nodes.append(node("MeanVarianceNormalization", ["h"], ["y"], axes=[0, 2, 3]))
    assert len(check(model(nodes, {"x": [2, 3, 4, 4]}, ["y"]), x=(2, 3, 4, 4))) > 6


def test_an_expansion_that_would_not_help_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(OPERATORS, ("", "Celu"), raising=False)
    monkeypatch.delitem(OPERATORS, ("", "Elu"))
    with pytest.raises(UnsupportedError) as caught:
        import_model(model([node("Celu", ["x"], ["y"], "celu")], {"x": [2]}, ["y"]))
    assert "Celu: 1 node 'celu'" in str(caught.value)
    assert "Elu:" not in str(caught.value).replace("Celu:", "")


def _branch(op: str, source: str, name: str) -> onnx.GraphProto:
    # Both branches use the same inner names, as exporters do.
    return helper.make_graph(
        [node("Constant", [], ["two"], value_float=2.0), node(op, [source, "two"], ["inner"])],
        name,
        [],
        [helper.make_tensor_value_info("inner", TensorProto.FLOAT, None)],
    )


@pytest.mark.parametrize("first", [True, False])
def test_if_with_a_known_condition(first: bool) -> None:
    nodes = [node("Constant", [], ["c"], value=helper.make_tensor("c", TensorProto.BOOL, [], [first]))]
    nodes.append(node("Not", ["c"], ["d"]))
    for i, (source, made, condition) in enumerate((("x", "a", "c"), ("a", "y", "d"))):
        branches = {"then_branch": _branch("Add", source, "t"), "else_branch": _branch("Mul", source, "e")}
        nodes.append(node("If", [condition], [made], f"if{i}", **branches))
    check(model(nodes, {"x": [3]}, ["y", "a"]), x=(3,))


def test_if_with_a_computed_condition() -> None:
    nodes = [node("ReduceSum", ["x"], ["s"], keepdims=0), node("Cast", ["s"], ["c"], to=TensorProto.BOOL)]
    branches = {"then_branch": _branch("Add", "x", "t"), "else_branch": _branch("Mul", "x", "e")}
    nodes.append(node("If", ["c"], ["y"], "choice", **branches))
    check(model(nodes, {"x": [3]}, ["y"]), x=(3,))


def test_opset_7() -> None:
    nodes = [
        node("Conv", ["x", "w"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c", "g", "b", "m", "v"], ["n"]),
        node("Relu", ["n"], ["r"]),
        node("Dropout", ["r"], ["d"], ratio=0.5),
        node("Upsample", ["d"], ["u"], scales=[1.0, 1.0, 2.0, 2.0]),
        node("Clip", ["u"], ["y"], min=0.0, max=1.0),
    ]
    weights = {"w": random((4, 2, 3, 3), 5), "g": random((4,), 6), "b": random((4,), 7), "m": random((4,), 8)}
    weights["v"] = np.abs(random((4,), 9)) + 1
    check(model(nodes, {"x": [1, 2, 5, 5]}, ["y"], weights, opset=7), x=(1, 2, 5, 5))


def test_newest_opset() -> None:
    newest = onnx.defs.onnx_opset_version()
    graph = import_model(model([node("Relu", ["x"], ["y"])], {"x": [2]}, ["y"], opset=newest))
    assert graph.nodes[0].opset == newest


def test_optional_inputs_may_be_left_out() -> None:
    nodes = [node("Clip", ["x", "", "high"], ["y"], "clip")]
    proto = model(nodes, {"x": [9]}, ["y"], {"high": np.array(0.5, np.float32)})
    assert check(proto, x=(9,)) == ["clip"]
    assert [v and v.name for v in import_model(proto).nodes[0].inputs] == ["x", None, "high"]


def test_nodes_without_or_with_repeated_names_get_stable_ones() -> None:
    nodes = [node("Relu", ["x"], ["a"]), node("Neg", ["a"], ["b"], "same"), node("Abs", ["b"], ["c"], "same")]
    nodes.append(node("Relu", ["c"], ["y"]))
    graph = import_model(model(nodes, {"x": [2]}, ["y"]))
    assert [n.name for n in graph.nodes] == ["Relu_0", "same", "same_2", "Relu_3"]


def test_outputs_that_are_inputs_constants_or_listed_twice() -> None:
    proto = model(
        [node("Identity", ["w"], ["k"]), node("Relu", ["x"], ["r"])],
        {"x": [2]},
        ["x", "k", "r", "w"],
        {"w": random((3,))},
    )
    graph = import_model(proto)
    assert [v.name for v in graph.outputs] == ["x", "k", "r", "w"]


def test_custom_domain_alias() -> None:
    proto = model([node("Relu", ["x"], ["y"], domain="ai.onnx")], {"x": [2]}, ["y"])
    assert [n.op for n in import_model(proto).nodes] == ["Relu"]


def test_a_definition_that_breaks_is_our_fault_and_names_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(call: object) -> object:
        raise ValueError("surprise")

    monkeypatch.setitem(OPERATORS, ("", "Relu"), broken)
    with pytest.raises(InternalError, match=r"Relu \(node 'r'\): importing it failed with ValueError: surprise"):
        import_model(model([node("Relu", ["x"], ["y"], "r")], {"x": [2]}, ["y"]))


def test_function_of_onnx_with_default_attributes() -> None:
    proto = model([node("HannWindow", ["n"], ["w"]), node("Mul", ["x", "w"], ["y"])], {"x": [8]}, ["y"], {"n": 8})
    graph = import_model(proto)
    (mul,) = graph.nodes
    window = graph.constants[mul.inputs[1]]
    np.testing.assert_allclose(window, np.hanning(9)[:8], atol=1e-6)


def test_inference_of_a_function_with_default_attributes() -> None:
    proto = model([node("MeanVarianceNormalization", ["x"], ["y"])], {"x": [2, 3, 4, 5]}, ["y"])
    (made,) = import_model(proto).nodes
    assert (made.op, dict(made.attributes)) == ("MeanVarianceNormalization", {})


def test_a_body_without_an_input_between_others() -> None:
    """ONNX's own inliner fails on such nodes."""
    nodes = [
        node("CausalConvWithState", ["x", "w", "", "past"], ["a", "next"]),
        node("CausalConvWithState", ["a", "w", "", "past"], ["y", "last"], activation="silu"),
    ]
    x, w, past = random((1, 2, 5)), random((2, 1, 3)), random((1, 2, 2))

    def convolved(v: np.ndarray) -> np.ndarray:
        padded = np.concatenate([past, v], 2)
        return np.asarray(sum(padded[:, :, k : k + 5] * w[:, 0, k, None] for k in range(3)))

    shapes = {"x": [1, 2, 5], "w": [2, 1, 3], "past": [1, 2, 2]}
    graph = import_model(model(nodes, shapes, ["y", "next"], opset=27))
    again = convolved(convolved(x))
    expected = {"y": again / (1 + np.exp(-again)), "next": x[:, :, -2:]}
    assert_close(evaluate_graph(graph, {"x": x, "w": w, "past": past}), expected)


def test_a_definition_that_fails_on_an_invalid_node_is_no_fault_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the importer knows the shape that Reshape is given here."""

    def fail(_: object) -> None:
        raise TypeError("no such axis")

    monkeypatch.setitem(OPERATORS, ("", "MatMul"), fail)
    nodes = [
        node("Add", ["s", "s"], ["shape"]),
        node("Reshape", ["x", "shape"], ["r"]),
        node("MatMul", ["r", "w"], ["y"], "product"),
    ]
    weights = {"s": np.asarray([2, 2]), "w": random((3, 2))}
    with pytest.raises(InputError, match=r"is not a valid ONNX model: MatMul \(node 'product'\): .*export it again"):
        import_model(model(nodes, {"x": [16]}, ["y"], weights))
    weights["w"] = random((4, 2))
    with pytest.raises(InternalError, match=r"MatMul \(node 'product'\): importing it failed with TypeError: no such"):
        import_model(model(nodes, {"x": [16]}, ["y"], weights))
