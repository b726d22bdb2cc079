"""Models that crash ONNX's inference are refused before it: it would end the process, or take all memory."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx_models import model, node
from webnn_compile.errors import InputError
from webnn_compile.frontends.onnx import import_model


def constant(name: str, **value: object) -> onnx.NodeProto:
    return node("Constant", [], [name], f"make_{name}", **value)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (
            [node("Split", ["x"], ["y"], "n", num_outputs=2**31 - 1)],
            "has 1 outputs, and its attribute num_outputs is",
        ),
        *(
            ([node("DepthToSpace", ["x"], ["y"], "n", blocksize=block)], f"has the attribute blocksize={block}")
            for block in (0, -2, 2**32, 2**62)
        ),
        *(
            ([node("GatherND", ["x", "i"], ["y"], "n", batch_dims=dims)], f"has the attribute batch_dims={dims}")
            for dims in (-(2**31), -1, 2**40)
        ),
        *(
            ([node("LayerNormalization", ["x", "x"], ["y"], "n", axis=axis)], f"has the attribute axis={axis}")
            for axis in (2**31, -(2**31) - 1, 2**63 - 1)
        ),
        *(
            ([node("Attention", ["x", "x", "x"], ["y"], "n", **{name: 0})], f"has the attribute {name}=0")
            for name in ("q_num_heads", "kv_num_heads")
        ),
        ([node("OneHot", ["i", "none", "v"], ["y"], "n")], "has the depth 'none', which has no element"),
        (
            [
                constant("d", value=onnx.numpy_helper.from_array(np.zeros(0, np.int64))),
                node("OneHot", ["i", "d", "v"], ["y"], "n"),
            ],
            "has the depth 'd', which has no element",
        ),
        ([node("SplitToSequence", ["x", "nought"], ["y"], "n")], "has the split 'nought', which is 0"),
        (
            [constant("d", value_int=0), node("SplitToSequence", ["x", "d"], ["y"], "n")],
            "has the split 'd', which is 0",
        ),
        (
            [node("Scan", ["x"], ["y"], "n", num_scan_inputs=2**40)],
            "has 1 inputs, and its attribute num_scan_inputs is",
        ),
    ],
)
def test_the_message_names_node_and_fault(nodes: list[onnx.NodeProto], message: str) -> None:
    weights = {
        "i": np.zeros((2, 2), np.int64),
        "none": np.zeros(0, np.int64),
        "nought": np.asarray(0),
        "v": np.zeros(2, np.float32),
    }
    used = {name for n in nodes for name in n.input}
    opset = 23 if nodes[-1].op_type == "Attention" else 18
    proto = model(nodes, {"x": [4, 4]}, ["y"], {n: a for n, a in weights.items() if n in used}, opset=opset)
    if nodes[-1].op_type == "Scan":
        body = onnx.helper.make_graph([], "body", [], [])
        proto.graph.node[-1].attribute.append(onnx.helper.make_attribute("body", body))
    with pytest.raises(InputError) as raised:
        import_model(proto)
    assert f"{nodes[-1].op_type} (node 'n') {message}" in str(raised.value)
    assert str(raised.value).endswith("; export it again")


def test_others_are_left_alone() -> None:
    nodes = [
        node("OneHot", ["i", "depth", "v"], ["a"], axis=0),
        node("LayerNormalization", ["x", "s"], ["b"], axis=-1),
        node("GatherND", ["x", "i"], ["c"], batch_dims=1),
        node("Split", ["x"], ["d", "e"], num_outputs=2),
    ]
    weights = {
        "i": np.zeros((4, 1), np.int64),
        "depth": np.asarray([3]),
        "v": np.zeros(2, np.float32),
        "s": np.ones(4, np.float32),
    }
    import_model(model(nodes, {"x": [4, 4]}, list("abcde"), weights, opset=18))
