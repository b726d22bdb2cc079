"""The oracle for models that grow: compiling one of twice the size takes at most a little more than twice the work."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from zlib import crc32

from fuzz.case import Case, Outcome
from growing_models import STEPS, Growing, growth, repeated
from webnn_compile.errors import WebnnCompileError

LARGEST = 12
"""How often a block of steps is repeated."""

MOST = 1.6
"""Largest exponent: n log n at such sizes has up to 1.4."""

LEAST = 1.2
"""Least factor by which work grows over all: a smaller one does not determine the exponent."""


def draw_growing(case: Case) -> tuple[Growing, tuple[str, ...]]:
    """A block of up to three steps that a model repeats, by name, along rows of a fixed or varying number."""
    draw = Random(crc32(case.kind.encode()) << 32 | case.seed)
    varies = draw.random() < 0.7
    names = tuple(draw.choices(list(STEPS), k=draw.choice((1, 2, 2, 3))))
    kept = names if case.kept is None else tuple(names[i] for i in case.kept)
    return repeated(kept, ("N", 4) if varies else (300, 4)), kept


def check_growth(case: Case, phase: Callable[[str], None]) -> Outcome:
    """Fits the exponent by which calls of functions grow with the number of repetitions."""
    growing, names = draw_growing(case)
    phase("compile")
    if not names:
        return Outcome("empty")
    try:
        found = growth(growing, LARGEST)
        if found.factor >= LEAST and found.exponent >= MOST:
            # From some size on each step may take more work, as much as the one before: then twice the size shows it.
            found = growth(growing, 2 * LARGEST)
    except WebnnCompileError as error:
        return Outcome("refused", details=str(error))
    if found.factor < LEAST:
        return Outcome("hardly grows")
    if found.exponent < MOST:
        return Outcome("grows like its size")
    return Outcome(
        "fault", "the work of compiling grows faster than n log n", f"{', '.join(names)}: n ** {found.exponent:.2f}"
    )
