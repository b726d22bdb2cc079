"""Attention and QAttention of com.microsoft: weights of queries, keys and values in one matrix, and past and present in
one tensor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import sqrt

from ...dtypes import F16, F32, I8, I32, U8
from ...ir.sizes import size
from ...tensor import Tensor, compute
from ..call import Call
from ..movement.joining import joined
from ..quantisation.quantized_linear import mat_mul_integer_to_float
from ..reductions.softmax import softmax_of
from .attention import dot_products, weighted_sums
from .heads import heads_joined, heads_of
from .linear import mat_mul_of
from .masked_scores import masked

INPUT, WEIGHTS, BIAS, MASK, PAST, SCORE_BIAS, PAST_LENGTH = range(7)


def _packed_attention(call: Call) -> tuple[Tensor, ...]:
    """softmax(Q K' * scale + bias and mask) V, with [Q, K, V] = input * weights + bias; then the keys and values with
    those of the past before them."""
    call.check_dtypes((INPUT, WEIGHTS, BIAS, PAST, SCORE_BIAS), F32, F16)
    return _attention(call, _projected)


def _quantized_attention(call: Call) -> tuple[Tensor, ...]:
    """Attention whose input and weights are quantised: scales follow the bias, zero points the mask. What `_attention`
    reads besides has the numbers that it has there."""
    x, weights, bias, x_scale, w_scale, mask, x_zero, w_zero, past = (call.optional(i) for i in range(9))
    call.check_dtypes((0, 6), U8, I8)
    call.check_dtypes((1, 7), U8, I8)
    call.check_dtypes((2, 3, 4, 8), F32, F16)
    operands = (x, weights, x_scale, w_scale, x_zero, w_zero, bias)

    def projected(own: Call) -> Tensor:
        own.input(INPUT, (None, None, None))
        return mat_mul_integer_to_float(replace(call, name=f"{call.name}.projected", inputs=operands))

    return _attention(replace(call, inputs=(x, weights, bias, mask, past)), projected)


def _attention(call: Call, project: Callable[[Call], Tensor]) -> tuple[Tensor, ...]:
    """Attention of its inputs, of which `project` makes queries, keys and values of all heads side by side: (batch,
    length, columns of weights)."""
    call.check_dtypes((MASK, PAST_LENGTH), I32)
    _check_refused(call)
    heads, sizes = _head_sizes(call)
    projected = project(call)
    query = heads_of(f"{call.name}.queries", projected, heads, sizes[0])
    present = _present(call, projected, heads, sizes)
    if present is None:
        key = heads_of(f"{call.name}.keys", projected, heads, sizes[0], heads * sizes[0])
        value = heads_of(f"{call.name}.values", projected, heads, sizes[1], heads * 2 * sizes[0])
    else:
        key, value = (
            compute(f"{call.name}.{what}", present.shape[1:], (present,), lambda *i, k=k: present[k, *i])
            for k, what in enumerate(("keys", "values"))
        )
    scale = call.attribute("scale", 0.0) or 1 / sqrt(sizes[0])
    products = dot_products(f"{call.name}.products", query, key, scale)
    scores = masked(call, products, MASK, SCORE_BIAS, size(key.shape[2] - query.shape[2]))
    weights = softmax_of(f"{call.name}.softmax", scores, (3,))
    result = heads_joined(call, weighted_sums(call.name, weights, value))
    return (result,) if present is None else (result, present)


def _check_refused(call: Call) -> None:
    if call.flag("do_rotary", 0):
        raise call.unsupported(
            "attribute do_rotary=1: it rotates queries and keys itself",
            "export the rotation as operators of ai.onnx",
        )
    if call.attribute("past_present_share_buffer", 0):
        raise call.unsupported(
            "attribute past_present_share_buffer=1: past and present are one tensor, which it writes in place",
            "export it with past_present_share_buffer=0",
        )


def _head_sizes(call: Call) -> tuple[int, tuple[int, int]]:
    """How many heads there are, and the elements of one of the queries and keys, and of the values."""
    heads, (columns,) = call.attribute("num_heads", 0), call.fixed(call.input(WEIGHTS, (None, None)), (1,))
    none: tuple[int, ...] = ()
    hidden = call.attribute("qkv_hidden_sizes", none) or (columns // 3,) * 3
    fits = len(hidden) == 3 and hidden[0] == hidden[1] and sum(hidden) == columns
    if not fits or heads < 1 or any(n < 1 or n % heads for n in hidden):
        raise call.unsupported(
            f"{columns} columns of weights are not queries, keys and values of num_heads={heads} heads, with "
            f"qkv_hidden_sizes={list(hidden)}",
            "the model is invalid: export it again",
        )
    return heads, (hidden[0] // heads, hidden[2] // heads)


def _projected(call: Call) -> Tensor:
    """input * weights + bias."""
    weights = call.input(WEIGHTS)
    product = mat_mul_of(call, call.input(INPUT, (None, None, None)), weights, f"{call.name}.projected")
    bias = call.optional(BIAS, weights.shape[1:])
    if bias is None:
        return product
    return compute(f"{call.name}.biased", product.shape, (product, bias), lambda b, i, c: product[b, i, c] + bias[c])


def _present(call: Call, projected: Tensor, heads: int, sizes: tuple[int, int]) -> Tensor | None:
    """Keys and values in one tensor, (2, batch, heads, length, size), with those of the past before them. None where
    the node has neither past nor present."""
    batch, length, _ = projected.shape
    extent = sizes[0]
    past = call.optional(PAST, (2, batch, heads, None, extent))
    if past is None and call.outputs < 2:
        return None
    if extent != sizes[1]:
        raise call.unsupported(
            f"it has past or present, where heads of keys have {extent} elements and those of values {sizes[1]}",
            "the model is invalid: export it again",
        )
    new = compute(
        f"{call.name}.{'present' if past is None else 'new'}",
        (2, batch, heads, length, extent),
        (projected,),
        lambda k, b, h, i, d: projected[b, i, (k * heads + h) * extent + d + heads * extent],
    )
    return new if past is None else joined(f"{call.name}.present", [past, new], 3)


OPERATORS = {"Attention": _packed_attention, "QAttention": _quantized_attention}
