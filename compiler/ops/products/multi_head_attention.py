"""MultiHeadAttention of com.microsoft, whose queries, keys and values are projected already, apart or packed; and
DecoderMaskedMultiHeadAttention, the same of one token."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

from ...dtypes import F16, F32, I32
from ...ir.construct import select
from ...ir.nodes import Const, Expr
from ...ir.sizes import Size, capacity, equal, number, shown, size, text_of
from ...tensor import Tensor, compute
from ..call import Call
from ..movement.joining import joined
from ..movement.scattering import overwritten
from ..reductions.softmax import softmax_of
from .attention import dot_products, weighted_sums
from .heads import first_keys, heads_joined, heads_of
from .masked_scores import masked

QUERY, KEY, VALUE, BIAS, MASK, SCORE_BIAS, PAST_KEY, PAST_VALUE, PAST_LENGTH, INDIRECTION = range(10)

_ONE_BEAM = "take the decoder's own model, of one beam"


@dataclass(frozen=True, slots=True)
class Buffer:
    """Where new keys and values are written into a buffer of a fixed length: from `start` on, which is computed from
    `reads`. The first `keys` of the buffer are attended to, and where that `is_bound`, those up to the last one."""

    start: Expr
    reads: tuple[Tensor, ...]
    keys: Size
    is_bound: bool


def multi_head_attention(call: Call) -> tuple[Tensor, ...]:
    """softmax(Q K' * scale + bias and mask) V; then keys and values with those of the past, and the scores."""
    call.check_dtypes((*range(BIAS + 1), SCORE_BIAS, PAST_KEY, PAST_VALUE), F32, F16)
    call.check_dtypes((MASK, PAST_LENGTH), I32)
    if call.has(INDIRECTION):
        raise call.unsupported("it has cache_indirection, the beams of a search", _ONE_BEAM)
    query, key, value = _operands(call)
    before = _past_length(call, key, value)
    buffer = _buffer(call, before, key.shape[2]) if call.has(PAST_LENGTH) else None
    present = [_written(call, i, t, buffer) for i, t in ((PAST_KEY, key), (PAST_VALUE, value))]
    keys, values = (t if buffer is None else first_keys(t, buffer.keys) for t in present)
    scale = call.attribute("scale", 0.0) or 1 / sqrt(query.extents[3])
    products = dot_products(f"{call.name}.products", query, keys, scale)
    if buffer is None:
        scores = masked(call, products, MASK, SCORE_BIAS, before)
    else:
        scores = masked(call, products, MASK, SCORE_BIAS, buffer.start, buffer.reads)
    weights = softmax_of(f"{call.name}.softmax", _bound(call, scores, key, buffer), (3,))
    return heads_joined(call, weighted_sums(call.name, weights, values)), *present, scores


def decoder_masked_multi_head_attention(call: Call) -> tuple[Tensor, ...]:
    """MultiHeadAttention with its inputs in another order, in which queries, keys and values may be side by side. Where
    it has a past, that is a buffer."""
    query, key, value, mask, bias, past_key, past_value, length, beams, indirection, projected = (
        call.optional(i) for i in range(11)
    )
    tokens = call.input(QUERY, (None, None, None)).shape[1]
    if not equal(tokens, 1):
        raise call.unsupported(f"its queries are {text_of(tokens)} tokens, not one", "the model is invalid")
    if beams is not None and call.known_sizes(8) != (1,):
        raise call.unsupported("it has beam_width, which is not known to be 1", _ONE_BEAM)
    if past_key is not None and not (call.attribute("past_present_share_buffer", 0) and length is not None):
        raise call.unsupported(
            "it has a past that is no buffer with past_present_share_buffer=1 and a past_sequence_length",
            "the model is invalid",
        )
    if key is None:
        query, key, value = _apart(call)
    inputs = (query, key, value, projected, mask, bias, past_key, past_value, length, indirection)
    return multi_head_attention(replace(call, inputs=inputs))


def _apart(call: Call) -> tuple[Tensor, ...]:
    """Queries, keys and values that are side by side, as three tensors."""
    packed = call.input(QUERY)
    batch, tokens, _ = packed.shape
    columns = call.fixed(packed, (2,))[0]
    if columns % 3:
        raise call.unsupported(f"{columns} columns are not queries, keys and values", "the model is invalid")
    return tuple(
        compute(
            f"{call.name}.{what}",
            (batch, tokens, columns // 3),
            (packed,),
            lambda b, i, c, k=k: packed[b, i, c + k * (columns // 3)],
        )
        for k, what in enumerate(("query", "key", "value"))
    )


def _operands(call: Call) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of (batch, heads, length, size), plus the bias: from (batch, length, heads * size), from
    keys and values that have heads already, or packed, (batch, length, heads, 3 or 2, size)."""
    heads, query, key = call.attribute("num_heads", 0), call.input(QUERY), call.optional(KEY)
    if query.rank == 5 and key is None:
        parts = [_unpacked(call, QUERY, k, 3) for k in range(3)]
    elif key is not None and key.rank == 5 and not call.has(VALUE):
        parts = [_with_heads(call, QUERY, heads), _unpacked(call, KEY, 0, 2), _unpacked(call, KEY, 1, 2)]
    else:
        parts = [_with_heads(call, i, heads) for i in (QUERY, KEY, VALUE)]
    (batch, _, _, extent), value = parts[0].shape, parts[2]
    like_query = parts[1].rank == 4 and all(map(equal, (batch, heads, extent), _without_length(parts[1])))
    if not like_query or not all(map(equal, (batch, heads, parts[1].shape[2]), value.shape[:3])):
        raise call.unsupported(
            f"queries, keys and values of {heads} heads have shapes {', '.join(shown(t.shape) for t in parts)}",
            "the model is invalid: export it again",
        )
    return _plus_bias(call, parts, separate=key is None or key.rank != 4)


def _without_length(t: Tensor) -> tuple[Size, Size, Size]:
    return t.shape[0], t.shape[1], t.shape[3]


def _with_heads(call: Call, index: int, heads: int) -> Tensor:
    """An operand of (batch, length, heads * size), or keys or values that have heads already."""
    t = call.input(index)
    if t.rank == 4 and index != QUERY:
        return t
    columns = call.fixed(call.input(index, (None, None, None)), (2,))[0]
    if heads < 1 or not columns or columns % heads:
        raise call.unsupported(f"input {index} has {columns} columns, and num_heads is {heads}", "the model is invalid")
    return heads_of(f"{call.name}.heads{index}", t, heads, columns // heads)


def _unpacked(call: Call, index: int, part: int, parts: int) -> Tensor:
    """One of `parts` tensors that are packed head by head."""
    t = call.input(index, (None, None, None, parts, None))
    batch, length, heads, _, extent = t.shape
    shape = (batch, heads, length, extent)
    return compute(f"{call.name}.heads{index}.{part}", shape, (t,), lambda b, h, i, d: t[b, i, h, part, d])


def _plus_bias(call: Call, parts: list[Tensor], *, separate: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values plus their parts of the bias; of keys and values that are no projections it has parts
    that say nothing."""
    widths = [call.fixed(t, (1,))[0] * call.fixed(t, (3,))[0] for t in parts]
    bias = call.optional(BIAS, (sum(widths),))
    if bias is None:
        return parts[0], parts[1], parts[2]
    made = []
    for k, t in enumerate(parts):
        start, extent = sum(widths[:k]), t.extents[3]

        def body(*i: Expr, t: Tensor = t, start: int = start, extent: int = extent) -> Expr:
            return t[i] + bias[i[1] * extent + i[3] + start,]

        made.append(compute(f"{t.name}.biased", t.shape, (t, bias), body) if separate or not k else t)
    return made[0], made[1], made[2]


def _past_length(call: Call, key: Tensor, value: Tensor) -> Size:
    """How long past keys and values are, which have shapes like the new ones."""
    past = call.optional(PAST_KEY, (*key.shape[:2], None, key.shape[3]))
    before = 0 if past is None else past.shape[2]
    call.optional(PAST_VALUE, (*value.shape[:2], before, value.shape[3]))
    if call.has(PAST_KEY) != call.has(PAST_VALUE) or (call.has(PAST_LENGTH) and past is None):
        raise call.unsupported("its past is not whole: past_key, past_value and their length", "the model is invalid")
    return before


def _buffer(call: Call, room: Size, length: Size) -> Buffer:
    """The buffer of the past. Where a run decides past_sequence_length, a mask or bias may say how many keys there
    are."""
    given = call.input(PAST_LENGTH)
    known = call.known_sizes(PAST_LENGTH)
    if given.buffer.size != 1:
        raise call.unsupported(f"past_sequence_length has shape {shown(given.shape)}", "the model is invalid")
    start = number(known[0]) if known else given.read([Const(0)] * given.rank)
    keys = size(known[0] + length) if known else _keys_of_mask(call, room)
    if capacity(keys) > capacity(room):
        raise call.unsupported(
            f"there may be {capacity(keys)} keys, and its buffer holds {text_of(room)}",
            "bound their number by --dim, or give the buffer a larger length",
        )
    if not known:
        wrong = (start < 0) | (start + number(length) > number(room))
        call.refuse_where(wrong, (given,), f"past_sequence_length leaves no room in its buffer of {text_of(room)}")
    return Buffer(start, () if known else (given,), keys, is_bound=not known)


def _keys_of_mask(call: Call, room: Size) -> Size:
    mask, bias = call.optional(MASK), call.optional(SCORE_BIAS)
    if mask is not None and mask.rank > 1:
        return mask.shape[-1]
    return room if bias is None or not bias.rank else bias.shape[-1]


def _written(call: Call, index: int, new: Tensor, buffer: Buffer | None) -> Tensor:
    """The past with what is new."""
    past, name = call.optional(index), f"{call.name}.present{index}"
    if past is None:
        return new
    if buffer is None:
        return joined(name, [past, new], 2)
    return overwritten(name, past, new, 2, lambda _: buffer.start, buffer.reads)


def _bound(call: Call, scores: Tensor, new: Tensor, buffer: Buffer | None) -> Tensor:
    """The scores, and minus infinity of what stands in a buffer behind the last key."""
    if buffer is None or not buffer.is_bound:
        return scores
    end = buffer.start + number(new.shape[2])
    hidden = Const(float("-inf"), scores.dtype)
    return compute(
        f"{call.name}.bound",
        scores.shape,
        (scores, *buffer.reads),
        lambda b, h, i, j: select(j < end, scores[b, h, i, j], hidden),
    )


OPERATORS = {
    "DecoderMaskedMultiHeadAttention": decoder_masked_multi_head_attention,
    "MultiHeadAttention": multi_head_attention,
}
