"""The last figures, in benchmarks/README.md."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webnn_compile.errors import InputError

from .results import Results
from .tables import engine_grid, kernel_grid, markdown

BEGIN, END = "<!-- figures: written by --update-readme -->", "<!-- end of figures -->"


def update_readme(results: Results, file: Path, chart: Path | None) -> None:
    """Replaces what stands between the two marks. InputError where they are missing."""
    text = file.read_text()
    before, mark, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise InputError(f"{file} lacks the lines {BEGIN!r} and {END!r}, between which the figures go")
    parts = [_heading(results.facts), markdown(engine_grid(results.measured))]
    if chart is not None:
        parts.insert(1, f"![Median times by model and engine]({chart.name})")
    for profile in results.profiles:
        if "failed" not in profile:
            grid = kernel_grid(profile)
            parts.append(f"<details><summary>{grid.title}</summary>\n\n{markdown(grid)}\n\n</details>")
    file.write_text(f"{before}{BEGIN}\n\n" + "\n\n".join(parts) + f"\n\n{END}{after}")


def _heading(facts: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return f"{facts['when']}, {facts['processor']}, {facts['cores']} cores; {versions}."
