"""One model on one backend of one browser, for a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import onnx
from compiled import compile_site
from devices import has_backend
from harness import browser_name, measure_heap, open_page
from playwright.sync_api import Error, Page
from server import Site

from soak.models import MODELS, Feeds, references

SCRIPT = (Path(__file__).parent / "soak.js").read_text()
SEQUENCES = 8
TOLERANCE = 3e-3
"""Error of an element, relative to max(1, the largest): Winograd's algorithm has the most."""
WEIGHTS_ERROR = 0.05
"""Error where weights are in few bits: the reference has those of the model."""
CHUNK = 1.0
"""Seconds between two looks at memory."""
HEAP_GROWTH = 3 * 2**20
"""Bytes by which the page's heap may grow, whatever the time."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table. `heap`, `device` and `memory` are bytes at the beginning, after warming up, and at the end;
    `failure` is empty where all went well."""

    model: str
    browser: str
    backend: str
    worker: bool
    seconds: float = 0.0
    counts: dict[str, Any] | None = None
    heap: tuple[int, int] = (0, 0)
    device: tuple[int, int] = (0, 0)
    memory: tuple[int, int] = (0, 0)
    failure: str = ""


def compile_models(names: tuple[str, ...], folder: Path) -> dict[str, dict[str, Any]]:
    """Compiles each model below its name, and gives what the script reads."""
    found = {}
    for name in names:
        soaked = MODELS[name]
        path = folder / f"{name}.onnx"
        onnx.save(soaked.build(), path)
        compile_site(path, folder / name, *soaked.options, "--golden=off", "--canaries=on")
        sequences = soaked.sequences(SEQUENCES)
        wanted = [
            [{k: v.ravel().tolist() for k, v in run.items()} for run in sequence]
            for sequence in references(name, path, sequences)
        ]
        tolerance = WEIGHTS_ERROR if "--weights" in soaked.options else TOLERANCE
        found[name] = {"sequences": [list(map(_plain, s)) for s in sequences], "wanted": wanted, "tolerance": tolerance}
    return found


def _plain(feeds: Feeds) -> dict[str, Any]:
    return {k: {"data": v.ravel().tolist(), "shape": list(v.shape)} for k, v in feeds.items()}


def play(
    page: Page,
    site: Site,
    row: Row,
    given: dict[str, Any],
    seconds: float,
    before: Callable[[Page], object] = lambda _: None,
) -> Row | None:
    """The row after so many seconds, or a failure; None where the browser has no such backend. `before` is called when
    the page is open, and nothing loaded."""
    open_page(page, site, f"{row.model}/bundles.html?bundle")
    if not has_backend(page, row.backend):
        return None
    start = time.monotonic()
    page.evaluate(SCRIPT, {**given, "backend": row.backend, "worker": row.worker, "seed": 1})
    before(page)
    heap = measure_heap(page)
    other = page.context.new_page()
    try:
        _chunk(page, other, 2 * CHUNK, 0, first=True)
        heap_before, first = heap(), page.evaluate("() => soak.state()")
        state, turn = first, 0
        while time.monotonic() < start + seconds:
            turn += 1
            state = _chunk(page, other, CHUNK, turn)
        page.bring_to_front()
        heap_after = heap()
        if browser_name(page) == "chromium":
            state = page.evaluate("() => new Promise((done) => setTimeout(() => done(soak.state()), 50))")
        state = {**state, "canaries": page.evaluate("() => soak.close()")}
    except Error as error:
        return replace(row, seconds=time.monotonic() - start, failure=error.message.splitlines()[0])
    finally:
        other.close()
    done = replace(
        row,
        seconds=time.monotonic() - start,
        counts=state,
        heap=(heap_before, heap_after),
        device=(first["device"], state["device"]),
        memory=(first["memory"], state["memory"]),
    )
    return replace(done, failure=_leak(done, certain=browser_name(page) == "chromium"))


def _chunk(page: Page, other: Page, seconds: float, turn: int, *, first: bool = False) -> dict[str, Any]:
    """Plays on, each third time in a tab in the background, and, in Chromium, each fifth time frozen for a moment."""
    (other if turn % 3 == 2 else page).bring_to_front()
    work = "soak.open().then(() => soak.steps(ms))" if first else "soak.steps(ms)"
    page.evaluate(f"(ms) => {{ globalThis.chunk = {work}; chunk.catch(() => {{}}); }}", 1000 * seconds)
    if turn % 5 == 4 and browser_name(page) == "chromium":
        session = page.context.new_cdp_session(page)
        session.send("Page.setWebLifecycleState", {"state": "frozen"})
        time.sleep(0.3)
        session.send("Page.setWebLifecycleState", {"state": "active"})
        session.detach()
    state: dict[str, Any] = page.evaluate("() => chunk")
    return state


def _leak(row: Row, *, certain: bool) -> str:
    """Says what has grown. Only Chromium collects garbage when asked, by which WebAssembly's memory is freed."""
    grown = [f"{what} grew from {a} to {b} bytes" for what, (a, b) in (("the device", row.device),) if b > a]
    if certain and row.memory[1] > row.memory[0]:
        grown.append(f"WebAssembly grew from {row.memory[0]} to {row.memory[1]} bytes")
    if row.heap[1] > row.heap[0] + HEAP_GROWTH:
        grown.append(f"the heap grew from {row.heap[0]} to {row.heap[1]} bytes")
    return "; ".join(grown)
