"""The reference of sampling: what its options leave, and how often it draws each token."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from frequencies import chi_square, softmax
from webnn_compile.errors import InputError
from webnn_compile.generation.sample import Sampling, gumbel, sample

LOGITS = np.array([1.0, -0.5, 3.0, 2.5, 0.0, 2.5, -4.0], np.float32)
NONE = np.zeros(LOGITS.size, np.uint8)


def drawn(positions: int, logits: np.ndarray = LOGITS, **options: Any) -> np.ndarray:
    """How often each token is drawn."""
    none = np.zeros(logits.size, np.uint8)
    tokens = [sample(logits, none, Sampling(**options), position).token for position in range(positions)]
    return np.bincount(tokens, minlength=logits.size)


def left(**options: Any) -> list[int]:
    """The tokens that are drawn at all, where all that stay are nearly alike."""
    return [int(i) for i in np.flatnonzero(drawn(400, **{"temperature": 50.0, "seed": 2, **options}))]


@pytest.mark.parametrize("seed", [0, 2**32 - 1])
def test_frequencies(seed: int) -> None:
    assert abs(chi_square(drawn(1500, temperature=1.0, seed=seed), 1500 * softmax(LOGITS))) < 4
    assert abs(chi_square(drawn(1500, temperature=2.5, seed=seed), 1500 * softmax(LOGITS / 2.5))) < 4


def test_seeds_are_independent_of_positions() -> None:
    pairs = np.zeros((7, 7))
    for position in range(1500):
        tokens = [sample(LOGITS, NONE, Sampling(3.0, seed=seed), position).token for seed in (5, 6)]
        pairs[tokens[0], tokens[1]] += 1
    p = softmax(LOGITS / 3)
    assert abs(chi_square(pairs.ravel(), 1500 * np.outer(p, p).ravel())) < 4


def test_numbers_are_those_of_gumbel() -> None:
    numbers = gumbel(200_000, 3, 8)
    assert np.isfinite(numbers).all()
    assert abs(numbers.mean() - np.euler_gamma) < 0.01
    assert abs(numbers.var() - np.pi**2 / 6) < 0.03
    shares = [np.mean(numbers < x) for x in (-2.0, -1.0, 0.0, 1.0, 3.0)]
    np.testing.assert_allclose(shares, np.exp(-np.exp([2.0, 1.0, 0.0, -1.0, -3.0])), atol=0.004)


def test_what_stays() -> None:
    assert left() == [0, 1, 2, 3, 4, 5, 6]
    assert left(top_k=1) == [2]
    assert left(top_k=2) == [2, 3, 5]  # a tie with the last one
    assert left(top_k=4) == [0, 2, 3, 5]
    assert left(top_p=0.0) == [2]
    assert left(top_p=0.9) == [0, 1, 2, 3, 4, 5, 6]  # of temperature 50 all are alike
    p = softmax(LOGITS)
    order = np.argsort(-LOGITS, kind="stable")
    assert p[order][:3].sum() < 0.95 < p[order][:4].sum()
    assert np.flatnonzero(drawn(400, temperature=1.0, top_p=0.95)).tolist() == [0, 2, 3, 5]
    assert np.flatnonzero(drawn(400, temperature=1.0, min_p=0.1)).tolist() == [0, 2, 3, 5]
    assert np.flatnonzero(drawn(400, temperature=1.0, min_p=0.3)).tolist() == [2, 3, 5]
    assert np.flatnonzero(drawn(400, temperature=1.0, top_k=3, top_p=0.4)).tolist() == [2]


def test_frequencies_of_what_stays() -> None:
    p = softmax(np.where(np.isin(np.arange(7), [0, 2, 3, 5]), LOGITS, -np.inf))
    assert abs(chi_square(drawn(1500, temperature=1.0, top_p=0.95, seed=3), 1500 * p)) < 4


def test_penalty() -> None:
    seen = np.array([0, 1, 1, 1, 0, 0, 0], np.uint8)
    choice = sample(LOGITS, seen, Sampling(repetition_penalty=1.5), 0)
    assert choice.token == 5  # 3 / 1.5 and 2.5 / 1.5 are less than 2.5
    assert choice.logprob == pytest.approx(np.log(softmax(LOGITS)[5]))
    assert sample(-LOGITS, seen, Sampling(repetition_penalty=20.0), 0).token == 6
    assert sample(-LOGITS, 1 - seen, Sampling(repetition_penalty=20.0), 0).token == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": -0.1}, r"temperature=-0\.1: give a number at least 0"),
        ({"temperature": float("nan")}, "temperature=nan: give a number"),
        ({"temperature": float("inf")}, "temperature=inf: give a number at least 0"),
        ({"temperature": "1"}, "temperature='1': give a number"),
        ({"top_k": -1}, "top_k=-1: give a number from 0 to 2147483647"),
        ({"top_k": 1.5}, r"top_k=1\.5: give an integer"),
        ({"top_p": 1.01}, r"top_p=1\.01: give a number from 0\.0 to 1\.0"),
        ({"min_p": True}, "min_p=True: give a number"),
        ({"repetition_penalty": 0}, "repetition_penalty=0: give a number from"),
        ({"seed": 2**32}, "seed=4294967296: give a number from 0 to 4294967295"),
    ],
)
def test_mistakes(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Sampling(**options)
