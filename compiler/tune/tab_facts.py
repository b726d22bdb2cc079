"""The facts that a browser's tab sends (rpc/device_page/browser_facts.js), as a search needs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..bundle import VARIANTS

CLOCK = 0.1
"""Milliseconds by which a clock advances of which nothing is known."""
SLOWEST_CLOCK = 1000.0
"""No browser coarsens its clock to so many milliseconds."""


def name_of_tab(facts: Mapping[str, Any], backend: str) -> str:
    """The name of a device in records: browser, and adapter or platform."""
    browser = str(facts.get("browser", "browser"))
    adapter = adapter_of_tab(facts, backend)
    return f"{browser}: {adapter}" if adapter else f"{browser} on {facts.get('platform', 'this platform')}"


def adapter_of_tab(facts: Mapping[str, Any], backend: str) -> str:
    """The name of the GPU's adapter that a tab has for a backend, if it has one."""
    of_backend = facts.get(backend)
    return str(of_backend.get("adapter") or "") if isinstance(of_backend, Mapping) else ""


def clock_of_tab(facts: Mapping[str, Any], backend: str) -> float:
    """Milliseconds by which the clock of a backend advances at least."""
    of_backend = facts.get(backend)
    for clock in (of_backend.get("clock") if isinstance(of_backend, Mapping) else None, facts.get("clock")):
        if isinstance(clock, int | float) and 0 < clock < SLOWEST_CLOCK:
            return float(clock)
    return CLOCK


def variants_of_tab(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Variants of the wasm module that a tab runs, the preferred one first."""
    wasm = facts.get("wasm")
    variants = wasm.get("variants") if isinstance(wasm, Mapping) else None
    return tuple(v for v in VARIANTS if isinstance(variants, list) and v in variants) or VARIANTS
