"""Attention: sums of values, weighted by products of queries and keys."""

from __future__ import annotations

import numpy as np
import onnx

from ..call import Call, Handler, Value

_NEVER = -1e9
"""The score of a position that a mask excludes."""


def _operands(call: Call, names: tuple[str, ...]) -> dict[str, Value]:
    """Positional arguments by these names, and those given by name."""
    found = dict(zip(names, call.args, strict=False)) | call.keywords
    return {name: v for name, v in found.items() if isinstance(v, Value)}


def _projected(call: Call, x: Value, i: int) -> str:
    """A product with weights inputs x heads x size and its bias, as batch x steps x heads x size."""
    with_bias = bool(call.option("use_bias", True))
    kernel = call.weight(2 * i if with_bias else i)
    inputs, heads, size = kernel.shape
    result = call.node("MatMul", [x.name, call.constant(kernel.reshape(inputs, heads * size), "kernel")])
    if with_bias:
        result = call.node("Add", [result, call.constant(call.weight(2 * i + 1).reshape(-1), "bias")])
    return call.node("Reshape", [result, call.integers([0, 0, heads, size])])


def _multi_head_attention(call: Call) -> list[Value]:
    given = _operands(call, ("query", "value", "key", "query_mask", "value_mask", "key_mask", "attention_mask"))
    if any(name.endswith(("query_mask", "value_mask", "key_mask")) for name in given):
        raise call.unsupported("it is given a mask of its queries, values or keys; give it an attention_mask")
    if any(v.rank != 3 for name, v in given.items() if name in ("query", "value", "key")):
        raise call.unsupported("it is called on other than batch x steps x features")
    query, value = call.real(given["query"]), call.real(given["value"])
    key = call.real(given["key"]) if "key" in given else value
    heads = call.weight(0).shape[1:]
    scaled = call.node("Mul", [_projected(call, query, 0), call.number(float(1 / np.sqrt(heads[1])))])
    q = call.node("Transpose", [scaled], perm=[0, 2, 1, 3])
    k = call.node("Transpose", [_projected(call, key, 1)], perm=[0, 2, 3, 1])
    v = call.node("Transpose", [_projected(call, value, 2)], perm=[0, 2, 1, 3])
    scores = _masked(call, call.node("MatMul", [q, k]), given.get("attention_mask"))
    weights = call.node("Softmax", [scores], axis=-1)
    mixed = call.node("Transpose", [call.node("MatMul", [weights, v])], perm=[0, 2, 1, 3])
    with_bias = bool(call.option("use_bias", True))
    kernel = call.weight(6 if with_bias else 3)
    flat = kernel.reshape(-1, kernel.shape[-1])
    joined = call.node("Reshape", [mixed, call.integers([0, 0, len(flat)])])
    result = call.node("MatMul", [joined, call.constant(flat, "output_kernel")])
    if with_bias:
        result = call.node("Add", [result, call.constant(call.weight(7), "output_bias")])
    found = [Value(result, 3)]
    return [*found, Value(weights, 4)] if call.keywords.get("return_attention_scores") else found


def _masked(call: Call, scores: str, mask: Value | None) -> str:
    """Scores batch x heads x queries x keys, of which a mask and causality exclude some."""
    if mask is not None:
        allowed = mask.name if mask.dtype == "bool" else call.node("Cast", [mask.name], to=onnx.TensorProto.BOOL)
        if mask.rank == 3:
            allowed = call.node("Unsqueeze", [allowed, call.integers([1])])
        scores = call.node("Where", [allowed, scores, call.number(_NEVER)])
    if call.keywords.get("use_causal_mask"):
        ones = call.node("Add", [call.node("Mul", [scores, call.number(0)]), call.number(1)])
        earlier = call.node("Cast", [call.node("Trilu", [ones], upper=0)], to=onnx.TensorProto.BOOL)
        scores = call.node("Where", [earlier, scores, call.number(_NEVER)])
    return scores


def _attention(call: Call) -> Value:
    """Attention of queries, values and keys, which are the values where there are none."""
    values = [call.real(v) for v in call.values]
    if not 2 <= len(values) <= 3 or call.option("score_mode", "dot") != "dot" or call.keywords.get("use_causal_mask"):
        raise call.unsupported("its score_mode or its masks are not supported")
    query, value, key = values[0], values[1], values[-1]
    rank = query.rank
    across = call.node("Transpose", [key.name], perm=[*range(rank - 2), rank - 1, rank - 2])
    scores = call.node("MatMul", [query.name, across])
    if call.option("use_scale", False):
        scores = call.node("Mul", [scores, call.constant(call.weight(0), "scale")])
    return Value(call.node("MatMul", [call.node("Softmax", [scores], axis=-1), value.name]), rank)


LAYERS: dict[str, Handler] = {"Attention": _attention, "MultiHeadAttention": _multi_head_attention}
