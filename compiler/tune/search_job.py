"""A step of a search that needs no device: proposes candidates for a kernel, and builds them. For any executor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from ..choices import DEFAULT, Choices
from ..driver.options import Options
from ..errors import ScheduleError
from ..ir.nodes import Kernel
from .build_trial import BuiltTrial, TrialJob, build_trial
from .probe import probe
from .propose import History, Proposal, propose
from .trial_model import Piece, trial_model
from .walk import Path, Walk, first


@dataclass(frozen=True, slots=True)
class SearchJob:
    """The next `count` candidates for a kernel, `proposed` ones first, built beside the default and the `incumbent`."""

    target: str
    options: Options
    key: str
    naive: Kernel
    placements: tuple[Any, ...]
    piece: Piece
    fill_halo: bool
    history: History
    count: int
    seed: int
    proposed: tuple[Path, ...] = ()
    incumbent: Path | None = None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """`paths` are those of the pieces of `built`: the default, the incumbent if there is one, then candidates, which
    are those of `proposal`."""

    proposal: Proposal
    paths: tuple[Path, ...] = ()
    built: BuiltTrial = field(default_factory=lambda: BuiltTrial(None, {}))


def search(job: SearchJob) -> SearchResult:
    """Candidates, built."""
    proposal = find_candidates(job)
    return replace(proposal, built=build_pieces(job, proposal.paths)) if proposal.paths else proposal


def find_candidates(job: SearchJob) -> SearchResult:
    """Candidates, nothing built."""

    def run(choices: Choices) -> str:
        return probe(job.target, job.options, job.naive, job.placements, choices)

    history = job.history
    if history.pick is first:  # what leads to the default's code needs no measurement
        history = replace(history, hashes=history.hashes | {run(DEFAULT)})
    proposal = _proposed(job) if job.proposed else propose(run, history, job.count, Random(job.seed))
    if not proposal.candidates:
        return SearchResult(proposal)
    kept = [{}, *([job.incumbent] if job.incumbent else []), *(path for path, _ in proposal.candidates)]
    return SearchResult(proposal, tuple(kept))


def build_pieces(job: SearchJob, paths: Sequence[Path]) -> BuiltTrial:
    model = trial_model([job.piece] * len(paths), fill_halo=job.fill_halo)
    return build_trial(TrialJob(job.target, model, tuple(paths), job.options, job.key, job.placements))


def _proposed(job: SearchJob) -> Proposal:
    """Candidates from elsewhere, without those that are not legal here."""
    candidates: list[tuple[Path, str]] = []
    illegal: list[tuple[Path, str]] = []
    for path in job.proposed:
        walk = Walk(path, job.history.pick, job.history.fixed)
        try:
            code = probe(job.target, job.options, job.naive, job.placements, walk)
        except ScheduleError as error:
            illegal.append((path, str(error)))
            continue
        if code not in {c for _, c in candidates}:
            candidates.append((walk.path, code))
    return replace(Proposal((), (), False, False), candidates=tuple(candidates), illegal=tuple(illegal))
