"""A decoder that adds its tokens up: at some step its logits are beyond any number."""

from __future__ import annotations

import onnx
from onnx import TensorProto, helper

COUNTING = ("--state", "past=present", "--dim", "rows=1..2", "--dim", "past=0..12")
"""Options of the command line."""


def counting_model(step: float) -> onnx.ModelProto:
    """The sum of all tokens so far, by which 40 logits are multiplied, each larger by `step` than the one before: so
    the last token is the likeliest."""
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, [1, "rows"])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 40])
    past, present = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, n]) for n in ("past", "present"))
    nodes = [
        helper.make_node("Cast", ["ids"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("Concat", ["past", "numbers"], ["present"], axis=1),
        helper.make_node("ReduceSum", ["present", "axes"], ["sum"]),
        helper.make_node("MatMul", ["sum", "each"], ["logits"]),
    ]
    constants = [
        helper.make_tensor("axes", TensorProto.INT64, [1], [1]),
        helper.make_tensor("each", TensorProto.FLOAT, [1, 40], [step * i for i in range(40)]),
    ]
    graph = helper.make_graph(nodes, "counting", [ids, past], [logits, present], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
