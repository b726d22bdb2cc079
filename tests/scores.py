"""Scores of suites of tests: how many pass on each target, as sections of docs/operators.md."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from drivers import missing
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


def write_scores(
    heading: str,
    section: Callable[[Counts], str],
    run: Run,
    names: Sequence[str],
    expected_to_fail: Collection[str],
    targets: Sequence[str],
) -> None:
    """Runs a suite on these targets, by default on all that this machine can run, and writes its section after each.
    Rows of other targets stay where they are of as many tests."""
    written = written_counts(section_of(PAGE.read_text(), heading))
    counts = {target: numbers for target, numbers in written.items() if sum(numbers) == len(names)}
    for target in targets or [t for t in TARGETS if not missing(t)]:
        counts[target] = counts_of(results_of(run, names, target, expected_to_fail))
        write_section(heading, section(counts))


def reason_rows(why: Mapping[str, str], order: Iterable[str], operators: Callable[[str], Iterable[str]]) -> str:
    """A table's rows of reasons, those of no test left out: how many tests, and the operators of these. `why` has the
    reason of each test that does not pass."""
    lines = []
    for reason in order:
        names = [name for name, given in why.items() if given == reason]
        found = sorted({operator for name in names for operator in operators(name)})
        if names:
            lines.append(f"| {reason} | {len(names)} | {', '.join(found)} |\n")
    return "".join(lines)


def parametrize_suite(metafunc: pytest.Metafunc, names: Collection[str], targets: Sequence[str]) -> None:
    """Each test on each target; one without a name where there is no folder of them."""
    named = [(n, t) for t in targets for n in names]
    metafunc.parametrize(("name", "target"), named or [("", "native")], ids=[f"{n}-{t}" for n, t in named] or [""])


def check_test(run: Run, name: str, target: str, expected_to_fail: Collection[str], lacking: str) -> None:
    """Runs a test, which fails where it is expected to. Without a name it is skipped for what is `lacking`."""
    if not name:
        pytest.skip(lacking)
    if name not in expected_to_fail:
        run(name, target)
        return
    with pytest.raises((WebnnCompileError, AssertionError)):
        run(name, target)
