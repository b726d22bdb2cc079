"""First results from an empty cache, beside the engines of others on the same backend."""

from __future__ import annotations

import gzip
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .cases import shown
from .engines import ENGINES
from .summary import Key, Rounds
from .tables import Grid

OF_OURS = ("*.js", "*.wasm", "*.txt", "*.json")
OF_OTHERS = ("ort.w*.min.mjs", "ort-wasm-simd-threaded.[amw]*", "tf-*.min.js", "tfjs-*.wasm")
"""Files that hosts compress, and that pages load: scripts, code and text, but no weights."""


def compress_files(folder: Path, patterns: tuple[str, ...]) -> None:
    """Writes `name.gz` beside each file below `folder`, unless it is there and newer."""
    for file in {file for pattern in patterns for file in folder.rglob(pattern) if file.suffix != ".gz"}:
        packed = file.with_name(f"{file.name}.gz")
        if not packed.exists() or packed.stat().st_mtime < file.stat().st_mtime:
            packed.write_bytes(gzip.compress(file.read_bytes(), 6, mtime=0))


def first_grid(measured: Mapping[Key, Rounds], line: float) -> Grid:
    """One row for each case, browser and engine: medians over the rounds, the line in Mbit/s (0 for loopback)."""
    head = ("model", "where", "engine", "MB", "received ms", "first result ms", "of these after the last byte")
    rows = []
    for key, rounds in measured.items():
        case, browser, engine = key
        names = (shown(case), browser or "native", ENGINES[engine].label)
        done = [r for r in rounds if "failed" not in r]
        if not done:
            rows.append((*names, "-", "-", f"failed: {rounds[-1]['failed']}", "-", "-", "-"))
            continue
        size, received, first = (statistics.median(map(fact, done)) for fact in (_megabytes, _received, _first))
        after = statistics.median(_first(r) - _received(r) for r in done)
        busy = "/".join(f"{r['others']:.1f}" for r in done if r["others"] is not None) or "?"
        figures = (f"{size:.1f}", f"{received:.0f}", f"{first:.0f}", f"{after:.0f}")
        rows.append((*names, *figures, _ratio(key, measured), busy))
    where = f"over a line of {line:g} Mbit/s" if line else "over loopback"
    return Grid(f"First results {where}", (*head, "ratio to the fastest other", "others"), tuple(rows), 3)


def _ratio(key: Key, measured: Mapping[Key, Rounds]) -> str:
    """The median of the rounds' ratios of an engine of ours to the fastest of others on its backend."""
    case, browser, name = key
    engine = ENGINES[name]
    if not engine.ours:
        return ""
    others = [
        rounds
        for (c, b, e), rounds in measured.items()
        if (c, b) == (case, browser) and not ENGINES[e].ours and ENGINES[e].backend == engine.backend
        if ENGINES[e].threads == engine.threads
    ]
    found = []
    for number, own in enumerate(measured[key]):
        theirs = [_first(r[number]) for r in others if "failed" not in r[number]]
        if theirs and "failed" not in own:
            found.append(_first(own) / min(theirs))
    return f"{statistics.median(found):.2f}" if found else ""


def _first(result: Mapping[str, Any]) -> float:
    return float(result["start_ms"] + result["first_ms"])


def _received(result: Mapping[str, Any]) -> float:
    return float(result["received_ms"])


def _megabytes(result: Mapping[str, Any]) -> float:
    return float(result["bytes"] / 1e6)
