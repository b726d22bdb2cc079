"""GroupQueryAttention of com.microsoft, the attention of decoders that onnxruntime-genai builds: several heads of
queries share one of keys and values, and keys and values are written into a cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

from ...dtypes import F16, F32, I32, I64
from ...ir.construct import all_of, maximum, minimum, select, unary
from ...ir.nodes import Const, Expr
from ...ir.sizes import Size, capacity, equal, is_one, number, shown, size, text_of
from ...tensor import Tensor, compute
from ..broadcast import broadcast_element, spread_input
from ..call import Call
from ..movement.gather import to_int32
from ..movement.joining import joined
from ..movement.scattering import overwritten
from ..reductions.layer_normalisation import rms_normalized
from ..reductions.softmax import softmax_of
from .attention import dot_products, weighted_sums
from .heads import first_keys, heads_joined, heads_of
from .rotary_embedding import Angles, rotated, row_of
from .window_cache import WindowCache

QUERY, KEY, VALUE, PAST_KEY, PAST_VALUE, LAST, TOTAL, COS, SIN, POSITIONS, BIAS, SINK = range(12)
KEY_SCALE, VALUE_SCALE, QUERY_NORM, KEY_NORM, COUNTS = range(12, 17)


@dataclass(frozen=True, slots=True)
class Cache:
    """How keys and values are written: the new ones of a sequence from position `begin(batch)` on, so that its last
    one is at `last(batch)`, which are computed from `reads`. `keys` are attended to. A cache that `grows` has room for
    the new ones behind those of the past, where they begin, unless it `is_ragged`: of sequences of several lengths."""

    begin: Callable[[Expr], Expr]
    last: Callable[[Expr], Expr]
    reads: tuple[Tensor, ...]
    keys: Size
    grows: bool
    is_ragged: bool


def group_query_attention(call: Call) -> tuple[Tensor, ...]:
    """softmax(Q K' * scale) V; then keys and values with those of the past, and the scores or weights."""
    call.check_dtypes((*range(PAST_VALUE + 1), COS, SIN, BIAS, SINK, QUERY_NORM, KEY_NORM), F32, F16)
    call.check_dtypes((LAST, TOTAL), I32)
    call.check_dtypes((POSITIONS,), I64)
    _check_refused(call)
    query, key, value = _operands(call)
    cache = _window_cache(call, key) if call.attribute("sliding_window_cache", 0) else _cache(call, key)
    if call.has(QUERY_NORM) or call.has(KEY_NORM):
        query, key = _normalised(call, query, QUERY_NORM, "q"), _normalised(call, key, KEY_NORM, "k")
    if call.flag("do_rotary", 0):
        angles, interleaved = _angles(call, cache, query), call.flag("rotary_interleaved", 0)
        query = rotated(f"{call.name}.queries", query, angles, interleaved=interleaved)
        key = rotated(f"{call.name}.keys", key, angles, interleaved=interleaved)
    (next_key, keys), (next_value, values) = (
        _written(call, i, t, cache) for i, t in ((PAST_KEY, key), (PAST_VALUE, value))
    )
    scale = call.attribute("scale", 0.0) or 1 / sqrt(query.extents[3])
    scores = _biased(call, dot_products(f"{call.name}.products", query, keys, scale))
    weights = _weights(call, scores, cache)
    results = heads_joined(call, weighted_sums(call.name, weights, values)), next_key, next_value
    mode = call.attribute("qk_output", 0)
    if mode not in (0, 1, 2):
        raise call.unsupported(f"attribute qk_output={mode} is none of 0 to 2", "the model is invalid")
    if not mode:
        return results
    return *results, weights if mode == 2 else _masked(call, "seen", scores, cache, 0.0)


def _check_refused(call: Call) -> None:
    quantised = any(call.attribute(f"{x}_quant_type", "NONE") != "NONE" for x in "kv")
    if quantised or call.has(KEY_SCALE) or call.has(VALUE_SCALE):
        raise call.unsupported("its cache is quantised", "export the model with a cache of floats")
    if call.has(COUNTS):
        raise call.unsupported("it has query_seqlens", "export the model without it: one length for all sequences")


def _operands(call: Call) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of (batch, heads, length, size), which are three inputs or side by side in one."""
    heads, shared = call.attribute("num_heads", 0), call.attribute("kv_num_heads", 0)
    query = call.input(QUERY, (None, None, None))
    (columns,) = call.fixed(query, (2,))
    packed = not call.has(KEY)
    parts = heads + 2 * shared if packed else heads
    if heads < 1 or shared < 1 or heads % shared or columns % parts or not columns or packed != (not call.has(VALUE)):
        raise call.unsupported(
            f"{columns} columns of queries, num_heads={heads} and kv_num_heads={shared} do not fit",
            "the model is invalid: export it again",
        )
    extent = columns // parts
    others = (query.shape[0], query.shape[1], shared * extent)
    key, value = (query, query) if packed else (call.input(KEY, others), call.input(VALUE, others))
    starts = (heads * extent, (heads + shared) * extent) if packed else (0, 0)
    return (
        heads_of(f"{call.name}.query", query, heads, extent),
        heads_of(f"{call.name}.key", key, shared, extent, starts[0]),
        heads_of(f"{call.name}.value", value, shared, extent, starts[1]),
    )


def _normalised(call: Call, t: Tensor, weight: int, which: str) -> Tensor:
    """Each head over the root of its mean square."""
    epsilon = call.attribute(f"{which}_norm_epsilon", 0.0) or call.attribute("qk_norm_epsilon", 1e-6)
    scale = call.input(weight, t.shape[3:])
    return rms_normalized(f"{call.name}.{which}_norm", t, scale, 3, epsilon, F32)[0]


def _past(call: Call, key: Tensor) -> Size:
    """How long the cache is, of keys and values that have a shape like `key`."""
    batch, heads, _, extent = key.shape
    past = call.optional(PAST_KEY, (batch, heads, None, extent))
    call.optional(PAST_VALUE, None if past is None else past.shape)
    if call.has(PAST_KEY) != call.has(PAST_VALUE):
        raise call.unsupported("it has one of past_key and past_value without the other", "the model is invalid")
    return 0 if past is None else past.shape[2]


def _last(call: Call, batch: Size) -> Callable[[Expr], Expr]:
    """The position of the last token of a sequence."""
    t = call.input(LAST)
    reason = f"seqlens_k has shape {shown(t.shape)}, where [{text_of(batch)}] is expected"
    call.check_shape(t, [(batch, *[1] * (max(t.rank, 1) - 1))], reason, "the model is invalid")
    return lambda b: t.read([b, *[Const(0)] * (t.rank - 1)])


def _cache(call: Call, key: Tensor) -> Cache:
    """The cache grows by the new keys, but where its length is a number: then it has that length in all runs, unless
    total_sequence_length is known to be the sum."""
    batch, _, length, _ = key.shape
    before, last, total = _past(call, key), _last(call, batch), _total(call)
    after = size(before + length)
    grows = not isinstance(before, int) or not before or (total is not None and equal(total, after) is True)
    if grows and total is not None:
        reason = f"total_sequence_length is {text_of(total)}, where {text_of(after)} is expected"
        call.check_equal(total, after, reason, "check the shapes given to the model")
    is_ragged = call.has(PAST_KEY) and not (grows and is_one(batch))

    def begin(b: Expr) -> Expr:
        if not is_ragged:
            return number(before)
        return minimum(maximum(last(b) + 1 - number(length), 0), number(before))

    keys = after if grows else _keys(call, before, total)
    return Cache(begin, last, (call.input(LAST),), keys, grows, is_ragged)


def _window_cache(call: Call, key: Tensor) -> WindowCache:
    batch, _, length, _ = key.shape
    room, window, last = _past(call, key), call.attribute("local_window_size", -1), _last(call, batch)
    if call.has(BIAS) or call.attribute("qk_output", 0):
        raise call.unsupported(
            "attribute sliding_window_cache=1, beside a bias or scores of positions that its cache forgets",
            "export the model with a cache of all tokens",
        )
    if not isinstance(room, int) or not 0 < window <= room:
        raise call.unsupported(
            f"its cache holds {text_of(room)} tokens, where attribute sliding_window_cache=1 requires a number of at "
            f"least local_window_size={window}",
            f"give the cache such a length by --dim or --shape: NAME={max(window, 1)}",
        )
    return WindowCache(room, window, lambda b: maximum(last(b) + 1 - number(length), 0), last, (call.input(LAST),))


def _keys(call: Call, before: Size, total: Size | None) -> Size:
    """How many keys of a cache that does not grow are attended to: all of them, where `total` is not known."""
    if total is None:
        given = call.input(TOTAL)
        wrong = given.read([Const(0)] * given.rank) > number(before)
        call.refuse_where(wrong, (given,), f"total_sequence_length is more than its cache holds, {text_of(before)}")
        return before
    if capacity(total) > capacity(before):
        raise call.unsupported(
            f"total_sequence_length may be {capacity(total)}, and its cache holds {text_of(before)}",
            "give what it is computed from as many by --dim at most, or the length of the cache as a range, where it "
            "grows",
        )
    return total


def _total(call: Call) -> Size | None:
    """total_sequence_length, where it is known as a size."""
    t = call.input(TOTAL)
    if t.buffer.size != 1:
        raise call.unsupported(f"total_sequence_length has shape {shown(t.shape)}", "the model is invalid")
    known = call.known_sizes(TOTAL) if t.rank < 2 else None
    return known[0] if known else None


def _angles(call: Call, cache: Cache | WindowCache, query: Tensor) -> Angles:
    """The angles of tokens' places in the cache, or of positions that are given: of those a prompt uses the first."""
    cos = call.input(COS, (None, None))
    (pairs,) = call.fixed(cos, (1,))
    if not capacity(cos.shape[0]) or not 0 < 2 * pairs <= query.extents[3]:
        raise call.unsupported(
            f"cos_cache has shape {shown(cos.shape)}, and a head {query.extents[3]} elements", "the model is invalid"
        )
    sin = call.input(SIN, cos.shape)
    positions = call.optional(POSITIONS, (query.shape[0], query.shape[2]))

    def row(b: Expr, i: Expr) -> tuple[Expr]:
        begin = cache.begin(b)
        if positions is None:
            return row_of(cos, begin + i)
        first = to_int32(positions[0, 0]) + i
        return row_of(cos, select(begin.eq(0), first, to_int32(positions[b, i])))

    return Angles(cos, sin, row, (*cache.reads, *([] if positions is None else [positions])))


def _written(call: Call, index: int, new: Tensor, cache: Cache | WindowCache) -> tuple[Tensor, Tensor]:
    """The past with what is new, and what of that is attended to."""
    past, name = call.optional(index), f"{call.name}.present{index}"
    if past is None:
        return new, new
    if isinstance(cache, WindowCache):
        return cache.written(name, past, new)
    if cache.grows and not cache.is_ragged:
        whole = joined(name, [past, new], 2)
        return whole, whole
    if cache.grows:
        behind = compute(f"{name}.behind", new.shape, (), lambda *_: Const(0.0, new.dtype))
        past = joined(f"{name}.past", [past, behind], 2)
    whole = overwritten(name, past, new, 2, cache.begin, cache.reads)
    return whole, first_keys(whole, cache.keys)


def _biased(call: Call, scores: Tensor) -> Tensor:
    """The scores with the soft cap, plus the bias."""
    cap, bias = call.attribute("softcap", 0.0), spread_input(call, BIAS, scores.shape)
    if cap <= 0 and bias is None:
        return scores

    def body(*i: Expr) -> Expr:
        score = unary("tanh", scores[i] / cap) * cap if cap > 0 else scores[i]
        return score if bias is None else score + broadcast_element(bias, i)

    return compute(f"{call.name}.biased", scores.shape, (scores, bias), body)


def _weights(call: Call, scores: Tensor, cache: Cache | WindowCache) -> Tensor:
    """The softmax of the scores that a query sees, and of a sink of its head, where there is one."""
    sinks, lines = call.optional(SINK, scores.shape[1:2]), scores.shape[:3]
    sink = None
    if sinks is not None:
        sink = compute(f"{call.name}.sink", lines, (sinks,), lambda b, h, i: sinks[h,])
    elif call.flag("smooth_softmax", 0):
        sink = compute(f"{call.name}.sink", lines, (), lambda *_: Const(0.0, scores.dtype))
    masked = _masked(call, "masked", scores, cache, float("-inf"))
    return softmax_of(f"{call.name}.softmax", masked, (3,), zero_of_nothing=call.has(BIAS), sink=sink)


def _masked(call: Call, what: str, scores: Tensor, cache: Cache | WindowCache, hidden: float) -> Tensor:
    """The scores, or `hidden` of keys that a query does not see: those after it, and those outside of its window."""
    causal, window = call.flag("causal", 1), call.attribute("local_window_size", -1)

    def body(b: Expr, h: Expr, i: Expr, j: Expr) -> Expr:
        query, key, seen = cache.begin(b) + i, j, []
        if isinstance(cache, WindowCache):
            key, seen = cache.position(b, j), [cache.is_there(b, j)]
        seen.append(key <= (query if causal else cache.last(b)))
        if window > 0:
            seen.append(query - key < window)
        return select(all_of(*seen), scores[b, h, i, j], hidden)

    return compute(f"{call.name}.{what}", scores.shape, (scores, *cache.reads), body)


OPERATORS = {"GroupQueryAttention": group_query_attention}
