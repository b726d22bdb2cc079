"""Checks many cases, shrinks what is found, and counts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.case import Case, Outcome
from fuzz.pool import Pool
from fuzz.shrink_case import shrink_case
from fuzz.write_finding import again, list_operators, write_finding

SHARES = {"protobuf": 8, "bytes": 4, "nodes": 8, "graphs": 2, "quanta": 4, "growth": 1, "names": 1, "page": 2}
"""Cases of each kind in a round."""
SHRUNK = 4
"""Cases with one fault that are shrunk."""


@dataclass
class Finding:
    """One fault; `seeds` are all that show it, the first is that of the smallest case, which lies in `folder`."""

    outcome: Outcome
    kind: str
    seeds: list[int]
    folder: Path

    def __str__(self) -> str:
        return (
            f"{self.outcome.fault}\n  {self.kind}, seed {self.seeds[0]} ({len(self.seeds)} in all)\n"
            f"  again: {again(Case(self.kind, self.seeds[0]))}\n  smallest case: {self.folder}"
        )


@dataclass
class Campaign:
    """Cases and their outcomes so far. `shrink_seconds` limits the time for one finding, by `clock`."""

    pool: Pool
    folder: Path
    shrink_seconds: float = 60
    clock: Callable[[], float] = time.monotonic
    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    findings: dict[tuple[str, str, str], Finding] = field(default_factory=dict)

    def run(self, cases: Iterable[Case], progress: Callable[[Campaign], None] = lambda _: None) -> list[Finding]:
        """Checks the cases; `progress` is called after each."""
        for case, outcome in self.pool.check_all(cases):
            self.outcomes.setdefault(case.kind, Counter())[outcome.result] += 1
            if outcome.fault:
                self._add(case, outcome)
            progress(self)
        return list(self.findings.values())

    def _add(self, case: Case, outcome: Outcome) -> None:
        """One fault in models of other operators may have another cause: a few of each are shrunk."""
        alike = [f for key, f in self.findings.items() if key[:2] == (case.kind, outcome.fault)]
        if sum(len(f.seeds) for f in alike) >= (1 if case.kind in ("page", "names") else SHRUNK):
            alike[0].seeds.append(case.seed)
            return
        end = self.clock() + self.shrink_seconds
        small = shrink_case(case, outcome.fault, self.pool.check, lambda: self.clock() < end)
        key = (case.kind, outcome.fault, list_operators(small))
        if key in self.findings:
            self.findings[key].seeds.append(case.seed)
        else:
            folder = write_finding(self.folder, case, small, outcome)
            self.findings[key] = Finding(outcome, case.kind, [case.seed], folder)

    def summary(self) -> str:
        """Cases and outcomes of each kind, then every finding."""
        lines = []
        for kind, counts in self.outcomes.items():
            listed = ", ".join(f"{n} {result}" for result, n in counts.most_common())
            lines.append(f"{kind}: {sum(counts.values())} cases: {listed}")
        return "\n".join([*lines, "", *map(str, self.findings.values()), f"{len(self.findings)} faults found"])


def draw_cases(kinds: Iterable[str], seed: int) -> Iterator[Case]:
    """Without end, in rounds by SHARES; the seeds of each kind count up from `seed`."""
    following = dict.fromkeys(kinds, seed)
    while True:
        for kind in following:
            for _ in range(SHARES[kind]):
                yield Case(kind, following[kind])
                following[kind] += 1
