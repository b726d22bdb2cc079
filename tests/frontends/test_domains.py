"""Operators of other domains: looked up, versioned and named by their domain, and not taken for those of ai.onnx."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import webnn_compile
from onnx import helper
from onnx_models import model, node
from webnn_compile.errors import UnsupportedError
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ops import OPERATORS
from webnn_compile.ops.call import Call
from webnn_compile.tensor import Tensor, compute

DOMAIN = "test.domain"
VERSION = 3
CALLS: list[Call] = []


def times(call: Call) -> Tensor:
    """x times the attribute `by`, which is 2 by default."""
    CALLS.append(call)
    x, by = call.input(0), call.attribute("by", 2.0)
    if by < 0:
        raise call.unsupported(f"by={by} is negative", "use another factor")
    return compute(call.name, x.shape, (x,), lambda *axes: x[axes] * by)


@pytest.fixture(autouse=True)
def _operators(monkeypatch: pytest.MonkeyPatch) -> None:
    for op_type in ("Twice", "Identity", "Relu"):
        monkeypatch.setitem(OPERATORS, (DOMAIN, op_type), times)
    CALLS.clear()


def imported(*nodes: onnx.NodeProto, outputs: tuple[str, ...] = ("y",)) -> onnx.ModelProto:
    return model(list(nodes), {"x": [3]}, list(outputs), imports=[helper.make_opsetid(DOMAIN, VERSION)])


def run(proto: onnx.ModelProto) -> list[np.ndarray]:
    x = np.asarray([-1.5, 0, 4], np.float32)
    return list(webnn_compile.compile(proto, cache=False).run({"x": x}).values())


def test_an_operator_of_another_domain_runs() -> None:
    nodes = node("Twice", ["x"], ["t"], "twice", domain=DOMAIN), node("Relu", ["t"], ["y"])
    graph = import_model(imported(*nodes))
    found = [(n.domain, n.op, n.opset) for n in graph.nodes]
    assert found == [(DOMAIN, "test.domain.Twice", VERSION), ("", "Relu", 17)]
    assert {(c.domain, c.op, c.opset) for c in CALLS} == {(DOMAIN, "test.domain.Twice", VERSION)}
    np.testing.assert_array_equal(run(imported(*nodes))[0], [0, 0, 8])


def test_one_name_in_two_domains_is_two_operators() -> None:
    nodes = [node("Relu", ["x"], ["y"]), node("Relu", ["x"], ["z"], domain=DOMAIN)]
    y, z = run(imported(*nodes, outputs=("y", "z")))
    np.testing.assert_array_equal(y, [0, 0, 4])
    np.testing.assert_array_equal(z, [-3, 0, 8])


def test_graph_passes_do_not_take_it_for_the_operator_of_that_name() -> None:
    nodes = [node("Identity", ["x"], ["i"], domain=DOMAIN), node("Neg", ["i"], ["y"])]
    graph = run_graph_passes(import_model(imported(*nodes)))
    assert [n.op for n in graph.nodes] == ["test.domain.Identity", "Neg"]
    np.testing.assert_array_equal(run(imported(*nodes))[0], [3, 0, -8])


def test_equal_calls_of_different_domains_are_not_merged() -> None:
    nodes = [node("Relu", ["x"], ["a"]), node("Relu", ["x"], ["b"], domain=DOMAIN), node("Sub", ["a", "b"], ["y"])]
    np.testing.assert_array_equal(run(imported(*nodes))[0], [3, 0, -4])


def test_what_is_constant_is_folded() -> None:
    nodes = [
        node("Constant", [], ["c"], value_floats=[1.0, 2.0, 3.0]),
        node("Twice", ["c"], ["t"], domain=DOMAIN),
        node("Add", ["x", "t"], ["y"]),
    ]
    assert [n.op for n in import_model(imported(*nodes)).nodes] == ["Add"]
    np.testing.assert_array_equal(run(imported(*nodes))[0], [0.5, 4, 10])


def test_float16_is_computed_in_float32() -> None:
    nodes = [node("Twice", ["x"], ["t"], domain=DOMAIN), node("Relu", ["t"], ["y"])]
    proto = model(
        nodes, {"x": [3]}, ["y"], imports=[helper.make_opsetid(DOMAIN, VERSION)], dtype=onnx.TensorProto.FLOAT16
    )
    (y,) = webnn_compile.compile(proto, cache=False).run({"x": np.asarray([-1, 2, 3], np.float16)}).values()
    np.testing.assert_array_equal(y, np.asarray([0, 4, 6], np.float16))


def test_messages_name_the_domain() -> None:
    with pytest.raises(UnsupportedError, match=r"test\.domain\.Twice \(node 'n'\): by=-1.0 is negative; use another"):
        import_model(imported(node("Twice", ["x"], ["y"], "n", domain=DOMAIN, by=-1.0)))
    with pytest.raises(UnsupportedError, match=r"test\.domain\.Thrice: 1 node 'n'"):
        import_model(imported(node("Thrice", ["x"], ["y"], "n", domain=DOMAIN)))


@pytest.mark.parametrize("op_type", ["Constant", "If"])
def test_control_flow_of_another_domain_is_not_that_of_onnx(op_type: str) -> None:
    with pytest.raises(UnsupportedError, match=rf"test\.domain\.{op_type}: 1 node 'n'"):
        import_model(imported(node(op_type, ["x"], ["y"], "n", domain=DOMAIN)))
