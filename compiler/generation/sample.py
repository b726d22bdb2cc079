"""How the next token is chosen, in NumPy: the reference of what is compiled behind a decoder's logits.

In order, as transformers has them:

    repetition_penalty    logits of tokens that occurred are divided by it where positive, else multiplied
    temperature           logits are divided by it; 0 takes the likeliest token, and nothing below applies
    top_k                 the k largest logits stay; 0: all
    top_p                 of these the likeliest stay whose probabilities reach top_p in sum; 1: all
    min_p                 of all those stay that are at least min_p times as likely as the likeliest; 0: all

Tokens as likely as the last one that stays do so, too, and the likeliest one always does. Of those that stay one is
drawn by its probability: that of the largest sum of logit and Gumbel's number, which is a function of the seed, the
position and the token. Of equal sums, as of equal logits without a temperature, the lowest token is taken. A logit
that is NaN counts as -infinity; where the largest is infinite, those as large share the probability equally.
Logarithms of probability are NaN where a logit is NaN or infinity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import inf, isfinite
from typing import TypedDict

import numpy as np

from ..errors import InputError
from ..graph.ir import Array
from .ports import BY_COUNT, BY_MASS, COUNTS, DRAWS, OPTIONS

LEAST_TEMPERATURE, MOST_TEMPERATURE = 1e-20, 1e20


class SamplingOptions(TypedDict, total=False):
    """The fields of Sampling."""

    temperature: float
    top_k: int
    top_p: float
    min_p: float
    repetition_penalty: float
    seed: int


@dataclass(frozen=True, slots=True)
class Sampling:
    """A user's options; by default the likeliest token is taken. Raises InputError for those out of range."""

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        ranges = {
            "temperature": (0.0, inf),
            "top_k": (0, 2**31 - 1),
            "top_p": (0.0, 1.0),
            "min_p": (0.0, 1.0),
            "repetition_penalty": (2.0**-20, 2.0**20),
            "seed": (0, 2**32 - 1),
        }
        for field in fields(self):
            value, (low, high) = getattr(self, field.name), ranges[field.name]
            whole = isinstance(low, int)
            kinds = (int, np.integer) if whole else (int, float, np.number)
            if isinstance(value, bool) or not isinstance(value, kinds):
                raise InputError(f"{field.name}={value!r}: give {'an integer' if whole else 'a number'}")
            if not low <= value <= high or not isfinite(value):
                limit = f"at least {low}" if high == inf else f"from {low} to {high}"
                raise InputError(f"{field.name}={value}: give a number {limit}")

    @property
    def flags(self) -> tuple[bool, bool, bool]:
        """Whether a token is drawn, whether top_k leaves any out, and whether top_p does."""
        return bool(np.float32(self.temperature) > 0), self.top_k > 0, bool(np.float32(self.top_p) < 1)

    def inputs(self, position: int) -> Mapping[str, Array]:
        """The inputs of a run for the token at a position, an int32."""
        options = [self.temperature, self.top_p, self.min_p, self.repetition_penalty]
        counts = np.array([self.top_k, self.seed, position], np.int64).astype(np.uint32).view(np.int32)
        flags = (np.array(flag) for flag in self.flags)
        numbers = {OPTIONS: np.array(options, np.float32), COUNTS: counts}
        return numbers | dict(zip((DRAWS, BY_COUNT, BY_MASS), flags, strict=True))


@dataclass(frozen=True, slots=True)
class Choice:
    """A token and its logarithm of probability by the logits, before all options. It would be another one only where
    sums or masses changed by `margin`: float32 rounds otherwise by about 1e-6, so of equal logits two targets take
    different tokens about once in a hundred thousand."""

    token: int
    logprob: float
    margin: float


def sample(logits: Array, seen: Array, sampling: Sampling, position: int) -> Choice:
    """The choice of a token at `position`: by `logits` [vocabulary], and which tokens occurred, those of `seen`
    [vocabulary] that are not 0."""
    raw = _numbers(logits)
    distances = _below(raw)
    lost = np.isnan(logits).any() or np.isposinf(logits).any()
    logprobs = distances - (np.nan if lost else np.log(np.exp(distances).sum()))
    penalty = np.float32(sampling.repetition_penalty)  # of which quotients decide about ties
    with np.errstate(over="ignore"):
        penalised = np.where(raw > 0, raw / penalty, raw * penalty)
    scores = np.where((seen != 0) & (penalty != 1), penalised, raw)
    draws, by_count, by_mass = sampling.flags
    if not draws:
        token = int(scores.argmax())
        return Choice(token, float(logprobs[token]), inf)
    t = np.clip(np.float64(np.float32(sampling.temperature)), LEAST_TEMPERATURE, MOST_TEMPERATURE)
    logs, margin = _below(scores) / t, inf
    stays = np.ones(scores.shape, bool)
    if by_count and sampling.top_k < scores.size:
        stays = scores >= np.sort(scores)[-sampling.top_k]
    if by_mass:
        weights = np.where(stays, np.exp(logs), 0)
        order = np.argsort(-scores, kind="stable")
        mass, wanted = weights[order].cumsum() / weights.sum(), np.float64(np.float32(sampling.top_p))
        last = min(int(np.searchsorted(mass, wanted)), scores.size - 1)
        margin = float(np.abs(mass - wanted).min())
        stays &= scores >= scores[order[last]]
    if sampling.min_p > 0:
        bound = np.log(np.float64(np.float32(sampling.min_p)))
        margin = min(margin, float(np.abs(logs[logs < 0] - bound).min(initial=inf)))
        stays &= logs >= bound
    sums = np.where(stays, logs + gumbel(scores.size, sampling.seed, position), -inf)
    token = int(sums.argmax())
    with np.errstate(invalid="ignore"):
        others = np.delete(sums, token)
        margin = min(margin, float(sums[token] - others.max(initial=-inf)))
    return Choice(token, float(logprobs[token]), margin)


def gumbel(count: int, seed: int, position: int) -> Array:
    """Numbers of Gumbel's distribution for the tokens of a vocabulary, float64 [count], of random bits by pcg3d (ops/
    elementwise/pcg.py)."""
    factor, added = np.uint32(1664525), np.uint32(1013904223)
    words = (np.arange(count), np.uint32(seed), np.uint32(position) * np.uint32(2))
    with np.errstate(over="ignore"):
        x, y, z = (np.asarray(word, np.uint32) * factor + added for word in words)
        for last in (False, True):
            x = x + y * z
            y = y + z * x
            z = z + x * y
            if not last:
                x, y, z = (word ^ (word >> np.uint32(16)) for word in (x, y, z))
    small = (x >> np.uint32(8)) * 2.0**-24 + ((y >> np.uint32(8)) + 1.0) * 2.0**-48
    return np.asarray(-np.log(-np.log1p(-np.minimum(small, 1 - 2.0**-24))))


def _numbers(logits: Array) -> Array:
    """Float32 without NaN."""
    return np.where(np.isnan(logits), np.float32(-inf), logits.astype(np.float32))


def _below(x: Array) -> Array:
    """x - max(x), float64, but 0 where `x` is the largest, which may be infinite."""
    x = x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return np.where(x == x.max(), 0.0, x - x.max())
