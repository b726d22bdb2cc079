"""Attention: sums of values, weighted by products of queries and keys."""

from __future__ import annotations

from functools import reduce

import numpy as np
import onnx

from ..call import Call, Handler, Value, values_of

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
    of_keys = [value, key] if "key" in given else [value]
    masks = [_along(call, query, [1, 3]), *(_along(call, v, [1, 2]) for v in of_keys)]
    scores, mask = call.node("MatMul", [q, k]), given.get("attention_mask")
    with_scores = bool(call.keywords.get("return_attention_scores"))
    weights, excluded = _weights(call, scores, [*masks, _given_mask(call, mask)])
    # Only where Keras 3 has no fused operator for it.
    if excluded and call.scope.dialect.masks_of_keras_3 and (with_scores or call.option("dropout", 0)):
        weights = call.node("Where", [excluded, call.number(0), weights])
    mixed = call.node("Transpose", [call.node("MatMul", [weights, v])], perm=[0, 2, 1, 3])
    with_bias = bool(call.option("use_bias", True))
    kernel = call.weight(6 if with_bias else 3)
    flat = kernel.reshape(-1, kernel.shape[-1])
    joined = call.node("Reshape", [mixed, call.integers([0, 0, len(flat)])])
    result = call.node("MatMul", [joined, call.constant(flat, "output_kernel")])
    if with_bias:
        result = call.node("Add", [result, call.constant(call.weight(7), "output_bias")])
    found = [Value(result, 3, mask=query.mask)]
    return [*found, Value(weights, 4)] if with_scores else found


def _along(call: Call, x: Value, axes: list[int]) -> str | None:
    """The mask of queries or keys, with one element on these axes of scores."""
    return None if x.mask is None else call.node("Unsqueeze", [call.known_mask(x), call.integers(axes)])


def _given_mask(call: Call, mask: Value | None) -> str | None:
    """An attention_mask as batch x heads x queries x keys."""
    if mask is None:
        return None
    allowed = mask.name if mask.dtype == "bool" else call.node("Cast", [mask.name], to=onnx.TensorProto.BOOL)
    return call.node("Unsqueeze", [allowed, call.integers([1])]) if mask.rank == 3 else allowed


def _weights(call: Call, scores: str, masks: list[str | None]) -> tuple[str, str | None]:
    """The softmax of scores ... x queries x keys, and which of them masks and causality exclude; None where they
    exclude none. A query all of whose keys are excluded has equal weights."""
    allowed = [mask for mask in masks if mask is not None]
    if call.keywords.get("use_causal_mask"):
        ones = call.node("Add", [call.node("Mul", [scores, call.number(0)]), call.number(1)])
        allowed.append(call.node("Cast", [call.node("Trilu", [ones], upper=0)], to=onnx.TensorProto.BOOL))
    if not allowed:
        return call.node("Softmax", [scores], axis=-1), None
    excluded = call.node("Not", [reduce(lambda a, b: call.node("And", [a, b]), allowed)])
    scores = call.node("Where", [excluded, call.number(_NEVER), scores])
    return call.node("Softmax", [scores], axis=-1), excluded


def _attention(call: Call) -> list[Value]:
    """Attention of queries, values and keys, which are the values where there are none."""
    values = [call.real(v) for v in values_of(call.args)]
    if not 2 <= len(values) <= 3 or call.option("score_mode", "dot") != "dot":
        raise call.unsupported("its score_mode or its operands are not supported")
    query, value, key = values[0], values[1], values[-1]
    rank = query.rank
    across = call.node("Transpose", [key.name], perm=[*range(rank - 2), rank - 1, rank - 2])
    scores = call.node("MatMul", [query.name, across])
    if call.option("use_scale", False):
        scores = call.node("Mul", [scores, call.constant(call.weight(0), "scale")])
    weights, _ = _weights(call, scores, [_along(call, value, [1])])
    result = call.node("MatMul", [weights, value.name])
    if (counted := _along(call, query, [2])) is not None:
        result = call.node("Where", [counted, result, call.number(0)])
    found = [Value(result, rank, mask=query.mask)]
    return [*found, Value(weights, rank)] if call.keywords.get("return_attention_scores") else found


LAYERS: dict[str, Handler] = {"Attention": _attention, "MultiHeadAttention": _multi_head_attention}
