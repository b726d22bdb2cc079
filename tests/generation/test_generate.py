"""`generate` of a decoder: the tokens of the reference, on every target."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest
import webnn_compile
from decoders.tiny import Passed
from drivers import need_driver
from small_decoder import POSITIONS, WORDS, small_decoder
from webnn_compile.errors import InputError
from webnn_compile.generation.sample import Sampling, sample
from webnn_compile.program.states import StateFullError

PROMPT = [3, 1, 4, 1, 5, 9, 2, 6, 5, 35, 8]
"""Longer than one run."""

SIZES = {"sequence_length": (1, 4)}
SAMPLED = {"temperature": 0.9, "top_k": 12, "top_p": 0.9, "min_p": 0.02, "repetition_penalty": 1.2, "seed": 11}


def compiled(target: str = "native", **options: Any) -> Any:
    need_driver(target)
    return webnn_compile.compile(small_decoder(), target, **{"generate": True, "dims": SIZES, **options})


def expected(count: int, sampling: Sampling, prompt: list[int] = PROMPT) -> list[int]:
    reference, seen = Passed.of(small_decoder()), np.zeros(WORDS, np.uint8)
    tokens: list[int] = []
    ids = prompt
    for _ in range(count):
        seen[ids] = 1
        choice = sample(reference.run(ids)[-1], seen, sampling, reference.position)
        assert choice.margin > 1e-4
        ids = [choice.token]
        tokens += ids
    return tokens


@pytest.mark.parametrize("target", ["native", "wasm", "webgl", "webgpu", "opencl", "c"])
@pytest.mark.parametrize("options", [{}, SAMPLED], ids=["greedy", "sampled"])
def test_tokens_are_those_of_the_reference(target: str, options: dict[str, Any]) -> None:
    made = compiled(target)
    assert list(made.generate(PROMPT, max_tokens=60, **options)) == expected(60, Sampling(**options))


def test_it_begins_anew_or_goes_on() -> None:
    made = compiled()
    whole = list(made.generate(PROMPT, max_tokens=20))
    assert list(made.generate(PROMPT, max_tokens=20)) == whole
    first = list(made.generate(PROMPT, max_tokens=8))
    assert first + list(made.generate([], max_tokens=12, resume=True)) == whole
    # What was given up in the middle has left the states behind the last token that came.
    first = list(islice(made.generate(PROMPT, max_tokens=20), 5))
    assert first + list(made.generate([], max_tokens=15, resume=True)) == whole
    # A second prompt comes behind the token that came last.
    first = list(made.generate(PROMPT, max_tokens=3))
    assert list(made.generate([7, 8], max_tokens=5, resume=True)) == expected(5, Sampling(), [*PROMPT, *first, 7, 8])


def test_it_stops_at_a_token_which_comes_before_what_follows() -> None:
    made = compiled()
    whole = list(made.generate(PROMPT, max_tokens=40))
    stop = whole[10]
    before = whole[: whole.index(stop)]
    assert list(made.generate(PROMPT, stop=[stop, 99])) == before
    again = list(made.generate([7], max_tokens=4, resume=True))
    assert again == expected(4, Sampling(), [*PROMPT, *before, stop, 7])


def test_sessions_and_forks_have_tokens_of_their_own() -> None:
    made = compiled()
    prompts = [PROMPT, [1, 2], [30]]
    sessions = [made, made.session(), made.session()]
    every = [s.generate(p, max_tokens=6) for s, p in zip(sessions, prompts, strict=True)]
    tokens = [list(row) for row in zip(*zip(*every, strict=True), strict=True)]
    assert tokens == [expected(6, Sampling(), p) for p in prompts]
    first = list(made.generate(PROMPT, max_tokens=4))
    forks = [made.fork() for _ in range(2)]
    wanted = expected(9, Sampling())[4:]
    assert [list(f.generate([], max_tokens=5, resume=True)) for f in (*forks, made)] == [wanted] * 3
    assert first == expected(4, Sampling())


def test_rows_are_dropped() -> None:
    """Rows that were rewound are as if they had not been, but for repetition penalties."""
    made = compiled()
    list(made.generate(PROMPT, max_tokens=6))
    made.rewind(made.position - len(PROMPT) + 1)
    assert list(made.generate([PROMPT[-1]], max_tokens=6, resume=True)) == expected(6, Sampling())


def test_logarithms_of_probability() -> None:
    made = compiled(generate="top=5,ids=input_ids,logits=logits")
    reference, ids = Passed.of(small_decoder()), PROMPT
    for token in made.generate(PROMPT, max_tokens=6, logprobs=True, temperature=1.5, seed=4):
        logits = reference.run(ids)[-1].astype(np.float64)
        logprobs = logits - np.log(np.exp(logits - logits.max()).sum()) - logits.max()
        assert token.logprob == pytest.approx(logprobs[token.id], abs=1e-4)
        assert [i for i, _ in token.top] == np.argsort(-logits)[:5].tolist()
        np.testing.assert_allclose([p for _, p in token.top], np.sort(logprobs)[::-1][:5], atol=1e-4)
        ids = [token.id]


def test_the_states_are_full() -> None:
    made = compiled()
    tokens = made.generate(PROMPT)
    some = list(islice(tokens, POSITIONS - len(PROMPT) + 1))
    assert some == expected(len(some), Sampling())
    with pytest.raises(StateFullError, match=f"the model has {POSITIONS} positions"):
        next(tokens)


def test_a_prompt_that_does_not_fit_changes_nothing() -> None:
    """Though its first parts would."""
    made = compiled()
    some = list(islice(made.generate(PROMPT), 3))
    at = made.position
    for prompt, options in (([1] * (POSITIONS + 1), {}), ([1] * (POSITIONS - at), {"resume": True})):
        with pytest.raises(StateFullError, match=f"the model has {POSITIONS} positions"):
            made.generate(prompt, **options)
    assert made.position == at
    assert [*some, *made.generate([], resume=True, max_tokens=2)] == expected(5, Sampling())
    assert next(made.generate([1] * POSITIONS)) == expected(1, Sampling(), [1] * POSITIONS)[0]


@pytest.mark.parametrize(
    ("ids", "options", "text"),
    [
        ([], {}, "give one token at least"),
        ([[1, 2], [3, 4]], {}, r"in one row, not int64\[2, 2\]"),
        ([0.5], {}, "give the numbers of tokens"),
        ([WORDS], {}, f"{WORDS} is no token; the model has {WORDS}"),
        ([-1], {}, "-1 is no token"),
        ([1], {"temperature": -1}, "temperature=-1: give a number at least 0.0"),
        ([1], {"seed": "x"}, "seed='x': give an integer"),
    ],
)
def test_what_is_no_prompt(ids: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        compiled().generate(ids, **options)


def test_a_run_takes_the_likeliest() -> None:
    made = compiled()
    token = made.run({"input_ids": np.array([PROMPT[:4]])})["token"]
    assert token.tolist() == expected(1, Sampling(), PROMPT[:4])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"generate": "ids=y"}, "ids='y' is none of input_ids of int64"),
        ({"generate": "logits=input_ids"}, "logits='input_ids' is none of logits of float32"),
        ({"generate": "beams=2"}, "give ids=INPUT, logits=OUTPUT and top=NUMBER"),
        ({"states": (), "dims": {"batch_size": 1, "sequence_length": 2, "past_sequence_length": 3}}, "keeps nothing"),
    ],
)
def test_models_that_give_no_tokens(options: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        compiled(**options)


def test_what_came_last_belongs_to_the_states_that_it_came_of() -> None:
    """After other runs that have led to the same position, too."""
    made = compiled()
    list(made.generate(PROMPT, max_tokens=3))
    position = made.position
    made.rewind(2)
    made.run({"input_ids": np.array([[7, 7]])})
    assert made.position == position
    with pytest.raises(InputError, match="give one token at least"):
        made.generate([], max_tokens=1, resume=True)
