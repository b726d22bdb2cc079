"""How a bundle gives tokens."""

from __future__ import annotations

from ..bundle import BundledGeneration
from ..generation.ports import BY_COUNT, BY_MASS, COUNTS, DRAWS, OPTIONS
from .work import Work

_ROLES = {OPTIONS: "options", COUNTS: "counts", DRAWS: "draws", BY_COUNT: "byCount", BY_MASS: "byMass"}
"""Roles of the inputs (runtime-js/generate/sampling.js)."""


def bundled_generation(work: Work) -> BundledGeneration | None:
    if not work.generation:
        return None
    (made,) = work.generation
    return BundledGeneration(made.ids, made.longest, made.vocabulary, made.top, made.end, _ROLES, _chat(work))


def _chat(work: Work) -> dict[str, object]:
    chat = None if work.options.text is None else work.options.text.chat
    return {} if chat is None else {"template": chat.text, "tokens": dict(chat.tokens)}
