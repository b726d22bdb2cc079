"""TfIdfVectorizer: how often n-grams of numbers, whose elements may be apart, are in a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ...dtypes import F32, I32
from ...ir.construct import all_of, minimum, select
from ...ir.nodes import Const, Expr
from ...ir.sizes import number, shown
from ...tensor import Tensor, compute, constant
from ..call import Call
from ..reductions.reduce_axes import reduce_over

_MODES = ("TF", "IDF", "TFIDF")

_LONGEST = 32
"""Elements of an n-gram: an expression compares each."""

_LARGEST_TABLE = 1 << 25
"""Elements of the table of n-grams by their places: an index of a model may be any integer."""


def _tf_idf_vectorizer(call: Call) -> Tensor:
    """ONNX TfIdfVectorizer of integers [C] or [N, C]: float32 [width] or [N, width], the counts of n-grams by their
    places in `ngram_indexes`; with mode IDF 1 where there is any, TFIDF the count, both times the weight of the n-gram.

    ONNX's reference takes weights by places. Of an n-gram that is listed twice the last one counts.
    """
    x = call.input(0)
    if x.rank not in (1, 2):
        raise call.unsupported(f"its input has shape {shown(x.shape)}, not [C] or [N, C]", "check the input shape")
    mode = call.attribute("mode", "")
    if mode not in _MODES:
        raise call.unsupported(f"attribute mode={mode!r} is unknown", "use TF, IDF or TFIDF")
    if call.attribute("pool_strings", ()):
        raise call.unsupported("its n-grams are strings", "make numbers of the words before the model")
    grams = _grams(call)
    none: tuple[int, ...] = ()
    places = call.attribute("ngram_indexes", none)
    width = max(places, default=-1) + 1
    if len(places) < len(grams) or min(places, default=0) < 0:
        raise call.unsupported(f"{len(places)} ngram_indexes do not fit {len(grams)} n-grams", "the model is invalid")
    most = max(Counter(places).values(), default=0)
    if width * most > _LARGEST_TABLE:
        raise call.unsupported(
            f"{width} results of up to {most} n-grams each are too many",
            f"have smaller ngram_indexes: a table of at most {_LARGEST_TABLE} elements",
        )
    batch, length = x.shape[:-1], x.shape[-1]
    shortest, longest, skips = (call.attribute(n, 0) for n in ("min_gram_length", "max_gram_length", "max_skip_count"))
    kept = {gram: i for i, gram in enumerate(grams) if shortest <= len(gram) <= longest}
    size = max(map(len, kept), default=0)
    if size > _LONGEST or skips < 0:
        raise call.unsupported(
            f"max_skip_count {skips} or n-grams of {size} elements are too many or few", f"have {_LONGEST} at most"
        )
    if not kept or length == 0 or 0 in batch:
        return compute(call.name, (*batch, width), (), lambda *_: Const(0.0, F32))
    lengths = constant(f"{call.name}.lengths", np.array([len(g) for g in kept], np.int32))
    table = np.array([[*g, *[0] * (size - len(g))] for g in kept], np.int64)
    pool = constant(f"{call.name}.pool", table.astype(x.dtype.numpy))

    def found(*at: Expr) -> Expr:
        *b, g = at

        def here(skip: Expr, start: Expr) -> Expr:
            """Whether the n-gram begins at `start`, its elements `skip + 1` apart: one of one element only once."""
            n, last = lengths[g,], number(length) - 1
            end = start + (n - 1) * (skip + 1)
            equal = [(n <= i) | x.read([*b, minimum(start + (skip + 1) * i, last)]).eq(pool[g, i]) for i in range(size)]
            return ((end <= last) & (skip.eq(0) | (n > 1)) & all_of(*equal)).cast(I32)

        return reduce_over("sum", (skips + 1, length), here)

    counts = compute(f"{call.name}.counts", (*batch, len(kept)), (x, lengths, pool), found)
    numbers = list(kept.values())
    return _placed(call, counts, [places[i] for i in numbers], _weights(call, numbers, len(grams)), width)


def _grams(call: Call) -> list[tuple[int, ...]]:
    """The n-grams of `pool_int64s`, which stand there by their length: `ngram_counts` says where each length begins."""
    none: tuple[int, ...] = ()
    pool, begins = call.attribute("pool_int64s", none), call.attribute("ngram_counts", none)
    ends = (*begins[1:], len(pool))
    grams: list[tuple[int, ...]] = []
    for n, (begin, end) in enumerate(zip(begins, ends, strict=False), 1):
        if not 0 <= begin <= end <= len(pool) or (end - begin) % n:
            raise call.unsupported(
                f"ngram_counts {list(begins)} do not fit {len(pool)} numbers of n-grams", "the model is invalid"
            )
        grams.extend(pool[i : i + n] for i in range(begin, end, n))
    return grams


def _weights(call: Call, numbers: Sequence[int], count: int) -> Tensor | None:
    """The weights of the n-grams with these numbers, of so many."""
    none: tuple[float, ...] = ()
    given = call.attribute("weights", none)
    if not given or call.attribute("mode", "") == "TF":
        return None
    if len(given) < count:
        raise call.unsupported(f"{len(given)} weights do not fit {count} n-grams", "the model is invalid")
    return constant(f"{call.name}.weights", np.array([given[i] for i in numbers], np.float32))


def _placed(call: Call, counts: Tensor, places: Sequence[int], weights: Tensor | None, width: int) -> Tensor:
    """The counts of n-grams at their places, where several may be, each by the mode and its weight."""
    at = np.full((width, int(np.bincount(places).max())), len(places), np.int32)
    used = np.zeros(width, np.int64)
    for i, place in enumerate(places):
        at[place, used[place]] = i
        used[place] += 1
    grams, mode, last = constant(f"{call.name}.grams", at), call.attribute("mode", ""), len(places) - 1

    def total(*index: Expr) -> Expr:
        *b, place = index

        def share(k: Expr) -> Expr:
            listed = grams[place, k]
            gram = minimum(listed, last)
            count = counts.read([*b, gram])
            value = (count > 0).cast(F32) if mode == "IDF" else count.cast(F32)
            return select(listed <= last, value if weights is None else value * weights[gram,], 0.0)

        return reduce_over("sum", at.shape[1:], share)

    return compute(call.name, (*counts.shape[:-1], width), (counts, grams, weights), total)


OPERATORS = {"TfIdfVectorizer": _tf_idf_vectorizer}
