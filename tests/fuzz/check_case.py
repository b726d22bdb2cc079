"""Checks one case of any kind, in a process of a pool."""

from __future__ import annotations

import resource
from collections.abc import Callable

from fuzz.case import Case, Outcome
from fuzz.check_growth import check_growth
from fuzz.check_model import check_model
from fuzz.check_names import check_names
from fuzz.check_page import check_page
from fuzz.draw_subject import draw_subject

MEMORY = 3 << 30
"""Bytes of data of a process while it checks a model: more is a MemoryError."""


def check_case(case: Case, phase: Callable[[str], None]) -> Outcome:
    """`phase` is called with what comes next, so that a crash can be put down to it."""
    phase("draw")
    # Only the soft limit: a browser is started without one.
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (most if case.kind == "page" else MEMORY, most))
    if case.kind == "page":
        return check_page(case, phase)
    if case.kind == "names":
        return check_names(case, phase)
    if case.kind == "growth":
        return check_growth(case, phase)
    return check_model(draw_subject(case), phase)
