"""Writes the scores of docs/operators.md: how many of ONNX's node tests pass on each target, and why others do not.

    python tests/node_scores.py [TARGET ...]

runs every test on these targets, by default on all that this machine can run; other rows stay. That takes minutes for
a target. `tests/docs/test_operators.py` holds the page against the reasons in `tests/test_onnx_node_data.py`.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import onnx
from drivers import missing
from test_onnx_node_data import EXCLUDED, NAMES, OPERATOR, REASONS, TYPES, operators, run
from webnn_compile.driver.targets import TARGETS
from webnn_compile.errors import WebnnCompileError

PAGE = Path(__file__).resolve().parent.parent / "docs" / "operators.md"
HEADING = "## ONNX's node tests"
OUTCOMES = ("passed", "not supported", "wrong")

Counts = Mapping[str, tuple[int, ...]]
"""By target the number of tests of each outcome."""

TEXT = """{heading}

The package onnx {version} has {total} node tests: models of one node, or of the nodes that define an operator, with
inputs and outputs. `python tests/node_scores.py` runs all of them and writes these tables. Of operators that draw
random numbers, shapes and types are compared.

| target | passed | not supported | wrong |
| --- | --- | --- | --- |
{rows}
Those that do not pass on any target:

| why | tests | operators |
| --- | --- | --- |
{reasons}
"""


def section(counts: Counts) -> str:
    """The text of the scores."""
    rows = [f"| {t} | {' | '.join(f'{n:,}' for n in counts[t])} |\n" for t in TARGETS if t in counts]
    reasons = []
    for reason in (OPERATOR, TYPES, *EXCLUDED):
        names = [name for name, why in REASONS.items() if why == reason]
        first = {min(operators(name) - {"Cast", "Constant", "Equal", "Identity"} or operators(name)) for name in names}
        reasons.append(f"| {reason} | {len(names)} | {', '.join(sorted(first))} |\n")
    made = TEXT.format(
        heading=HEADING,
        version=onnx.__version__,
        total=f"{len(NAMES):,}",
        rows="".join(rows),
        reasons="".join(reasons),
    )
    return made.rstrip("\n") + "\n\n"


def written_counts(page: str) -> dict[str, tuple[int, ...]]:
    """The counts that a page has."""
    found = re.findall(r"^\| ([a-z0-9]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", page, re.M)
    return {target: tuple(int(n.replace(",", "")) for n in numbers) for target, *numbers in found if target in TARGETS}


def outcome(task: tuple[str, str]) -> tuple[str, str, str]:
    """Name and outcome of a test on a target, and the message of its error."""
    name, target = task
    warnings.simplefilter("ignore")
    try:
        run(name, target)
    except WebnnCompileError as error:
        return name, "not supported", str(error)
    except Exception as error:
        return name, "wrong", str(error)
    return name, "passed", ""


def main(targets: list[str]) -> None:
    counts = written_counts(PAGE.read_text())
    for target in targets:
        with ProcessPoolExecutor(2) as pool:
            results = list(pool.map(outcome, [(name, target) for name in NAMES], chunksize=8))
        for name, what, message in results:
            if (what == "passed") == (name in REASONS):
                print(f"{target} {name}: {what}; {message[:300]}")
        found = Counter(what for _, what, _ in results)
        counts[target] = tuple(found[what] for what in OUTCOMES)
        print(target, dict(found), flush=True)
        page = PAGE.read_text()
        old = re.search(rf"^{re.escape(HEADING)}\n.*?(?=^## )", page, re.M | re.S)
        assert old is not None, f"{PAGE} has no {HEADING!r}: run tests/operators_page.py"
        PAGE.write_text(page.replace(old.group(), section(counts)))


if __name__ == "__main__":
    main(sys.argv[1:] or [t for t in TARGETS if not missing(t)])
