"""Forms of answers, as the command line and Python name them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import InputError

SCORES = ("found", "logits", "scores")
"""Elements of an output of classes: logits, of which scores are the Softmax, or scores; by default the graph says."""


@dataclass(frozen=True, slots=True)
class Classify:
    """The `top` classes with the highest scores."""

    top: int = 5
    scores: str = SCORES[0]


Form = Classify


@dataclass(frozen=True, slots=True)
class Answer:
    """A form, and the output of the model that it is made of; None where that follows from shapes."""

    form: Form
    output: str | None = None

    def __str__(self) -> str:
        """The beginning of the option, for messages."""
        kind = KIND_OF[type(self.form)]
        return f"--answer {kind}" if self.output is None else f"--answer {self.output}={kind}"


AnswerLike = str | Answer
"""An answer, or its text."""


def answers_of(given: Sequence[AnswerLike]) -> tuple[Answer, ...]:
    """Raises InputError."""
    if isinstance(given, str):
        given = [given]
    return tuple(parse_answer(a) if isinstance(a, str) else a for a in given)


def parse_answer(text: str) -> Answer:
    """`[OUTPUT=]KIND[=PRESET][,OPTION...]`, such as classify,top=3. Raises InputError."""
    found = _TEXT.fullmatch(text)
    if found is None:
        raise InputError(f"--answer {text}: it has none of {', '.join(KINDS)}; give one, such as classify,top=5")
    options: dict[str, str | None] = {}
    for part in (found["options"] or "").split(",")[1:]:
        name, _, value = part.partition("=")
        options[name] = value or None
    where = f"--answer {text}"
    form = KINDS[found["kind"]](found["preset"], options, where)
    if options:
        raise InputError(f"{where}: {next(iter(options))!r} is unknown; {EXAMPLES[found['kind']]}")
    return Answer(form, found["output"])


def _classify(preset: str | None, options: dict[str, str | None], where: str) -> Classify:
    _no_preset(preset, "classify", where)
    top = _number(options, "top", 5, where)
    given = [name for name in SCORES[1:] if name in options and options.pop(name) is None]
    if len(given) > 1:
        raise InputError(f"{where}: logits and scores exclude each other")
    return Classify(top, given[0] if given else SCORES[0])


def _no_preset(preset: str | None, kind: str, where: str) -> None:
    if preset is not None:
        raise InputError(f"{where}: {preset!r} is unknown; {EXAMPLES[kind]}")


def _number(options: dict[str, str | None], name: str, default: int, where: str) -> int:
    """An option that is a number from 1."""
    text = options.pop(name, str(default)) or ""
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise InputError(f"{where}: {name} is {text!r}; give a number from 1")
    return int(text)


KINDS: Mapping[str, Callable[[str | None, dict[str, str | None], str], Form]] = {"classify": _classify}
"""Readers of kinds: of the preset, of options, out of which they take theirs, and for messages where they stand."""

KIND_OF: Mapping[type[Form], str] = {Classify: "classify"}

EXAMPLES: Mapping[str, str] = {
    "classify": "give classify,top=5, and logits or scores where the graph does not say which of them it computes"
}

_TEXT = re.compile(rf"(?:(?P<output>.+)=)?(?P<kind>{'|'.join(KINDS)})(?:=(?P<preset>[^,]+))?(?P<options>(?:,[^,]*)*)")
