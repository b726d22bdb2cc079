"""Scaled dot-product attention (ONNX opset 23 to 25, as onnx 1.23.2 defines them), with past keys and values, groups of
heads, masks, windows and soft caps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt

from ...dtypes import BOOL, F16, F32, DType
from ...ir.construct import all_of, select, unary
from ...ir.nodes import Const, Expr
from ...ir.sizes import Size, equal, is_one, known_less, shown, text_of
from ...tensor import Tensor, compute
from ..call import Call
from ..elementwise.casting import onnx_dtype
from ..movement.gather import to_int32
from ..movement.joining import joined
from ..reductions.reduce_axes import reduce_over
from ..reductions.softmax import softmax_of
from .heads import heads_joined, heads_of

Q, K, V, MASK, PAST_KEY, PAST_VALUE, NONPAD = range(7)

PADDED_MASKS = 24
"""The opset from which on a mask may be shorter than the keys."""

_FARTHEST = 2**31 - 1
"""Any two positions are closer."""


def _attention(call: Call) -> tuple[Tensor, ...]:
    """softmax(Q K' * scale + bias) V, of (batch, heads, length, size) or (batch, length, heads * size); then the keys
    and values with those of the past before them, then the scores at a stage of the way. Of a query that attends to no
    key the weights and the result are zeros."""
    _check_past(call)
    query = _by_heads(call, Q, "q_num_heads")
    key, value = _by_heads(call, K, "kv_num_heads"), _by_heads(call, V, "kv_num_heads")
    past = call.optional(PAST_KEY)
    before: Size = 0 if past is None else past.shape[2]
    key, value = _with_past(call, key, PAST_KEY, "keys"), _with_past(call, value, PAST_VALUE, "values")
    heads, shared = call.fixed(query, (1,))[0], call.fixed(key, (1,))[0]
    same = equal(query.shape[3], key.shape[3]) and equal(key.shape[1], value.shape[1])
    if not shared or heads % shared or not same:
        raise call.unsupported(
            f"queries {shown(query.shape)}, keys {shown(key.shape)} and values {shown(value.shape)} do not fit",
            "the model is invalid",
        )
    size = call.fixed_size(query.shape[3], f"of a head of {query.name!r}")
    scale = call.attribute("scale", 0.0) or 1 / sqrt(size)
    if not 0 < scale < float("inf"):
        raise call.unsupported(f"attribute scale={scale} is no positive number", "the model is invalid")
    stages = [dot_products(f"{call.name}.products", query, key, scale)]
    cap = call.attribute("softcap", 0.0)
    capped = stages[0]
    if cap > 0:
        capped = compute(
            f"{call.name}.capped", capped.shape, (stages[0],), lambda *i: unary("tanh", stages[0][i] / cap) * cap
        )
    biased = _biased(call, capped, before)
    precise = _in_precision(call, biased)
    weights = softmax_of(f"{call.name}.softmax", precise, (3,), zero_of_nothing=biased is not capped)
    weights = _cast(f"{call.name}.weights", weights, query.dtype)
    stages += [capped, biased, weights]
    result = weighted_sums(call.name, weights, value)
    mode = call.attribute("qk_matmul_output_mode", 0)
    if not 0 <= mode < len(stages):
        raise call.unsupported(f"attribute qk_matmul_output_mode={mode} is none of 0 to 3", "the model is invalid")
    stage = stages[mode]
    return _like_query(call, result), key, value, _cast(f"{call.name}.scores", stage, query.dtype)


def dot_products(name: str, query: Tensor, key: Tensor, scale: float) -> Tensor:
    """Q K' * scale of (batch, heads, length, size), where as many heads of the queries share one of the keys as there
    are times more of them."""
    batch, heads, length, size = query.shape
    # ONNX scales each factor by the root, which keeps sums of halves in range; a factor for each sum takes less time.
    early = scale if query.dtype == F16 else 1.0

    def product(b: Expr, h: Expr, i: Expr, j: Expr) -> Expr:
        other = _shared_head(query, key, h)

        def term(d: Expr) -> Expr:
            factor = query[b, h, i, d]
            return (factor if early == 1 else factor * early) * key[b, other, j, d]

        return reduce_over("sum", (size,), term)

    sums = compute(name, (batch, heads, length, key.shape[2]), (query, key), product)
    late = scale / early
    return sums if late == 1 else compute(f"{name}.scaled", sums.shape, (sums,), lambda *i: sums[i] * late)


def weighted_sums(name: str, weights: Tensor, value: Tensor) -> Tensor:
    """The values of each head, by the weights of each query: (batch, heads, length, size)."""

    def weighted(b: Expr, h: Expr, i: Expr, d: Expr) -> Expr:
        other = _shared_head(weights, value, h)
        return reduce_over("sum", (weights.shape[3],), lambda j: weights[b, h, i, j] * value[b, other, j, d])

    return compute(name, (*weights.shape[:3], value.shape[3]), (weights, value), weighted)


def _shared_head(t: Tensor, other: Tensor, head: Expr) -> Expr:
    """The head of `other` that one of `t` goes with."""
    group = t.extents[1] // other.extents[1]
    return head // group if group > 1 else head


def _by_heads(call: Call, index: int, attribute: str) -> Tensor:
    """An operand as (batch, heads, length, size)."""
    t = call.input(index)
    if t.rank == 4:
        return t
    heads = call.attribute(attribute, 0)
    if t.rank != 3 or heads < 1:
        raise call.unsupported(
            f"input {index} has shape {shown(t.shape)}, and {attribute} is {heads}", "the model is invalid"
        )
    whole = call.fixed(t, (2,))[0]
    size = whole // heads
    if size * heads != whole:
        raise call.unsupported(f"{whole} elements are not divided by {attribute}={heads}", "the model is invalid")
    return heads_of(f"{t.name}.heads", t, heads, size)


def _like_query(call: Call, t: Tensor) -> Tensor:
    """The result in the rank of the queries."""
    return t if call.input(Q).rank == 4 else heads_joined(call, t)


def _with_past(call: Call, t: Tensor, index: int, what: str) -> Tensor:
    past = call.optional(index)
    return t if past is None else joined(f"{call.name}.{what}", [past, t], 2)


def _check_past(call: Call) -> None:
    """Raises UnsupportedError for past keys without values, and for lengths of a cache beside them."""
    if call.has(PAST_KEY) != call.has(PAST_VALUE):
        raise call.unsupported("it has one of past_key and past_value without the other", "the model is invalid")
    if call.has(PAST_KEY) and call.has(NONPAD):
        raise call.unsupported("it has both past keys and nonpad_kv_seqlen", "the model is invalid")


def _biased(call: Call, scores: Tensor, before: Size) -> Tensor:
    """The scores, or minus infinity where a query must not attend to a key. Query i is at position `before` + i, or
    where `lengths` say how many keys there are, at the end of these: the last query attends to the last of them."""
    mask, lengths = call.optional(MASK), call.optional(NONPAD)
    bounds = _bounds(call)
    if mask is None and lengths is None and not bounds:
        return scores
    _check_fit(call, scores, mask, lengths)
    hidden = Const(float("-inf"), scores.dtype)

    def body(b: Expr, h: Expr, i: Expr, j: Expr) -> Expr:
        result, seen = scores[b, h, i, j], []
        if mask is not None:
            at = (b, h, i, j)
            inside = _inside(call, mask, j)
            if mask.dtype == BOOL:
                seen.append(_mask_element(mask, at, inside))
            else:
                bias = _mask_element(mask, at, inside).cast(scores.dtype)
                result = result + (bias if inside is None else select(inside, bias, hidden))
        position = i + before
        if lengths is not None:
            count = to_int32(lengths[b,])
            position = i + (count - scores.shape[2])
            seen.append(j < count)
        seen += [bound(position, j) for bound in bounds]
        return select(all_of(*seen), result, hidden) if seen else result

    return compute(f"{call.name}.biased", scores.shape, (scores, mask, lengths), body)


def _bounds(call: Call) -> list[Callable[[Expr, Expr], Expr]]:
    """The keys that a query attends to, by their positions, `bound(query's, key's)`: none after it where it is causal,
    so many before and after it in a window (opset 25), where -1 is any number."""
    left, right = call.attribute("left_window_size", -1), call.attribute("right_window_size", -1)
    for name, size in (("left_window_size", left), ("right_window_size", right)):
        if size < -1:
            raise call.unsupported(f"attribute {name}={size} is less than -1", "the model is invalid")
    bounds: list[Callable[[Expr, Expr], Expr]] = []
    if call.attribute("is_causal", 0) == 1:
        bounds.append(lambda query, key: key <= query)
    if left >= 0:
        bounds.append(lambda query, key: query - key <= min(left, _FARTHEST))
    if right >= 0:
        bounds.append(lambda query, key: key - query <= min(right, _FARTHEST))
    return bounds


def _check_fit(call: Call, scores: Tensor, mask: Tensor | None, lengths: Tensor | None) -> None:
    """Raises UnsupportedError for a mask that is not broadcast to the scores, but that from opset 24 on its last
    dimension may be shorter, and for lengths that are not those of the batch."""
    if mask is not None:
        reason = f"its mask of shape {shown(mask.shape)} does not fit scores of {shown(scores.shape)}"
        if not mask.rank or known_less(scores.shape[-1], mask.shape[-1]):
            raise call.unsupported(reason, "the model is invalid")
        fits = [None if is_one(a) else b for a, b in zip(mask.shape[::-1], scores.shape[::-1], strict=False)]
        if call.opset >= PADDED_MASKS:
            fits[0] = None
        call.check_shape(mask, [fits[::-1]], reason, "the model is invalid")
    if lengths is not None:
        reason = f"its lengths have shape {shown(lengths.shape)} in a batch of {text_of(scores.shape[0])}"
        call.check_shape(lengths, [scores.shape[:1]], reason, "the model is invalid")


def _inside(call: Call, mask: Tensor, j: Expr) -> Expr | None:
    """Whether a mask has an element for key `j`: from opset 24 on it may be shorter, and one of one key is. None where
    it is broadcast instead."""
    return j < mask.shape[-1] if call.opset >= PADDED_MASKS else None


def _mask_element(mask: Tensor, at: Sequence[Expr], inside: Expr | None) -> Expr:
    """The element of a mask that is broadcast; zero, or false, beyond its end."""
    broadcast = [n == 1 for n in mask.shape[:-1]] + [inside is None and is_one(mask.shape[-1])]
    return mask.read([Const(0) if b else i for b, i in zip(broadcast, at[4 - mask.rank :], strict=True)], inside)


def _in_precision(call: Call, t: Tensor) -> Tensor:
    """In the type in which the softmax is to be computed, or in float32 for float16."""
    if "softmax_precision" not in call.attributes:
        return t
    requested = onnx_dtype(call, "softmax_precision", 0)
    if not requested.is_float:
        raise call.unsupported(f"attribute softmax_precision is {requested}, no type of floats", "the model is invalid")
    return _cast(f"{call.name}.precise", t, F32 if requested == F16 else requested)


def _cast(name: str, t: Tensor, dtype: DType) -> Tensor:
    return t if t.dtype == dtype else compute(name, t.shape, (t,), lambda *i: t[i].cast(dtype))


OPERATORS = {"Attention": _attention}
