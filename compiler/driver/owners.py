"""Which of several models an option is for, that names an input or a size."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from ..errors import InputError
from ..frontends.model_card import ModelCard

INPUT = "input"
SIZE = "size"


def names_in(card: ModelCard, what: str, shapes: Iterable[Sequence[int | str]] = ()) -> set[str]:
    """The model's inputs; and for SIZE names of free dimensions, too, those that `shapes` give among them: an input may
    be a size."""
    names = {port.name for port in card.inputs}
    if what == INPUT:
        return names
    free = {d for port in card.inputs for d in port.shape or () if isinstance(d, str)}
    words = {word for d in free for word in re.findall(r"\w+", d)}
    return names | free | words | {d for shape in shapes for d in shape if isinstance(d, str)}


def owners(
    option: str, what: str, wanted: str, names: Mapping[str, Collection[str]], advice: str, *, wildcards: bool = False
) -> list[str]:
    """The models that have what is `wanted`; `names` are what each has. Raises InputError where none has it: `option`
    is how it was given, and `advice` how to give it to one model alone."""
    pattern = re.compile(re.escape(wanted).replace(r"\*", ".*") if wildcards else re.escape(wanted))
    found = [model for model, having in names.items() if any(map(pattern.fullmatch, having))]
    if not found:
        each = "; ".join(f"{model}: {', '.join(sorted(having))}" for model, having in names.items())
        raise InputError(
            f"{option}: no model has the {what} {wanted!r}. They have {each}. {advice}, with the name of one of them "
            f"({', '.join(names)}), is for that model alone"
        )
    return found
