"""The search for kernels: trials go to the one from which most is expected."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass, replace
from math import exp
from statistics import median
from zlib import crc32

import numpy as np

from ..pipeline.lowered import Lowered
from ..records.tuning_record import Failure, TuningRecord
from .build_trial import BuiltTrial
from .device_error import DeviceError
from .measure import Measured, Outcome
from .problem import KernelTask
from .propose import History, Proposal, name_of
from .search_job import SearchJob, SearchResult, build_pieces, find_candidates, search
from .session import SearchSession, failure_of, inputs_of
from .walk import Path

Array = np.ndarray

WORTH, FINALISTS = 0.98, 4
"""The ratio to the default below which candidates of a kernel count, and how many of them are compared in the whole
model: by itself a kernel meets other caches than between its neighbours."""
PRIOR, FORGET = 0.25, 24.0
"""The gain that is expected of a kernel at first, and the trials without a gain after which a third is left of it."""
DIED: tuple[Failure, str] = ("build", "the process that built it ended")
AHEAD = 2
"""Jobs that are built while one is measured."""


@dataclass(slots=True)
class _State:
    """The search for one kernel. `share` is its time in a run, in milliseconds; `idle` counts the trials since the last
    gain."""

    task: KernelTask
    share: float
    history: History
    inputs: Mapping[str, Array]
    proposed: tuple[Path, ...] = ()
    best: Path | None = None
    ratio: float = 1.0
    base: float = 0.0
    idle: int = 0
    pending: int = 0
    exhausted: bool = False

    @property
    def expected(self) -> float:
        """Milliseconds that the next trial may gain."""
        if self.exhausted:
            return 0.0
        return self.share * self.ratio * PRIOR * exp(-self.idle / FORGET) / (1 + self.pending)

    def finalists(self) -> list[tuple[Path, float]]:
        """The best candidates with their ratios, the best one first."""
        measured = [(path, r) for path, r in self.history.tried if r is not None and r <= WORTH and path != self.best]
        if self.best is not None and self.ratio <= WORTH:
            measured.append((self.best, self.ratio))
        return sorted(measured, key=lambda one: one[1])[:FINALISTS]

    def note(self, path: Path, ratio: float | None) -> None:
        self.history = replace(self.history, tried=(*self.history.tried, (path, ratio)))
        if ratio is not None and ratio < self.ratio:
            self.best, self.ratio = path, ratio

    def again(self, ratio: float) -> None:
        """Another measurement of the best candidate, which luck may have made look better than it is."""
        self.ratio = (self.ratio + ratio) / 2
        if self.ratio >= 1:
            self.best, self.ratio = None, 1.0


class KernelSearch:
    """The kernels of `lowered`, of which `times` are the milliseconds in a run by group; `scale` is the time of that
    model in units of the default's."""

    def __init__(self, session: SearchSession, lowered: Lowered, times: Mapping[int, float], scale: float) -> None:
        self._session, self._total, self._scale = session, sum(times.values()), scale
        shares = {t.key: sum(times.get(g, 0.0) for g in t.groups) for t in session.problem.kernel_tasks(lowered)}
        tasks = [t for t in session.problem.kernel_tasks(lowered) if shares[t.key] > 0]
        self._states = [self._begin(t, shares[t.key]) for t in tasks]

    @property
    def tasks(self) -> int:
        return len(self._states)

    def run(self) -> dict[str, list[TuningRecord]]:
        """By key, what is better than the default by itself, the best first. Raises DeviceError."""
        waiting: list[tuple[_State, SearchJob, Future[SearchResult]]] = []
        try:
            while True:
                while len(waiting) < AHEAD and (state := self._next()) is not None:
                    waiting.append(self._submit(state))
                if not waiting:
                    break
                state, job, future = waiting.pop(0)
                self._session.show("searching", state.task.name)
                self._take(state, job, self._result(job, future))
        finally:
            for _, _, future in waiting:
                future.cancel()
        records_by_task = {s.task.key: [self._chosen(s, *one) for one in s.finalists()] for s in self._states}
        return {key: records for key, records in records_by_task.items() if records}

    def _result(self, job: SearchJob, future: Future[SearchResult]) -> SearchResult:
        """Where a process died, only the candidates: building them one by one then identifies the one at fault."""
        with contextlib.suppress(BrokenExecutor):
            return future.result()
        with contextlib.suppress(BrokenExecutor):
            return self._session.executor.submit(find_candidates, job).result()
        return SearchResult(Proposal((), (), exhausted=True, large=job.history.large))

    def _begin(self, task: KernelTask, share: float) -> _State:
        session = self._session
        earlier = session.known_trials(task.key)
        inputs = inputs_of(task.piece.model, task.key)
        # On one thread it makes no difference which loops threads share.
        fixed = frozenset(("cores",)) if session.problem.options.threads == 1 else frozenset()
        history = History(pick=session.settings.pick, fixed=fixed)
        state = _State(task, share, history, inputs)
        for r in earlier:
            state.note(r.choices, r.ratio)
        state.base = median(r.base for r in earlier if r.base) if any(r.base for r in earlier) else 0.0
        tried = {r.candidate for r in earlier}
        others = {r.candidate: r.choices for r in session.others if r.key == task.key}
        state.proposed = tuple(path for name, path in others.items() if name not in tried)
        return state

    def _next(self) -> _State | None:
        if not self._session.left:
            return None
        state = max(self._states, key=lambda s: s.expected, default=None)
        return state if state is not None and state.expected > 0 else None

    def _submit(self, state: _State) -> tuple[_State, SearchJob, Future[SearchResult]]:
        session, task = self._session, state.task
        count = min(session.settings.batch, session.left)
        seed = f"{session.settings.seed} {task.key} {len(state.history.tried)} {state.pending}"
        job = SearchJob(
            target=session.problem.target,
            options=session.problem.options,
            key=task.key,
            naive=task.naive,
            placements=task.placements,
            piece=task.piece,
            fill_halo=session.problem.fills_halos,
            history=state.history,
            count=count,
            seed=crc32(seed.encode()),
            proposed=state.proposed,
            incumbent=state.best,
        )
        state.proposed = ()
        state.pending += 1
        session.ahead += count
        return state, job, session.executor.submit(search, job)

    def _take(self, state: _State, job: SearchJob, result: SearchResult) -> None:
        """Measures what was built, and records it."""
        state.pending -= 1
        self._session.ahead -= job.count
        proposal = result.proposal
        for path, reason in proposal.illegal:
            state.note(path, None)  # not built, so no trial
            self._session.write(self._illegal(state, path, reason))
        state.exhausted = state.exhausted or proposal.exhausted
        hashes = state.history.hashes | {code for _, code in proposal.candidates}
        state.history = replace(state.history, hashes=hashes, large=proposal.large or state.history.large)
        if not proposal.candidates:
            return
        tried = {name_of(path) for path, _ in state.history.tried}
        first = len(result.paths) - len(proposal.candidates)
        best = state.ratio
        for piece, outcome in sorted(self._measure(state, job, result.paths, result.built).items()):
            path = result.paths[piece]
            ratio = outcome.ratio if isinstance(outcome, Measured) else None
            if isinstance(outcome, Measured):
                state.base = outcome.base
            if piece >= first and name_of(path) not in tried:  # jobs that were ahead may have proposed the same
                state.note(path, ratio)
                self._session.note_trial(state.task.key, state.task.name, len(state.task.groups), path, outcome)
            elif piece and ratio is not None and path == state.best:  # the incumbent, once more
                state.again(ratio)
        state.idle = 0 if state.ratio < 0.99 * best else state.idle + len(proposal.candidates)
        gained = sum(s.share * (1 - s.ratio) for s in self._states)
        self._session.show("searching", state.task.name, self._scale * (1 - gained / self._total))

    def _measure(
        self, state: _State, job: SearchJob, paths: Sequence[Path], built: BuiltTrial, *, again: bool = True
    ) -> Mapping[int, Outcome]:
        """By piece; each with the default alone where they fail together, so that the one at fault is known."""
        failed = DIED  # unless there is an artifact, or a failure of its own
        if built.artifact is not None:
            try:
                tolerance = self._session.tolerance()
                reference = self._session.reference(state.task.key, state.task.piece, state.inputs)
                outcomes = self._session.measure(built.artifact, state.inputs, reference, tolerance)
                return {**outcomes, **built.failures}
            except DeviceError as error:
                failed = failure_of(error)
        if len(paths) == 2 and failed[0] == "lost" and again:  # perhaps by a reload of the tab
            return self._measure(state, job, paths, built, again=False)
        if len(paths) == 2:
            return {1: built.failures.get(1, failed)}
        alone: dict[int, Outcome] = {}
        for i in range(1, len(paths)):
            pair: tuple[Path, ...] = ({}, paths[i])
            try:
                rebuilt = self._session.executor.submit(build_pieces, job, pair).result()
            except BrokenExecutor:
                alone[i] = DIED
            else:
                alone[i] = self._measure(state, job, pair, rebuilt).get(1, failed)
        return alone

    def _chosen(self, s: _State, path: Path, ratio: float) -> TuningRecord:
        values = self._session.record_of(s.task.key, s.task.name, len(s.task.groups), path)
        return TuningRecord("chosen", ms=s.base * ratio, base=s.base, **values)

    def _illegal(self, s: _State, path: Path, reason: str) -> TuningRecord:
        values = self._session.record_of(s.task.key, s.task.name, len(s.task.groups), path)
        return TuningRecord("trial", failure="illegal", message=reason[:300], **values)
