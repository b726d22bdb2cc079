"""Rows of TfIdfVectorizer."""

from __future__ import annotations

from typing import Any

import numpy as np
from op_cases._arrays import Arrays
from op_table import Array, Case

_a = Arrays(96)


def _case(id: str, x: Array, counts: list[int], pool: list[int], places: list[int], **attributes: Any) -> Case:
    given = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 3, "max_skip_count": 0} | attributes
    attributes = given | {"ngram_counts": counts, "pool_int64s": pool, "ngram_indexes": places}
    return Case(f"tfidfvectorizer-{id}", "TfIdfVectorizer", (x,), attributes, 9)


def _x(*shape: int) -> Array:
    return _a.integers(0, 5, *shape, dtype="int32")


_POOL = ([0, 3, 11], [2, 0, 4, 1, 1, 0, 3, 3, 2, 2, 4, 0, 1, 2, 3, 3, 1], [4, 0, 2, 6, 1, 5, 8, 7, 3])
"""Three numbers, four pairs and two triples."""

_WEIGHTS = [0.5, 2.0, -1.5, 3.25, 0.1, 7.0, 1.25, -0.75, 4.0]

CASES = [
    _case("row", _x(40), *_POOL),
    _case("rows", _x(3, 41), *_POOL, max_skip_count=2),
    _case("int64", _x(2, 30).astype(np.int64), *_POOL, max_skip_count=1),
    _case("pairs", _x(2, 30), *_POOL, min_gram_length=2, max_gram_length=2, max_skip_count=3),
    _case("idf", _x(2, 25), *_POOL, mode="IDF", weights=_WEIGHTS, max_skip_count=1),
    _case("tfidf", _x(3, 25), *_POOL, mode="TFIDF", weights=_WEIGHTS),
    _case("idf-without-weights", _x(25), *_POOL, mode="IDF"),
    _case("one-place", _x(25), [0, 2], [1, 2, 3, 4, 1, 1], [1, 1, 3, 1]),
    _case("longer-than-the-row", _x(2, 2), *_POOL, max_skip_count=1),
    _case("nothing-found", _x(2, 9) + np.int32(9), *_POOL),
    _case("no-n-gram-so-long", _x(9), [0], [1, 2], [0, 1], min_gram_length=2),
]
