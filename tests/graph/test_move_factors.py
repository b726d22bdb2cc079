"""Factors of keys go to the queries, where the keys are a cache."""

import numpy as np
import onnx
import pytest
from graph_checks import check_pass
from onnx import TensorProto, helper, numpy_helper
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.move_factors import move_factors


def attention(nodes: list[tuple[str, str, str]], cache: bool, factor: np.ndarray) -> onnx.ModelProto:
    """Scores of queries q and the keys `k`, which `nodes` (operator, operands, result) make a product of: keys are an
    output with `cache`."""
    made = [helper.make_node("Add", ["x", "x"], ["k"], name="keys")]
    for op, inputs, output in nodes:
        perm = {"perm": [0, 1, 3, 2]} if op == "Transpose" else {}
        made.append(helper.make_node(op, inputs.split(), [output], name=output, **perm))
    made.append(helper.make_node("MatMul", ["q", nodes[-1][2]], ["y"], name="product"))
    shapes = {"q": (1, 2, 3, 4), "x": (1, 2, 5, 4), "y": (1, 2, 3, 5), "k": (1, 2, 5, 4)}
    infos = {n: helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()}
    outputs = [infos["y"], *([infos["k"]] if cache else [])]
    weights = [numpy_helper.from_array(factor, "c")]
    graph = helper.make_graph(made, "attention", [infos["q"], infos["x"]], outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


BEHIND = [("Transpose", "k", "t"), ("Mul", "t c", "s")]
BEFORE = [("Mul", "c k", "s"), ("Transpose", "s", "t")]
DIVIDED = [("Transpose", "k", "t"), ("Div", "t c", "s")]
NUMBER = np.array(0.5, np.float32)


@pytest.mark.parametrize("nodes", [BEHIND, BEFORE, DIVIDED])
@pytest.mark.parametrize("factor", [NUMBER, NUMBER[None]], ids=["number", "array of one"])
def test_a_factor_of_cached_keys_goes_to_the_queries(nodes: list[tuple[str, str, str]], factor: np.ndarray) -> None:
    after = check_pass(move_factors, attention(nodes, True, factor))
    product = next(n for n in after.nodes if n.op == "MatMul")
    scaled, keys = (after.producers()[v] for v in product.inputs)
    assert scaled.op in ("Mul", "Div")
    assert scaled.inputs[0].name == "q" or scaled.inputs[1].name == "q"
    assert keys.op == "Transpose"
    assert keys.inputs[0].name == "k"


@pytest.mark.parametrize(
    ("nodes", "cache", "factor"),
    [
        (BEHIND, False, NUMBER),  # the factor is an epilogue of what computes the keys
        (BEHIND, True, np.ones(5, np.float32)),
        (BEHIND, True, np.ones((1, 1, 1, 1), np.float32)),
        ([("Transpose", "k", "t"), ("Div", "c t", "s")], True, NUMBER),
    ],
)
def test_other_operands_stay(nodes: list[tuple[str, str, str]], cache: bool, factor: np.ndarray) -> None:
    graph = import_model(attention(nodes, cache, factor))
    assert move_factors(graph) is graph
