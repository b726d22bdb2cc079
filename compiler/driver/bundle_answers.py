"""Pictures and sounds that a bundle takes in place of arrays, and answers that it gives in place of them."""

from __future__ import annotations

from ..bundle import BundledAnswer
from .work import Work


def bundled_pictures(work: Work) -> dict[str, int]:
    """The most rows and columns of pictures, by input."""
    return {p.value.name: p.format.most for p in work.pictures}


def bundled_sounds(work: Work) -> dict[str, int]:
    """The rates of sounds, by input."""
    return {s.value.name: s.format.rate for s in work.sounds}


def bundled_answers(work: Work) -> tuple[BundledAnswer, ...]:
    return tuple(
        BundledAnswer(
            given.name,
            given.fitted.kind,
            given.outputs,
            None if labels is None else labels.names,
            given.fitted.fields,
            given.fitted.many,
            None if tokenizer is None else tokenizer.shipped,
        )
        for given in work.answers
        for labels, tokenizer in ((given.fitted.labels, given.fitted.tokenizer),)
    )
