"""The search for layers: one decision after the other, each among all its options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, field

from ..pipeline.lowered import Lowered
from ..records.tuning_record import TuningRecord
from .build_trial import TrialJob, build_trial
from .device_error import DeviceError
from .measure import Measured, Outcome
from .problem import LayerTask
from .propose import name_of
from .session import SearchSession, failure_of, inputs_of
from .trial_model import Piece, trial_model
from .tune_kernels import DIED, WORTH
from .walk import Path
from .whole_model import interleave, ratio_of

SHARE = 0.3
"""The largest share of all trials that go to layers."""
ROUNDS = 7


@dataclass(slots=True)
class _State:
    """The search for one layer. `share` is its time in a run, in milliseconds."""

    task: LayerTask
    share: float
    tried: set[str]
    best: Path = field(default_factory=dict)
    ratio: float = 1.0
    base: float = 0.0

    def next(self) -> Path | None:
        """The best path with one decision made otherwise, which was not tried."""
        for name, decision in self.task.decisions.items():
            for option in decision.options:
                others = {k: v for k, v in self.best.items() if k != name}
                path = others if option == decision.options[0] else {**others, name: option}
                if name_of(path) not in self.tried:
                    return path
        return None

    def note(self, path: Path, ratio: float | None, base: float) -> None:
        self.tried.add(name_of(path))
        if ratio is not None and ratio < self.ratio:
            self.best, self.ratio, self.base = path, ratio, base


class LayerSearch:
    """The `layers` of `lowered`, of which `times` are the milliseconds in a run by group."""

    def __init__(
        self, session: SearchSession, lowered: Lowered, layers: Iterable[LayerTask], times: Mapping[int, float]
    ) -> None:
        self._session, self._lowered, self._times = session, lowered, times
        shares = [(t, sum(times.get(g, 0.0) for g in groups_of(lowered, t))) for t in layers]
        self._states: dict[str, _State] = {}
        before = session.status.trials
        for task, share in sorted(shares, key=lambda pair: -pair[1]):
            if share > 0:
                state = self._states[task.key] = _State(task, share, {name_of({})})
                for r in session.known_trials(task.key):
                    state.note(r.choices, r.ratio, r.base or 0.0)
        self._spent = session.status.trials - before

    @property
    def tasks(self) -> int:
        return len(self._states)

    def run(self) -> list[TuningRecord]:
        """Records of choices that are better than the default in the whole model, too. Raises DeviceError."""
        limit = self._session.settings.trials * SHARE
        while self._spent < limit and self._session.left:
            options = next_options(self._states)
            if not options:
                break
            lowered, tasks = self._session.problem.lower({k: s.best for k, s in self._states.items()} | options)
            by_key = {t.key: t for t in tasks}
            for key, path in options.items():
                if self._spent < limit and self._session.left:
                    self._try(self._states[key], path, lowered, by_key.get(key))
        return self._better_in_place([s for s in self._states.values() if s.best and s.ratio <= WORTH])

    def _try(self, state: _State, path: Path, lowered: Lowered, task: LayerTask | None) -> None:
        if task is None:  # the layer is not there by the choices of others
            state.tried.add(name_of(path))
            return
        decisions = {**task.decisions, **state.task.decisions}
        state.task = LayerTask(state.task.key, state.task.name, decisions, state.task.nodes)
        self._session.show("layers", state.task.name)
        outcome = self._measure(state, *self._session.problem.layer_pieces(task, self._lowered, lowered))
        self._spent += 1
        if isinstance(outcome, Measured):
            state.note(path, outcome.ratio, outcome.base)
        else:
            state.note(path, None, 0.0)
        self._session.note_trial(state.task.key, state.task.name, len(state.task.nodes), path, outcome)
        gained = sum(s.share * (1 - s.ratio) for s in self._states.values())
        self._session.show("layers", state.task.name, 1 - gained / sum(self._times.values()))

    def _measure(self, state: _State, default: Piece, candidate: Piece) -> Outcome:
        session = self._session
        model = trial_model([default, candidate], fill_halo=session.problem.fills_halos)
        inputs = inputs_of(model, state.task.key)
        job = TrialJob(session.problem.target, model, ({}, {}), session.problem.options)
        try:
            built = session.executor.submit(build_trial, job).result()
        except BrokenExecutor:
            return DIED
        if built.artifact is None:
            return built.failures[1]
        try:
            computed = ", ".join(name for name, _ in default.model.tensors.outputs)  # by what else is fused
            reference = session.reference(f"{state.task.key} {computed}", default, inputs)
            return session.measure(built.artifact, inputs, reference, session.tolerance(layer=True))[1]
        except DeviceError as error:
            return failure_of(error)

    def _better_in_place(self, won: Sequence[_State]) -> list[TuningRecord]:
        """Records of the layers that are better among the model's other kernels and with its caches."""
        if not won:
            return []
        self._session.show("layers in the whole model")
        other, _ = self._session.problem.lower({s.task.key: s.best for s in won})
        rounds = interleave(self._session, [(self._lowered, {}), (other, {})], ROUNDS)
        kept = []
        for s in won:
            ratio = ratio_of(rounds, groups_of(self._lowered, s.task), groups_of(other, s.task))
            if ratio < 1:
                values = self._session.record_of(s.task.key, s.task.name, len(s.task.nodes), s.best)
                kept.append(TuningRecord("chosen", ms=s.base * ratio, base=s.base, **values))
        return kept


def next_options(states: Mapping[str, _State]) -> dict[str, Path]:
    """By key, options of layers that have no kernel in common: one lowering of the model tries all of them, and what is
    measured of one is not due to another."""
    options: dict[str, Path] = {}
    used: set[str] = set()
    for key, state in states.items():
        nodes = frozenset().union(*state.task.nodes)
        if not nodes & used and (path := state.next()) is not None:
            options[key] = path
            used |= nodes
    return options


def groups_of(lowered: Lowered, task: LayerTask) -> list[int]:
    """The numbers of the groups that compute the layers of a task."""
    nodes = frozenset().union(*task.nodes)
    return [i for i, g in enumerate(lowered.groups) if nodes & set(g.origin.nodes)]
