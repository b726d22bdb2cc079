"""A decoder in this process that gives tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Unpack, overload

import numpy as np

from ..errors import InputError
from ..graph.ir import Array
from ..program.shown_model import Shown, ShownModel
from ..tokenizers.chat_template import Message, render_messages
from ..tokenizers.encode import open_tokenizer
from ..tokenizers.take_text import TextOptions
from .decoder import Generation
from .pieces import Pieces
from .ports import LOGPROB, SAMPLING, TOKEN, TOP_IDS, TOP_LOGPROBS
from .sample import Sampling, SamplingOptions

Ids = Sequence[int] | Array


@dataclass(frozen=True, slots=True)
class Token:
    """A token, its logarithm of probability by the logits, and of the likeliest tokens, the likeliest first, the
    same."""

    id: int
    logprob: float
    top: tuple[tuple[int, float], ...] = ()


class Generating(ShownModel):
    """A compiled decoder, or a session of it, with all that this has, and `generate`; with `text` it takes and gives
    text, too, and messages by the template of its options. `run` takes the likeliest token unless it is given the
    inputs of `Sampling`."""

    def __init__(self, decoder: Any, generation: Generation, text: TextOptions | None = None) -> None:
        self._decoder, self.generation = decoder, generation
        self._chat = None if text is None else text.chat
        self._pending: tuple[int, int] | None = None
        self._pieces: Pieces | None = None
        self._encoding = None if text is None else open_tokenizer(text.tokenizer)
        if self._encoding is not None:
            self._encoding.no_padding()
            self._encoding.no_truncation()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._decoder, name)

    def shown(self) -> Shown:
        shown: Shown = self._decoder.shown()
        own = {name: what for name, what in shown.inputs.items() if name not in SAMPLING}
        return replace(shown, inputs=own)

    def run(self, inputs: Mapping[str, object], **options: Any) -> dict[str, Array]:
        """TOKEN and LOGPROB behind the ids that are given, and with `top` TOP_IDS and TOP_LOGPROBS."""
        ids = inputs.get(self.generation.ids) if isinstance(inputs, Mapping) else None
        position = self._decoder.position + (ids.shape[-1] if isinstance(ids, np.ndarray) and ids.ndim else 0)
        results: dict[str, Array] = self._decoder.run({**Sampling().inputs(position), **inputs}, **options)
        return results

    def session(self) -> Generating:
        """A new session, independent of all others."""
        return self._of(self._decoder.session())

    def fork(self) -> Generating:
        """A new session with copies of these states."""
        made = self._of(self._decoder.fork())
        made._pending = self._pending
        made._pieces = None if self._pieces is None else self._pieces.copy()
        return made

    def _of(self, session: Any) -> Generating:
        made = Generating(session, self.generation)
        made._encoding, made._chat = self._encoding, self._chat
        return made

    @overload
    def generate(
        self,
        ids: Ids,
        *,
        max_tokens: int | None = None,
        stop: Sequence[int] = (),
        end: Sequence[int] | None = None,
        resume: bool = False,
        inputs: Mapping[str, object] | None = None,
        logprobs: Literal[False] = False,
        **sampling: Unpack[SamplingOptions],
    ) -> Iterator[int]: ...

    @overload
    def generate(
        self,
        ids: Ids,
        *,
        max_tokens: int | None = None,
        stop: Sequence[int] = (),
        end: Sequence[int] | None = None,
        resume: bool = False,
        inputs: Mapping[str, object] | None = None,
        logprobs: Literal[True],
        **sampling: Unpack[SamplingOptions],
    ) -> Iterator[Token]: ...

    @overload
    def generate(
        self,
        *,
        text: str,
        max_tokens: int | None = None,
        stop: Sequence[int | str] = (),
        end: Sequence[int] | None = None,
        resume: bool = False,
        inputs: Mapping[str, object] | None = None,
        **sampling: Unpack[SamplingOptions],
    ) -> Iterator[str]: ...

    @overload
    def generate(
        self,
        *,
        messages: Sequence[Message],
        max_tokens: int | None = None,
        stop: Sequence[int | str] = (),
        end: Sequence[int] | None = None,
        inputs: Mapping[str, object] | None = None,
        **sampling: Unpack[SamplingOptions],
    ) -> Iterator[str]: ...

    def generate(
        self,
        ids: Ids | None = None,
        *,
        text: str | None = None,
        messages: Sequence[Message] | None = None,
        max_tokens: int | None = None,
        stop: Sequence[int | str] = (),
        end: Sequence[int] | None = None,
        resume: bool = False,
        inputs: Mapping[str, object] | None = None,
        logprobs: bool = False,
        **sampling: Unpack[SamplingOptions],
    ) -> Iterator[int] | Iterator[Token] | Iterator[str]:
        """Tokens one at a time, behind `ids`: until one of `stop`, or of `end`, by default those that end a text of the
        model, which are not given, or for `max_tokens`. Behind a `text` in their place it gives pieces of text, of
        whole characters, and in `stop` there may be strings, too; and so behind `messages`, of which the model's chat
        template makes the text of the whole conversation, special tokens among it. The states are reset before, or with
        `resume` go on: what comes last, and is not in the states yet, then precedes the prompt. `Sampling` says how a
        token is chosen; with `logprobs` each is a Token. `inputs` are the other inputs of each run, such as what an
        encoder gave.

        Raises InputError for ids that are no tokens, and StateFullError, before anything is computed, where the states
        have no room for the prompt; the iterator does where they have none for more.
        """
        chosen = Sampling(**sampling)
        begins = not resume and messages is None
        if messages is not None:
            if text is not None or ids is not None or resume:
                raise InputError("messages: leave text, ids and resume out: a template makes the whole conversation")
            text = self._of_messages(messages)
        if text is not None and (ids is not None or logprobs):
            raise InputError("text: leave ids and logprobs out: pieces of text are no tokens")
        strings = [one for one in stop if isinstance(one, str)]
        if (strings and text is None) or "" in strings:
            raise InputError(f"stop: {strings[0]!r} ends no tokens; strings end a text, and none is empty")
        ends = self.generation.end if end is None else end
        stops = frozenset([*(one for one in stop if not isinstance(one, str)), *ends])
        given = (() if ids is None else ids) if text is None else self._encoded(text, begins=begins)
        prompt, goes_on = self._prompt(given, resume=resume)
        self._decoder.check_rows(len(prompt), self.generation.longest, at_start=not resume)
        step = partial(self._behind, sampling=chosen, others=dict(inputs or {}))
        tokens = self._tokens(prompt, step, max_tokens, stops, resume=resume)
        if text is not None:
            return self._written(tokens, prompt, strings, goes_on=goes_on and not given)
        return tokens if logprobs else (t.id for t in tokens)

    def _of_messages(self, messages: Sequence[Message]) -> str:
        if self._chat is None:
            raise InputError(
                "messages: the model was compiled without a chat template: give text= with one beside the tokenizer, "
                "or chat_template= to compile, too"
            )
        return render_messages(self._chat, messages)

    def _encoded(self, text: str, *, begins: bool) -> list[int]:
        """The tokens of a text, those of the tokenizer's template around it where it begins one."""
        if self._encoding is None:
            raise InputError("text: the model was compiled without a tokenizer: give text= to compile, too")
        ids: list[int] = self._encoding.encode(text, add_special_tokens=begins).ids
        return ids

    def _prompt(self, ids: Ids, *, resume: bool) -> tuple[list[int], bool]:
        """The tokens to run, and whether what comes last is before them."""
        array = np.asarray(ids)
        if array.ndim == 2 and array.shape[0] == 1:
            array = array[0]
        if array.ndim != 1 or not (array.size == 0 or np.issubdtype(array.dtype, np.integer)):
            raise InputError(f"ids: give the numbers of tokens, in one row, not {array.dtype}{list(array.shape)}")
        wrong = [int(i) for i in array if not 0 <= i < self.generation.vocabulary]
        if wrong:
            raise InputError(f"ids: {wrong[0]} is no token; the model has {self.generation.vocabulary}")
        # After rewinding, or loading states, what came last belongs to other ones.
        goes_on = resume and self._pending is not None and self._pending[1] == self._decoder.changes
        prompt = [self._pending[0]] if goes_on and self._pending is not None else []
        prompt += array.tolist()
        if not prompt:
            raise InputError("ids: give one token at least")
        return prompt, goes_on

    def _written(
        self, tokens: Iterator[Token], prompt: Sequence[int], strings: Sequence[str], *, goes_on: bool
    ) -> Iterator[str]:
        """Pieces of the text of tokens, until one of `strings`."""
        assert self._encoding is not None
        pieces = self._pieces
        if pieces is None or not goes_on:
            pieces = self._pieces = Pieces(self._encoding.decode, prompt)
        for token in tokens:
            pieces.push(token.id)
            text, stopped = pieces.take(strings)
            if text:
                yield text
            if stopped:
                return
        rest, _ = pieces.take()
        if rest:
            yield rest

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
            self._pending = token, self._decoder.changes
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
