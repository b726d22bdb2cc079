"""The search: trials go to the kernels and layers from which most is expected, and what wins is confirmed in the whole
model."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from math import exp
from statistics import median
from typing import Any
from zlib import crc32

import numpy as np

from ..choices import VERSION
from ..errors import InputError
from ..ir.nodes import Buffer
from ..pipeline.lower_model import Lowered
from ..records.tuning_record import Failure, TuningRecord
from .build_trial import BuiltTrial, TrialJob, build_trial
from .device import Artifact, Device, DeviceError, LoadedModel
from .measure import Measured, Outcome, check_results, measure_trial
from .native_program import NativeProgram
from .problem import KernelTask, LayerTask, Problem, group_of
from .propose import History, name_of
from .search_job import SearchJob, SearchResult, search
from .trial_model import Piece, trial_model
from .walk import Path, Pick, first

Array = np.ndarray

TOLERANCE, LAYER_TOLERANCE, HALF_TOLERANCE = 1e-4, 1e-3, 2e-2
"""Largest errors of candidates, relative to the largest element: of kernels, of layers, which may be computed by
Winograd's algorithm, and of kernels over float16."""
BATCH = 6
"""Candidates in one trial."""
LAYER_SHARE = 0.3
"""Of all trials so many go to layers at most."""
WORTH = 0.98
"""A candidate must be so much better to be looked at in the whole model."""
PRIOR, FORGET = 0.25, 24.0
"""The gain that is expected of a kernel at first, and the trials without a gain after which a third is left of it."""
LOAD = 120.0
"""Seconds to load a model."""
CONFIRMING = 15
"""Rounds in which default and tuned model are compared."""


@dataclass(frozen=True, slots=True)
class Settings:
    """At most `trials` candidates, in at most `seconds`. With `layers` Winograd's tiles, bands and splits are searched,
    too. `pick` is what walks of the search start with."""

    trials: int = 200
    seconds: float | None = None
    layers: bool = True
    seed: int = 0
    batch: int = BATCH
    pick: Pick = first


@dataclass(slots=True)
class Status:
    """What is shown while a search runs: `gain` is the estimated time of the model in units of the default's, `points`
    its history by trials, `left` the seconds left."""

    model: str
    target: str
    device: str
    phase: str = ""
    task: str = ""
    trials: int = 0
    of: int = 0
    failed: int = 0
    gain: float = 1.0
    left: float | None = None
    points: list[tuple[int, float]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Summary:
    """`whole` is the time of the tuned model in units of the default's, in turns with it; None where nothing was
    chosen. `tasks` are kernels and layers, `trials` those of this run."""

    chosen: tuple[TuningRecord, ...]
    whole: float | None
    tasks: int
    trials: int
    failed: int


@dataclass(slots=True)
class _State:
    """The search for one kernel. `share` is its time in a run, in milliseconds."""

    task: KernelTask
    share: float
    launches: int
    history: History
    inputs: Mapping[str, Array]
    reference: Mapping[str, Array]
    given: tuple[Path, ...] = ()
    best: Path | None = None
    ratio: float = 1.0
    base: float = 0.0
    idle: int = 0
    pending: int = 0
    exhausted: bool = False

    @property
    def expected(self) -> float:
        """Milliseconds that the next trial may gain."""
        return (
            0.0 if self.exhausted else self.share * self.ratio * PRIOR * exp(-self.idle / FORGET) / (1 + self.pending)
        )


class Tuner:
    """`known` are records of earlier runs; `write` receives new ones as they come. `observe` is called with the status
    whenever it changes. Raises DeviceError where the device is lost for good, and InputError where `write` does."""

    def __init__(
        self,
        problem: Problem,
        device: Device,
        executor: Executor,
        settings: Settings,
        write: Callable[[TuningRecord], None],
        known: Iterable[TuningRecord] = (),
        observe: Callable[[Status], None] = lambda _: None,
    ) -> None:
        self._problem, self._device, self._executor, self._settings = problem, device, executor, settings
        self._write, self._observe = write, observe
        of_target = [r for r in known if r.target == problem.target and r.space == VERSION]
        self._own = [r for r in of_target if r.device == device.name]
        self._others = [r for r in of_target if r.device != device.name and r.kind == "chosen"]
        self._began = time.monotonic()
        self._default: dict[int, float] = {}
        self._tasks = 0
        self._ahead = 0  # candidates that are being built
        self._gains: dict[str, float] = {}  # milliseconds of a run by key
        self.status = Status(problem.name, problem.target, device.name, of=settings.trials)

    def run(self) -> Summary:
        self._show("the model by default")
        lowered, layers = self._problem.lower()
        self._default = self._time_groups(lowered, {})
        chosen: dict[str, Path] = {}
        found: dict[str, TuningRecord] = {}
        if self._settings.layers and layers:
            for record in self._tune_layers(lowered, layers):
                chosen[record.key], found[record.key] = record.choices, record
            lowered, _ = self._problem.lower(chosen)
            if chosen:
                self._default = self._time_groups(lowered, {})
        for record in self._tune_kernels(lowered):
            found[record.key] = record
        return self._confirm(found, set(chosen))

    # Kernels

    def _tune_kernels(self, lowered: Lowered) -> list[TuningRecord]:
        tasks = self._problem.kernel_tasks(lowered)
        states = [self._state(task) for task in tasks]
        states = [s for s in states if s.share > 0]
        self._tasks += len(states)
        waiting: list[tuple[_State, SearchJob, Future[SearchResult]]] = []
        try:
            while True:
                while len(waiting) < 2 and not self._over():
                    state = max(states, key=lambda s: s.expected, default=None)
                    if state is None or state.expected <= 0:
                        break
                    waiting.append(self._submit(state))
                if not waiting:
                    break
                state, job, future = waiting.pop(0)
                self._show("searching", state.task.name)
                self._take(state, job, future.result())
        finally:
            for _, _, future in waiting:
                future.cancel()
        return [self._record(s, "chosen", s.best, s.ratio) for s in states if s.best and s.ratio <= WORTH]

    def _state(self, task: KernelTask) -> _State:
        inputs = _inputs(task.piece, task.key)
        own = [r for r in self._own if r.key == task.key and r.kind == "trial"]
        tried = tuple((r.choices, r.ratio) for r in own if r.choices)
        given = tuple({r.candidate: r.choices for r in self._others if r.key == task.key}.values())
        known = {name_of(path) for path, _ in tried}
        share = sum(self._default.get(g, 0.0) for g in task.groups)
        state = _State(
            task,
            share,
            len(task.groups),
            History(tried, pick=self._settings.pick, fixed=self._fixed),
            inputs,
            _reference(task.piece, inputs) if share else {},
            tuple(path for path in given if name_of(path) not in known),
        )
        for path, ratio in tried:
            self._improve(state, path, ratio)
        state.base = median(r.base for r in own if r.base) if any(r.base for r in own) else 0.0
        self.status.trials += len(tried)
        return state

    @property
    def _fixed(self) -> frozenset[str]:
        """Decisions that make no difference on one thread."""
        return frozenset(("cores",)) if self._problem.options.threads == 1 else frozenset()

    def _submit(self, state: _State) -> tuple[_State, SearchJob, Future[SearchResult]]:
        count = max(1, min(self._settings.batch, self._settings.trials - self.status.trials - self._ahead))
        job = SearchJob(
            target=self._problem.target,
            options=self._problem.options,
            key=state.task.key,
            naive=state.task.naive,
            placements=state.task.placements,
            piece=state.task.piece,
            fill_halo=self._problem.fills_halos,
            history=state.history,
            count=count,
            seed=crc32(f"{self._settings.seed} {state.task.key} {len(state.history.tried)} {state.pending}".encode()),
            given=state.given,
            incumbent=state.best,
        )
        state.given = ()
        state.pending += 1
        self._ahead += count
        return state, job, self._executor.submit(search, job)

    def _take(self, state: _State, job: SearchJob, result: SearchResult) -> None:
        """Measures what was built, and records it."""
        state.pending -= 1
        self._ahead -= job.count
        proposal = result.proposal
        for path, reason in proposal.illegal:
            self._note(state, path, ("illegal", reason))
        state.exhausted = state.exhausted or proposal.exhausted
        h = state.history
        state.history = History(
            h.tried, h.hashes | {c for _, c in proposal.candidates}, h.pick, h.fixed, proposal.large
        )
        if not proposal.candidates:
            return
        first_candidate = len(result.paths) - len(proposal.candidates)
        best = state.ratio
        for piece, outcome in self._measure(state, job, result.paths, result.built).items():
            if piece >= first_candidate:
                self._note(state, result.paths[piece], outcome)
            elif piece and isinstance(outcome, Measured):  # the incumbent, once more
                state.ratio = (state.ratio + outcome.ratio) / 2
        state.idle = 0 if state.ratio < 0.99 * best else state.idle + len(proposal.candidates)
        self._estimate()

    def _measure(self, state: _State, job: SearchJob, paths: Sequence[Path], built: BuiltTrial) -> dict[int, Outcome]:
        """One by one where they fail together."""
        found: dict[int, Outcome] = dict(built.failures)
        problem = ""
        kind: Failure = "build"
        if built.artifact is not None:
            try:
                measured = self._run_trial(built.artifact, state.inputs, state.reference, self._tolerance)
                return {**measured, **found}
            except DeviceError as error:
                kind, problem = _failure(error), str(error)
        alone = [i for i in range(1, len(paths)) if i not in found or len(paths) > 2]
        if len(paths) == 2:
            return found or {1: (kind, problem)}
        for i in alone:
            pair = self._executor.submit(_build_pair, job, paths[i]).result()
            found[i] = self._measure(state, job, ({}, paths[i]), pair).get(1, (kind, problem))
        return found

    def _run_trial(
        self, artifact: Artifact, inputs: Mapping[str, Array], reference: Mapping[str, Array], tolerance: float
    ) -> dict[int, Outcome]:
        model = self._device.load(artifact, deadline=LOAD)
        try:
            return measure_trial(model, inputs, lambda r: check_results(r, reference, tolerance), self._device.clock)
        finally:
            _unload(model)

    @property
    def _tolerance(self) -> float:
        return HALF_TOLERANCE if self._problem.options.precision == "f16" else TOLERANCE

    def _note(self, state: _State, path: Path, outcome: Outcome) -> None:
        """Records a trial."""
        ratio = outcome.ratio if isinstance(outcome, Measured) else None
        h = state.history
        state.history = History((*h.tried, (path, ratio)), h.hashes, h.pick, h.fixed, h.large)
        if isinstance(outcome, Measured):
            state.base = outcome.base
        self._write(_trial(self._base_record(state.task.key, state.task.name, state.launches), path, outcome))
        self._improve(state, path, ratio)
        self.status.trials += 1
        self.status.failed += ratio is None

    def _improve(self, state: _State, path: Path, ratio: float | None) -> None:
        if ratio is not None and ratio < state.ratio:
            state.best, state.ratio = path, ratio
            self._gains[state.task.key] = state.share * (1 - ratio)

    def _record(self, s: _State, kind: Any, path: Path | None, ratio: float) -> TuningRecord:
        values = self._base_record(s.task.key, s.task.name, s.launches) | {"kind": kind, "choices": path or {}}
        return TuningRecord(**values, ms=s.base * ratio, base=s.base)

    def _base_record(self, key: str, name: str, launches: int) -> dict[str, Any]:
        p = self._problem
        return {
            "key": key,
            "target": p.target,
            "device": self._device.name,
            "model": p.name,
            "kernel": name,
            "launches": launches,
        }

    # Layers

    def _tune_layers(self, lowered: Lowered, layers: Sequence[LayerTask]) -> list[TuningRecord]:
        """One decision after the other, each among all its options: a lowering tries one option of every layer."""
        self._tasks += len(layers)
        shares = {t.key: self._share(lowered, t) for t in layers}
        order = sorted((t for t in layers if shares[t.key] > 0), key=lambda t: -shares[t.key])
        default = {t.key: self._problem.layer_piece(lowered, t) for t in order}
        best: dict[str, tuple[Path, float, float]] = {t.key: ({}, 1.0, 0.0) for t in order}
        tried: dict[str, dict[str, float | None]] = {t.key: {name_of({}): 1.0} for t in order}
        for r in self._own:
            if r.key in best and r.kind == "trial":
                tried[r.key][r.candidate] = r.ratio
                self.status.trials += 1
                if r.ratio is not None and r.ratio < best[r.key][1]:
                    best[r.key] = (r.choices, r.ratio, r.base or 0.0)
        limit = self._settings.trials * LAYER_SHARE
        spent = 0
        walked = {t.key: t for t in order}
        while spent < limit and not self._over():
            wanted = {
                key: path for key, t in walked.items() if (path := _next(t, best[key][0], tried[key])) is not None
            }
            if not wanted:
                break
            other, tasks = self._problem.lower({**{k: b[0] for k, b in best.items()}, **wanted})
            found = {t.key: t for t in tasks}
            for key, path in wanted.items():
                if spent >= limit or self._over():
                    break
                task = found.get(key)
                if task is None:
                    tried[key][name_of(path)] = None
                    continue
                walked[key] = task if best[key][0] == {} and path == {} else _merged(walked[key], task)
                self._show("layers", task.name)
                outcome = self._try_layer(default[key], self._problem.layer_piece(other, task), key)
                spent += 1
                self.status.trials += 1
                ratio = outcome.ratio if isinstance(outcome, Measured) else None
                self.status.failed += ratio is None
                tried[key][name_of(path)] = ratio
                launches = len(task.nodes)
                self._write(_trial(self._base_record(key, task.name, launches), path, outcome))
                if isinstance(outcome, Measured) and outcome.ratio < best[key][1]:
                    best[key] = (path, outcome.ratio, outcome.base)
                    self._gains[key] = shares[key] * (1 - outcome.ratio)
                self._estimate()
        won = {key: b for key, b in best.items() if b[0] and b[1] <= WORTH}
        return self._layers_in_place(lowered, order, won, shares)

    def _layers_in_place(
        self,
        lowered: Lowered,
        layers: Sequence[LayerTask],
        won: Mapping[str, tuple[Path, float, float]],
        shares: Mapping[str, float],
    ) -> list[TuningRecord]:
        """Those that are better in the model, too, where neighbours and caches are as they are."""
        if not won:
            return []
        self._show("layers in the whole model")
        other, _ = self._problem.lower({key: path for key, (path, _, _) in won.items()})
        ratios = self._compare_layers(lowered, other, [t for t in layers if t.key in won])
        kept = []
        for t in layers:
            if t.key in won and ratios[t.key] < 1:
                path, ratio, base = won[t.key]
                values = self._base_record(t.key, t.name, len(t.nodes)) | {"kind": "chosen", "choices": path}
                kept.append(TuningRecord(**values, ms=base * max(ratio, ratios[t.key]), base=base))
                self._gains[t.key] = shares[t.key] * (1 - ratios[t.key])
            elif t.key in won:
                self._gains.pop(t.key, None)
        return kept

    def _compare_layers(self, a: Lowered, b: Lowered, layers: Sequence[LayerTask]) -> dict[str, float]:
        """Times of layers in model `b`, in units of those in `a`."""
        rounds = self._interleave([(a, {}), (b, {})])
        found: dict[str, float] = {}
        for t in layers:
            nodes = frozenset().union(*t.nodes)
            sums = [
                [
                    sum(ms for g, ms in times.items() if nodes & set(model.groups[g].origin.nodes))
                    for model, times in zip((a, b), pair, strict=True)
                ]
                for pair in rounds
            ]
            found[t.key] = median(after / max(before, 1e-9) for before, after in sums)
        return found

    def _try_layer(self, default: Piece, candidate: Piece, key: str) -> Outcome:
        model = trial_model([default, candidate], fill_halo=self._problem.fills_halos)
        inputs = _inputs_of(model, key)
        job = TrialJob(self._problem.target, model, ({}, {}), self._problem.options)
        built = self._executor.submit(build_trial, job).result()
        if built.artifact is None:
            return built.failures[1]
        try:
            reference = _reference(default, inputs)
            tolerance = max(LAYER_TOLERANCE, self._tolerance)
            return self._run_trial(built.artifact, inputs, reference, tolerance)[1]
        except DeviceError as error:
            return _failure(error), str(error)

    def _share(self, lowered: Lowered, task: LayerTask) -> float:
        nodes = frozenset().union(*task.nodes)
        return sum(ms for g, ms in self._default.items() if nodes & set(lowered.groups[g].origin.nodes))

    # The whole model

    def _confirm(self, found: Mapping[str, TuningRecord], layers: set[str]) -> Summary:
        """Records what is better than the default in the whole model, too."""
        self._show("the whole model")
        kept = dict(found)
        whole: float | None = None
        if kept:
            plain, _ = self._problem.lower()
            lowered, _ = self._problem.lower({k: r.choices for k, r in kept.items() if k in layers})
            kept = self._better_in_place(lowered, kept, layers)
            chosen = {k: r.choices for k, r in kept.items()}
            tuned, _ = self._problem.lower({k: c for k, c in chosen.items() if k in layers})
            if kept:
                rounds = self._interleave([(plain, {}), (tuned, chosen)], CONFIRMING)
                whole = median(sum(b.values()) / sum(a.values()) for a, b in rounds)
        if whole is None or whole >= 1:
            kept = {}
        records = tuple(TuningRecord(**{**_fields(r), "whole": whole}) for r in kept.values())
        for r in records:
            self._write(r)
        self.status.gain = whole if kept and whole is not None else 1.0
        self._show("done")
        return Summary(records, whole, self._tasks, self.status.trials, self.status.failed)

    def _better_in_place(
        self, lowered: Lowered, found: Mapping[str, TuningRecord], layers: set[str]
    ) -> dict[str, TuningRecord]:
        """Without the kernels that are no better than the default between their neighbours."""
        kernels = {t.key: t for t in self._problem.kernel_tasks(lowered)}
        chosen = {k: r.choices for k, r in found.items()}
        rounds = self._interleave([(lowered, {}), (lowered, chosen)])
        kept = {}
        for key, r in found.items():
            if key in layers:
                kept[key] = r
            elif key in kernels:
                groups = kernels[key].groups
                ratio = median(
                    sum(b.get(g, 0.0) for g in groups) / max(1e-9, sum(a.get(g, 0.0) for g in groups))
                    for a, b in rounds
                )
                if ratio < 1:
                    kept[key] = r
        return kept

    def _time_groups(self, lowered: Lowered, chosen: Mapping[str, Path]) -> dict[int, float]:
        """Milliseconds of a run by group."""
        rounds = self._interleave([(lowered, chosen)], 3)
        return {g: median(r[0][g] for r in rounds) for g in rounds[0][0]}

    def _interleave(
        self, models: Sequence[tuple[Lowered, Mapping[str, Path]]], rounds: int = 7
    ) -> list[list[dict[int, float]]]:
        """By round and model, the milliseconds of each group, models in turns."""
        loaded = [self._device.load(self._problem.whole(m, c), deadline=LOAD) for m, c in models]
        inputs = _inputs_of(models[0][0], "whole")
        try:
            once = [sum(_by_group(m, inputs, 1).values()) for m in loaded]
            repeat = max(1, min(50, round(200 / max(max(once), 1e-3))))
            return [[_by_group(m, inputs, repeat) for m in loaded] for _ in range(rounds)]
        finally:
            for m in loaded:
                _unload(m)

    # Progress

    def _over(self) -> bool:
        s = self._settings
        late = s.seconds is not None and time.monotonic() - self._began > 0.85 * s.seconds
        return late or self.status.trials + self._ahead >= s.trials

    def _estimate(self) -> None:
        total = sum(self._default.values())
        if total:
            self.status.gain = max(0.0, 1 - sum(self._gains.values()) / total)
        self.status.points.append((self.status.trials, self.status.gain))
        self._observe(self.status)

    def _show(self, phase: str, task: str = "") -> None:
        s = self.status
        s.phase, s.task = phase, task
        elapsed = time.monotonic() - self._began
        own = s.trials - len([r for r in self._own if r.kind == "trial"])
        by_trials = elapsed / own * max(0, s.of - s.trials) if own > 0 else None
        limit = self._settings.seconds
        by_time = None if limit is None else max(0.0, limit - elapsed)
        known = [x for x in (by_trials, by_time) if x is not None]
        s.left = min(known) if known else None
        self._observe(s)


def _next(task: LayerTask, best: Path, tried: Mapping[str, object]) -> Path | None:
    """The best path with one decision made otherwise, which was not tried."""
    for name, decision in task.decisions.items():
        for option in decision.options:
            default = name not in best and option == decision.options[0]
            path = {**{k: v for k, v in best.items() if k != name}, **({} if default else {name: option})}
            if name_of(path) not in tried:
                return path
    return None


def _merged(one: LayerTask, other: LayerTask) -> LayerTask:
    """With the decisions that only `other` was asked, too."""
    return LayerTask(one.key, one.name, {**other.decisions, **one.decisions}, one.nodes)


def _build_pair(job: SearchJob, path: Path) -> BuiltTrial:
    from .search_job import build_pieces

    return build_pieces(job, ({}, path))


def _failure(error: DeviceError) -> Failure:
    return "timeout" if error.kind == "timeout" else "lost" if error.kind == "lost" else "build"


def _trial(base: Mapping[str, Any], path: Path, outcome: Outcome) -> TuningRecord:
    if isinstance(outcome, Measured):
        return TuningRecord("trial", choices=path, ms=outcome.ms, base=outcome.base, **base)
    failure, message = outcome
    return TuningRecord("trial", choices=path, failure=failure, message=message[:300], **base)


def _fields(r: TuningRecord) -> dict[str, Any]:
    return {name: getattr(r, name) for name in r.__dataclass_fields__}


def _unload(model: LoadedModel) -> None:
    with contextlib.suppress(DeviceError):  # a device that was lost has nothing loaded
        model.unload()


def _by_group(model: LoadedModel, inputs: Mapping[str, Array], repeat: int) -> dict[int, float]:
    found: dict[int, float] = {}
    for step in model.profile(inputs, repeat=repeat, deadline=LOAD):
        group = group_of(str(step["name"]))
        if group is not None:
            found[group] = found.get(group, 0.0) + float(step["ms"])
    return found


def _inputs(piece: Piece, key: str) -> dict[str, Array]:
    return _inputs_of(piece.model, key)


def _inputs_of(model: Lowered, key: str) -> dict[str, Array]:
    """Random, never zeros alone; the same for equal keys."""
    generator = np.random.default_rng(crc32(key.encode()))
    return {name: _random(t.buffer, generator) for name, t in model.tensors.inputs}


def _random(b: Buffer, generator: np.random.Generator) -> Array:
    if b.dtype.is_float:
        return generator.standard_normal(b.shape).astype(b.dtype.numpy)
    low, high = b.values or (0, 1)
    return generator.integers(low, high + 1, b.shape).astype(b.dtype.numpy)


def _reference(piece: Piece, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Results by the names of tensors, as this machine's processor computes them by default schedules."""
    own = {name: inputs[name] for name, _ in piece.model.tensors.inputs}
    results = NativeProgram(piece.model).compile(None).run(own)
    return {name.partition("_")[2]: value for name, value in results.items()}


__all__ = ["InputError", "Settings", "Status", "Summary", "Tuner"]
