"""A decoder in this process that gives tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, overload

import numpy as np

from ..errors import InputError
from ..graph.ir import Array
from .decoder import Generation
from .ports import LOGPROB, TOKEN, TOP_IDS, TOP_LOGPROBS
from .sample import Sampling


@dataclass(frozen=True, slots=True)
class Token:
    """A token, its logarithm of probability by the logits, and of the likeliest tokens, the likeliest first, the
    same."""

    id: int
    logprob: float
    top: tuple[tuple[int, float], ...] = ()


class Generating:
    """A compiled decoder, or a session of it, with all that this has, and `generate`. `run` takes the likeliest token
    unless it is given the inputs of `Sampling`."""

    def __init__(self, decoder: Any, generation: Generation) -> None:
        self._decoder, self.generation = decoder, generation
        self._pending: tuple[int, int] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._decoder, name)

    def run(self, inputs: Mapping[str, object], **options: Any) -> dict[str, Array]:
        """TOKEN and LOGPROB behind the ids that are given, and with `top` TOP_IDS and TOP_LOGPROBS."""
        ids = inputs.get(self.generation.ids) if isinstance(inputs, Mapping) else None
        position = self._decoder.position + (ids.shape[-1] if isinstance(ids, np.ndarray) and ids.ndim else 0)
        results: dict[str, Array] = self._decoder.run({**Sampling().inputs(position), **inputs}, **options)
        return results

    def session(self) -> Generating:
        """A new session, independent of all others."""
        return Generating(self._decoder.session(), self.generation)

    def fork(self) -> Generating:
        """A new session with copies of these states."""
        made = Generating(self._decoder.fork(), self.generation)
        made._pending = self._pending
        return made

    @overload
    def generate(
        self,
        ids: Sequence[int] | Array,
        *,
        max_tokens: int | None = None,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        repetition_penalty: float = 1.0,
        seed: int = 0,
        stop: Sequence[int] = (),
        resume: bool = False,
        inputs: Mapping[str, object] | None = None,
        logprobs: Literal[False] = False,
    ) -> Iterator[int]: ...

    @overload
    def generate(
        self,
        ids: Sequence[int] | Array,
        *,
        max_tokens: int | None = None,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        repetition_penalty: float = 1.0,
        seed: int = 0,
        stop: Sequence[int] = (),
        resume: bool = False,
        inputs: Mapping[str, object] | None = None,
        logprobs: Literal[True],
    ) -> Iterator[Token]: ...

    def generate(
        self,
        ids: Sequence[int] | Array,
        *,
        max_tokens: int | None = None,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        repetition_penalty: float = 1.0,
        seed: int = 0,
        stop: Sequence[int] = (),
        resume: bool = False,
        inputs: Mapping[str, object] | None = None,
        logprobs: bool = False,
    ) -> Iterator[int] | Iterator[Token]:
        """Tokens one at a time, behind `ids`: until one of `stop`, which is not given, or for `max_tokens`. The states
        are reset before, or with `resume` go on: what comes last, and is not in the states yet, then precedes `ids`.
        `Sampling` says how a token is chosen; with `logprobs` each is a Token. `inputs` are the other inputs of each
        run, such as what an encoder gave.

        Raises InputError for ids that are no tokens, and StateFullError where the states have no room for more.
        """
        sampling = Sampling(temperature, top_k, top_p, min_p, repetition_penalty, seed)
        prompt = self._prompt(ids, resume=resume)
        step = partial(self._behind, sampling=sampling, others=dict(inputs or {}))
        tokens = self._tokens(prompt, step, max_tokens, frozenset(stop), resume=resume)
        return tokens if logprobs else (t.id for t in tokens)

    def _prompt(self, ids: Sequence[int] | Array, *, resume: bool) -> list[int]:
        array = np.asarray(ids)
        if array.ndim == 2 and array.shape[0] == 1:
            array = array[0]
        if array.ndim != 1 or not (array.size == 0 or np.issubdtype(array.dtype, np.integer)):
            raise InputError(f"ids: give the numbers of tokens, in one row, not {array.dtype}{list(array.shape)}")
        wrong = [int(i) for i in array if not 0 <= i < self.generation.vocabulary]
        if wrong:
            raise InputError(f"ids: {wrong[0]} is no token; the model has {self.generation.vocabulary}")
        # After rewinding, or loading states, what came last belongs to other ones.
        goes_on = resume and self._pending is not None and self._pending[1] == self._decoder.position
        prompt = [self._pending[0]] if goes_on and self._pending is not None else []
        prompt += array.tolist()
        if not prompt:
            raise InputError("ids: give one token at least")
        return prompt

    def _tokens(
        self,
        prompt: list[int],
        step: Callable[[list[int]], dict[str, Array]],
        most: int | None,
        stop: frozenset[int],
        *,
        resume: bool,
    ) -> Iterator[Token]:
        if not resume:
            self._decoder.reset()
        made = 0
        while most is None or made < most:
            results = step(prompt)
            token = int(results[TOKEN][0])
            self._pending = token, self._decoder.position
            if token in stop:
                return
            made += 1
            yield Token(token, float(results[LOGPROB][0]), _top(results))
            prompt = [token]

    def _behind(self, prompt: Sequence[int], sampling: Sampling, others: Mapping[str, object]) -> dict[str, Array]:
        """The results behind the last of these tokens, which are run in parts."""
        g = self.generation
        results: dict[str, Array] = {}
        for first in range(0, len(prompt), g.longest):
            part = np.array([prompt[first : first + g.longest]], g.dtype.numpy)
            position = self._decoder.position + part.shape[1]
            results = self._decoder.run({**others, g.ids: part, **sampling.inputs(position)})
        return results


def _top(results: Mapping[str, Array]) -> tuple[tuple[int, float], ...]:
    if TOP_IDS not in results:
        return ()
    return tuple((int(i), float(p)) for i, p in zip(results[TOP_IDS], results[TOP_LOGPROBS], strict=True))
