"""Makes a case that shows a fault smaller: greedily, fewer mutations first, then a smaller model."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

from fuzz.case import Case, Outcome
from fuzz.draw_page import draw_page
from fuzz.draw_subject import draw_subject
from fuzz.reduce_subject import smaller


def count_parts(case: Case) -> int:
    """The number of parts that can be left out of the case that a seed gives."""
    if case.kind in ("graphs", "quanta", "nodes", "names"):
        return 0
    return len(draw_page(case).parts if case.kind == "page" else draw_subject(case).edits)


def shrink_case(case: Case, fault: str, check: Callable[[Case], Outcome], go_on: Callable[[], bool]) -> Case:
    """The smallest case found that ends in the same `fault`. `go_on` is asked before each check."""

    def same(smaller_case: Case) -> bool:
        return go_on() and check(smaller_case).fault == fault

    kept = tuple(range(count_parts(case)))
    for part in reversed(kept):
        fewer = tuple(p for p in kept if p != part)
        if same(replace(case, kept=fewer)):
            kept = fewer
            case = replace(case, kept=kept)
    if case.kind in ("growth", "page", "names"):  # a model that grows has none smaller than its block of steps
        return case
    found = True
    while found and go_on():
        candidates = (replace(case, reduced=s) for s in smaller(draw_subject(case)))
        found = False
        for candidate in itertools.takewhile(lambda _: go_on(), candidates):
            if same(candidate):
                case, found = candidate, True
                break
    return case
