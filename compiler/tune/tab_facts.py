"""What a browser's tab says of itself (rpc/page/browser_facts.js), as a search needs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CLOCK = 0.1
"""Milliseconds by which a clock advances of which nothing is known."""


def name_of_tab(facts: Mapping[str, Any], backend: str) -> str:
    """The name of a device in records: browser, and adapter or platform."""
    browser = str(facts.get("browser", "browser"))
    adapter = adapter_of_tab(facts, backend)
    return f"{browser}: {adapter}" if adapter else f"{browser} on {facts.get('platform', 'this platform')}"


def adapter_of_tab(facts: Mapping[str, Any], backend: str) -> str:
    """The name of the GPU's adapter that a tab has for a backend, if it has one."""
    found = facts.get(backend)
    return str(found.get("adapter") or "") if isinstance(found, Mapping) else ""


def clock_of_tab(facts: Mapping[str, Any], backend: str) -> float:
    """Milliseconds by which the clock of a backend advances at least."""
    of_backend = facts.get(backend) or {}
    return float(of_backend.get("clock") or facts.get("clock") or CLOCK)
