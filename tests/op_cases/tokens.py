"""Rows of the operators that choose a decoder's next token, by what NumPy chooses, of vocabularies that fill no lanes.

Seeds are such that no row is near a tie: the table is of what every target computes alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from op_cases._arrays import Arrays
from op_table import Array, Case
from webnn_compile.generation.ports import BY_COUNT, BY_MASS, COUNTS, DRAWS, OPTIONS
from webnn_compile.generation.sample import Sampling, sample

_a = Arrays(97)
LEAST_MARGIN = 1e-4


def _case(name: str, logits: Array, position: int = 3, top: int = 0, **options: Any) -> Case:
    seen = (_a.uniform(0, 1, logits.size) < 0.3).astype(np.uint8)
    sampling = Sampling(**options)
    choice = sample(logits, seen, sampling, position)
    assert choice.margin > LEAST_MARGIN, f"{name}: a tie within {choice.margin}: take another seed"
    given = sampling.inputs(position)
    inputs = (logits, given[OPTIONS], given[COUNTS], seen, given[DRAWS], given[BY_COUNT], given[BY_MASS])
    want: tuple[Array, ...] = (np.array([choice.token], np.int32), np.array([choice.logprob], np.float32))
    if top:
        finite = logits.astype(np.float64)
        order = np.argsort(-finite, kind="stable")[:top]
        best = finite[order] - finite.max() - np.log(np.exp(finite - finite.max()).sum())
        want = (*want, order.astype(np.int32), best.astype(np.float32))
    attributes = {"top": top} if top else {}
    own = {"outputs": len(want), "expected": want, "domain": "webnn_compile"}
    return Case(f"sampletoken-{name}", "SampleToken", inputs, attributes, 1, **own)


def _normal(count: int) -> Array:
    return _a.normal(count) * 3


def _with(logits: Array, *values: float) -> Array:
    """`logits` with such values at every fifth place."""
    at = np.arange(0, logits.size, 5)
    logits[at] = np.resize(np.array(values, np.float32), at.size)
    return logits


def _marked(name: str, count: int, ids: Array) -> Case:
    seen = (_a.uniform(0, 1, count) < 0.3).astype(np.uint8)
    want = seen.copy()
    want[ids[(ids >= 0) & (ids < count)]] = 1
    return Case(f"marktokens-{name}", "MarkTokens", (seen, ids), opset=1, expected=(want,), domain="webnn_compile")


_tied = np.round(_normal(131))
_below = np.full(37, -np.inf, np.float32)
_drawn = {"temperature": 0.8, "seed": 11}

CASES = [
    _case("likeliest", _normal(257)),
    _case("likeliest-of-ties", _tied),
    _case("likeliest-penalised", _normal(67), repetition_penalty=1.7),
    _case("likeliest-nan", _with(_normal(50), np.nan, 2.0, -np.inf)),
    _case("likeliest-infinite", _with(_normal(50), -1.0, np.inf)),
    _case("likeliest-of-one", _normal(1)),
    _case("likeliest-of-halves", _normal(83).astype(np.float16), top=4),
    _case("best", _normal(301), top=20),
    _case("best-of-long", _normal(5003), top=3, **_drawn),
    _case("drawn", _normal(257), temperature=1.0),
    _case("drawn-long", _normal(5003), 4095, temperature=1.3, seed=2**32 - 1),
    _case("drawn-halves", _normal(129).astype(np.float16), temperature=1.0, top_k=9, top_p=0.8),
    _case("drawn-cold", _normal(70), temperature=1e-30, seed=1),
    _case("drawn-hot", _with(_normal(70), -np.inf), temperature=1e30, seed=6),
    _case("drawn-penalised", _normal(70), repetition_penalty=1.3, **_drawn),
    _case("drawn-one-left", np.concatenate((_below, [0.5], _below)).astype(np.float32), top_k=9, top_p=0.9, **_drawn),
    _case("drawn-none-left", _below, top_k=3, top_p=0.5, temperature=0.7, seed=3),
    _case("drawn-nan", _with(_normal(61), np.nan, -np.inf), top_k=20, top_p=0.9, **_drawn),
    _case("drawn-all-nan", np.full(9, np.nan, np.float32), **_drawn),
    _case("drawn-infinite", _with(_normal(61), 1.0, np.inf), top_k=20, top_p=0.9, **_drawn),
    _case("top-k-one", _normal(91), top_k=1, **_drawn),
    _case("top-k", _normal(1001), 70, top_k=40, temperature=1.5, seed=5),
    _case("top-k-of-ties", _tied, 2, top_k=8, temperature=5.0, seed=5),
    _case("top-k-more-than-all", _normal(19), top_k=1000, **_drawn),
    _case("top-p", _normal(1001), top_p=0.9, temperature=1.5, seed=5),
    _case("top-p-of-ties", _tied, top_p=0.3, temperature=5.0, seed=5),
    _case("top-p-tiny", _normal(91), top_p=1e-9, temperature=2.0, seed=9),
    _case("top-p-none", _normal(91), top_p=0.0, temperature=2.0, seed=9),
    _case("top-p-wide", _normal(2003), top_p=0.99, temperature=20.0, seed=9),
    _case("top-k-and-p", _normal(1001), top_k=50, top_p=0.6, temperature=2.0, seed=4),
    _case("min-p", _normal(91), min_p=0.2, temperature=2.0, seed=9),
    _case("min-p-one", _normal(91), min_p=1.0, temperature=2.0, seed=9),
    _case("all-options", _normal(503), top_k=30, top_p=0.9, min_p=0.05, repetition_penalty=1.2, **_drawn),
    _marked("one", 67, np.array([5], np.int64)),
    _marked("many", 301, _a.integers(0, 301, 90, dtype="int32")),
    _marked("others", 40, np.array([-1, 39, 40, 0, 1000], np.int64)),
]
