"""Scores of suites of tests: how many pass on each target, as sections of docs/operators.md."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from webnn_compile.driver.targets import TARGETS
from webnn_compile.errors import InternalError, WebnnCompileError

PAGE = Path(__file__).resolve().parent.parent / "docs" / "operators.md"
OUTCOMES = ("passed", "not supported", "wrong")

Run = Callable[[str, str], None]
"""A function that runs the test of a name on a target, and raises where it does not pass."""

Result = tuple[str, str, str]
"""Name and outcome of a test, and the message of its error."""

Counts = Mapping[str, tuple[int, ...]]
"""By target the number of tests of each outcome."""


def section_of(page: str, heading: str) -> str:
    """The section of a page under a heading, up to the next one; empty where there is none."""
    found = re.search(rf"^{re.escape(heading)}\n.*?(?=^## )", page, re.M | re.S)
    return found.group() if found else ""


def rows(counts: Counts) -> str:
    """The table's rows."""
    return "".join(f"| {t} | {' | '.join(f'{n:,}' for n in counts[t])} |\n" for t in TARGETS if t in counts)


def written_counts(section: str) -> dict[str, tuple[int, ...]]:
    """The counts that a section has."""
    found = re.findall(r"^\| ([a-z0-9]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", section, re.M)
    return {target: tuple(int(n.replace(",", "")) for n in numbers) for target, *numbers in found if target in TARGETS}


def outcome(run: Run, name: str, target: str) -> Result:
    """The result of a test on a target."""
    warnings.simplefilter("ignore")
    try:
        run(name, target)
    except InternalError as error:
        return name, "wrong", str(error)
    except WebnnCompileError as error:
        return name, "not supported", str(error)
    except Exception as error:
        return name, "wrong", str(error)
    return name, "passed", ""


def results_of(run: Run, names: Sequence[str], target: str, expected_to_fail: Collection[str]) -> list[Result]:
    """The results of all tests on a target. Prints those that are not as expected."""
    with ProcessPoolExecutor(2) as pool:
        results = list(pool.map(partial(outcome, run, target=target), names, chunksize=8))
    for name, what, message in results:
        if (what == "passed") == (name in expected_to_fail):
            print(f"{target} {name}: {what}; {' '.join(message.split())[:300]}")
    print(target, dict(Counter(what for _, what, _ in results)), flush=True)
    return results


def counts_of(results: Sequence[Result]) -> tuple[int, ...]:
    """The number of results of each outcome."""
    found = Counter(what for _, what, _ in results)
    return tuple(found[what] for what in OUTCOMES)


def write_section(heading: str, text: str) -> None:
    """Puts a section's text in place of the page's."""
    page = PAGE.read_text()
    old = section_of(page, heading)
    assert old, f"{PAGE} has no {heading!r}: run tests/operators_page.py"
    PAGE.write_text(page.replace(old, text.rstrip("\n") + "\n\n"))
