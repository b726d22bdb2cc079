"""The next token of a decoder, by its logits.

It is drawn by the Gumbel-max trick: of the logits, each with a number of Gumbel's distribution added, the largest is at
a token by its probability. So one pass over the vocabulary draws, of random numbers that are equal on all targets.

What top_k and top_p leave are the logits from a threshold on. It is an int32, the largest key (`sort_key`) of which the
logits that are as large are enough, and found by its digits, four bits in a pass: exact for any number of them, in
eight passes, where sorting takes as many as the square of a logarithm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import nan

import numpy as np

from ...dtypes import F16, F32, I32, I64, U8, U32, lowest
from ...ir.construct import maximum, minimum, select, unary
from ...ir.nodes import Const, Expr, Scalar
from ...ir.sizes import Size
from ...ir.sort_key import sort_key
from ...tensor import Tensor, compute, constant, reduce
from ...tensor.structure import branch, loop
from ..call import Call
from ..elementwise.pcg import exponential, pcg
from ..reductions.reduction import place_of_extreme
from .keys import Keys, within
from .ordering import first_in_order

TEMPERATURE, TOP_P, MIN_P, PENALTY = range(4)
"""Places in `options`, float32 [4]."""

TOP_K, SEED, POSITION = range(3)
"""Places in `counts`, int32 [3]."""

LEAST_TEMPERATURE, MOST_TEMPERATURE = 1e-20, 1e20

BITS = 4
"""Digits of a threshold: with 3 or 2 a pass is shorter, and there are more."""


def _mark_tokens(call: Call) -> Tensor:
    """`seen`, uint8 [V], with 1 at each of the ids, int64 or int32 [length]; others than 0 to V - 1 mark nothing."""
    call.check_dtypes((0,), U8)
    call.check_dtypes((1,), I64, I32)
    seen, ids = call.input(0, (None,)), call.input(1, (None,))
    (n,) = call.fixed(seen)

    def token(s: Expr) -> Expr:
        """In int32, of which comparisons fill lanes."""
        return minimum(maximum(ids[s], -1), n).cast(I32)

    tokens = compute(f"{call.name}.ids", ids.shape, (ids,), token)

    def now(i: Expr) -> Expr:
        return reduce("max", ids.shape, lambda s: select(tokens[s].eq(i), 1, 0))

    here = compute(f"{call.name}.now", (n,), (tokens,), now)
    return compute(call.name, (n,), (seen, here), lambda i: select(here[i] > 0, Const(1, U8), seen[i]))


def _sample_token(call: Call) -> tuple[Tensor, ...]:
    """Logits [V] of float32 or float16, options, counts, the tokens that occurred, uint8 [V], and three bools []:
    whether a token is drawn, by top_k and by top_p. To the token, int32 [1], and its logarithm of probability, float32
    [1]; with the attribute `top`, so many best tokens [top] and theirs. `generation/sample.py` computes the same.

    Probabilities are NaN where a logit is NaN or infinity, as by softmax: a token does not say that it was chosen of
    such, and callers see nothing else."""
    call.check_dtypes((0,), F32, F16)
    (n,) = call.fixed(call.input(0, (None,)))
    options, counts, seen = call.input(1, (4,)), call.input(2, (3,)), call.input(3, (n,))
    draws, by_count, by_mass = (call.input(i, ()) for i in (4, 5, 6))
    top, name = call.attribute("top", 0), call.name

    raw = _floats(f"{name}.logits", (n,), (call.input(0),), lambda i: call.input(0)[i].cast(F32))

    def logit(i: Expr) -> Expr:
        return select(unary("isnan", raw[i]), lowest(F32), raw[i])

    largest = compute(f"{name}.raw.max", (), (raw,), lambda: reduce("max", (n,), logit))

    def power(i: Expr) -> Expr:
        lost = unary("isnan", raw[i]) | (unary("isinf", raw[i]) & (raw[i] > 0.0))
        return select(lost, Const(nan, F32), unary("exp", _below(raw[i], largest)))

    mass = compute(f"{name}.mass", (), (raw, largest), lambda: reduce("sum", (n,), power))

    def penalised(i: Expr) -> Expr:
        x, penalty = logit(i), options[PENALTY,]
        return select(seen[i].eq(0) | penalty.eq(1.0), x, select(x > 0.0, x / penalty, x * penalty))

    scores = _floats(f"{name}.penalised", (n,), (raw, seen, options), penalised)
    drawn = _drawn(f"{name}.drawn", scores, options, counts, by_count, by_mass)
    likeliest = place_of_extreme(f"{name}.likeliest", "max", scores, 0, keepdims=True)
    (token,) = branch(name, draws, [drawn], [likeliest], [scores, options, counts, draws, by_count, by_mass])

    def log_probability(place: Expr) -> Expr:
        return _below(raw[within(place, n)], largest) - unary("log", mass[()])

    reads = (raw, largest, mass)
    logprob = _floats(f"{name}.logprob", (1,), (token, *reads), lambda i: log_probability(token[i]))
    if not top:
        return token, logprob
    keys = Keys((), n, lambda _, i: sort_key(logit(i)), (raw,), largest=True)
    order = first_in_order(f"{name}.top", keys, top)
    best = compute(f"{name}.top_ids", (top,), (order.rows,), lambda k: order.at((), k))
    logprobs = _floats(f"{name}.top_logprobs", (top,), (best, *reads), lambda k: log_probability(best[k]))
    return token, logprob, best, logprobs


def _floats(name: str, shape: Sequence[Size], reads: tuple[Tensor, ...], body: Callable[..., Expr]) -> Tensor:
    """A tensor that is float32 also where others are rounded to float16: differences of logits decide."""
    return replace(compute(name, shape, reads, body), exact=True)


def _largest(name: str, x: Tensor) -> Tensor:
    return compute(f"{name}.max", (), (x,), lambda: reduce("max", x.shape, lambda i: x[i]))


def _below(x: Expr, largest: Tensor) -> Expr:
    """x - largest, but 0 where `x` is the largest, which may be infinite."""
    return select(x.eq(largest[()]), 0.0, x - largest[()])


def _drawn(name: str, scores: Tensor, options: Tensor, counts: Tensor, by_count: Tensor, by_mass: Tensor) -> Tensor:
    """The token, int32 [1], that is drawn of those that top_k, top_p and min_p leave."""
    (n,) = scores.shape
    largest = _largest(name, scores)

    def scaled(i: Expr) -> Expr:
        temperature = minimum(maximum(options[TEMPERATURE,], LEAST_TEMPERATURE), MOST_TEMPERATURE)
        return _below(scores[i], largest) / temperature

    logs = _floats(f"{name}.scaled", (n,), (scores, largest, options), scaled)
    keys = compute(f"{name}.keys", (n,), (scores,), lambda i: sort_key(scores[i]))
    outside = [keys, counts, options, logs, largest]

    wanted = compute(f"{name}.top_k", (), (counts,), lambda: minimum(maximum(counts[TOP_K,], 1), n))
    some = _threshold(f"{name}.some", keys, None, wanted)
    all_of = compute(f"{name}.all", (1,), (), lambda _: Const(lowest(I32)))
    (of_count,) = branch(f"{name}.by_count", by_count, [some], [all_of], outside)

    def weight(i: Expr) -> Expr:
        return select(keys[i] >= of_count[0], unary("exp", logs[i]), 0.0)

    weights = _floats(f"{name}.weights", (n,), (keys, logs, of_count), weight)
    total = compute(f"{name}.total", (), (weights,), lambda: reduce("sum", (n,), lambda i: weights[i]))
    share = _floats(f"{name}.share", (), (total, options), lambda: total[()] * options[TOP_P,])
    nucleus = _threshold(f"{name}.nucleus", keys, weights, share)
    (of_mass,) = branch(f"{name}.by_mass", by_mass, [nucleus], [of_count], [*outside, of_count])

    def raced(i: Expr) -> Expr:
        least = minimum(maximum(of_count[0], of_mass[0]), sort_key(largest[()]))
        share = options[MIN_P,]
        bound = select(share > 0.0, minimum(unary("log", share), 0.0), lowest(F32))
        words = pcg(i.cast(U32), (counts[SEED,].cast(U32), counts[POSITION,].cast(U32) * 2))
        stays = (keys[i] >= least) & (logs[i] >= bound)
        return select(stays, logs[i] - unary("log", exponential(words)), lowest(F32))

    reads = (keys, logs, counts, options, of_count, of_mass, largest)
    return place_of_extreme(name, "max", _floats(f"{name}.race", (n,), reads, raced), 0, keepdims=True)


def _threshold(name: str, keys: Tensor, weights: Tensor | None, wanted: Tensor) -> Tensor:
    """The largest int32 [1] of which the keys that are as large have `wanted` weights in sum, 1 for each without
    `weights`."""
    (n,) = keys.shape
    shifts = range(32 - BITS, -1, -BITS)
    units = constant(f"{name}.units", np.array([1 << shift for shift in shifts], np.int32))
    start = compute(f"{name}.start", (1,), (), lambda _: Const(lowest(I32)))
    reads = (keys,) if weights is None else (keys, weights)

    def decide(t: Scalar, carried: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        (least,) = carried

        def mass(digit: Expr) -> Expr:
            bound = least[0] + digit * units[t,]
            return reduce("sum", (n,), lambda i: select(keys[i] >= bound, 1 if weights is None else weights[i], 0))

        masses = compute(f"{name}.masses", (1 << BITS,), (least, units, *reads), mass)

        def largest_enough(_: Expr) -> Expr:
            return reduce("max", masses.shape, lambda digit: select(masses[digit] >= wanted[()], digit, 0))

        digit = compute(f"{name}.digit", (1,), (masses, wanted), largest_enough)
        return [compute(f"{name}.least", (1,), (least, digit, units), lambda i: least[i] + digit[i] * units[t,])], []

    (result,), _ = loop(name, len(shifts), [start], decide)
    return result


OPERATORS: dict[str, Callable[[Call], Tensor | tuple[Tensor, ...]]] = {
    "MarkTokens": _mark_tokens,
    "SampleToken": _sample_token,
}
