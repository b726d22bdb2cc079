"""From a seed to what happens to a page: a bundle, faults of the server, options and calls."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import get_args

from fuzz.case import Case
from fuzz.page_inputs import CALLS, EITHER, INPUTS, LAST_CALLS, LOAD_OPTIONS, RIGHT, RUN_OPTIONS, WRONG
from server import Fault

SILENCE = 1500
"""Milliseconds after which a load in which nothing arrives ends."""
STALLS = ("silent", "wait")
FILES = (
    "worker_*.js",
    "thread-*.js",
    "relaxed-*.wasm",
    "plain-*.wasm",
    "weights-*.bin",
    "webgpu-*.txt",
    "webgl-*.txt",
    "*",
)


@dataclass(frozen=True)
class Part:
    """`what` is fault, option or call; `given` a file and its fault, or JavaScript; `wanted` what must come of it."""

    what: str
    given: tuple[str, ...]
    wanted: str = EITHER


@dataclass(frozen=True)
class PageCase:
    """`bundle` is wasm or all (targets); `isolated`: the page may use threads."""

    browser: str
    bundle: str
    isolated: bool
    parts: tuple[Part, ...]
    last: str

    @property
    def faults(self) -> dict[str, str]:
        return {part.given[0]: part.given[1] for part in self.parts if part.what == "fault"}

    @property
    def options(self) -> list[Part]:
        return [part for part in self.parts if part.what == "option"]

    @property
    def calls(self) -> list[Part]:
        return [part for part in self.parts if part.what == "call"]


def draw_page(case: Case) -> PageCase:
    """Faults, odd options or odd calls: mostly one of these, so that each is seen to be enough."""
    draw = Random(case.seed)
    parts: list[Part] = []
    matter = draw.choice(("faults", "faults", "options", "calls", "calls", "all"))
    if matter in ("faults", "all"):
        for _ in range(draw.choice((1, 1, 2))):
            # Those that stall take time.
            faults = [f for f in get_args(Fault) if f not in STALLS or draw.random() < 0.3]
            parts.append(Part("fault", (draw.choice(FILES), draw.choice(faults))))
    options = LOAD_OPTIONS if matter in ("options", "all") else [o for o in LOAD_OPTIONS if o[1] == RIGHT]
    seen = set()
    for given, wanted in draw.choices(options, k=draw.randrange(3)):
        name = given.partition(":")[0]
        if name not in seen:
            parts.append(Part("option", (given,), wanted))
            seen.add(name)
    for _ in range(draw.randrange(1, 5) if matter in ("calls", "all") else 0):
        if draw.random() < 0.2:
            given, wanted = draw.choice(CALLS)
        else:
            (values, of_values), (options_, of_options) = draw.choice(INPUTS), draw.choice(RUN_OPTIONS)
            given = f"model.run({values}, {options_})"
            wanted = (
                WRONG if WRONG in (of_values, of_options) else EITHER if EITHER in (of_values, of_options) else RIGHT
            )
        parts.append(Part("call", (given,), wanted))
    if case.kept is not None:
        parts = [parts[i] for i in case.kept]
    page = Random(case.seed + 1)
    return PageCase(
        "firefox" if page.random() < 0.2 else "chromium",
        "wasm" if page.random() < 0.6 else "all",
        page.random() < 0.4,
        tuple(parts),
        draw.choice(LAST_CALLS),
    )
