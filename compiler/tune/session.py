"""State that all parts of a search share: device, executor, records, budget and status."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from typing import Any
from zlib import crc32

import numpy as np

from ..choices import VERSION
from ..driver.options import GPU_TILES, Options
from ..driver.verify import tolerance_of
from ..ir.nodes import Buffer
from ..pipeline.lowered import Lowered
from ..records.tuning_record import Failure, TuningRecord
from .device import Artifact, Device, LoadedModel
from .device_error import DeviceError, DeviceGone
from .measure import Measured, Outcome, measure_trial
from .problem import Problem
from .reference import Compute, Reference, by_this_processor, check_results, reference_of
from .status import Settings, Status
from .trial_model import Piece
from .walk import Path

Array = np.ndarray

LOAD = 120.0
"""Seconds to load a model."""
SEARCHING = 0.85
"""Share of the time for the search; the rest is for the comparison in the whole model."""


class SearchSession:
    """`earlier` are records of runs before; `write` receives new ones as they come. `observe` is called with the status
    whenever it changes. Results are compared with those of `compute`."""

    def __init__(
        self,
        problem: Problem,
        device: Device,
        executor: Executor,
        settings: Settings,
        write: Callable[[TuningRecord], None],
        earlier: Iterable[TuningRecord],
        observe: Callable[[Status], None],
        compute: Compute = by_this_processor,
    ) -> None:
        self.problem, self.device, self.executor, self.settings, self.write = problem, device, executor, settings, write
        self._observe = observe
        self._compute = compute
        self._references: dict[str, Reference] = {}
        of_target = [r for r in earlier if r.target == problem.target and r.space == VERSION]
        self.device_name = device.name + _settings(problem.options)
        self.own = [r for r in of_target if r.device == self.device_name]
        """Records of this device, and those that others chose."""
        self.others = [r for r in of_target if r.device != self.device_name and r.kind == "chosen"]
        self.status = Status(problem.name, problem.target, self.device_name, of=settings.trials)
        self.ahead = 0
        """Candidates that are being built."""
        self._began = time.monotonic()
        self._counted = 0

    @property
    def left(self) -> int:
        """Candidates that may still be built; none when the time is over."""
        if self.settings.stopped():
            return 0
        seconds = self.settings.seconds
        if seconds is not None and time.monotonic() - self._began > SEARCHING * seconds:
            return 0
        return max(0, self.settings.trials - self.status.trials - self.ahead)

    def tolerance(self, *, layer: bool = False) -> float:
        """Tolerance of a candidate's results: those of a layer may be computed by Winograd's algorithm."""
        return tolerance_of(halves=self.problem.options.stores_halves, winograd=layer)

    def known_trials(self, key: str) -> list[TuningRecord]:
        """Trials on this device; all that were built count as trials of this search."""
        trials = [r for r in self.own if r.key == key and r.kind == "trial"]
        self.status.trials += sum(r.failure != "illegal" for r in trials)
        self.status.failed += sum(r.failure not in (None, "illegal") for r in trials)
        return trials

    def reference(self, key: str, piece: Piece, inputs: Mapping[str, Array]) -> Reference:
        """The results of a task's default, computed when its first candidate is there. Raises DeviceError."""
        if key not in self._references:
            halves = self.problem.options.stores_halves
            self._references[key] = reference_of(piece, inputs, self._compute, halves=halves)
        return self._references[key]

    def measure(
        self, artifact: Artifact, inputs: Mapping[str, Array], reference: Reference, tolerance: float
    ) -> Mapping[int, Outcome]:
        """The outcome of each piece of a trial. Raises DeviceError."""
        with self.load(artifact) as model:
            trial = measure_trial(model, inputs, lambda r: check_results(r, reference, tolerance), self.device.clock)
        self.status.rounds += trial.rounds
        self.status.disturbed += trial.disturbed
        return trial.outcomes

    @contextlib.contextmanager
    def load(self, artifact: Artifact) -> Iterator[LoadedModel]:
        """A model on the device until the block ends. Raises DeviceError."""
        model, interrupted = self.device.load(artifact, deadline=LOAD), False
        try:
            yield model
        except KeyboardInterrupt:  # a run may still be executing, and unloading waits for it; close() frees models, too
            interrupted = True
            raise
        finally:
            if not interrupted:
                with contextlib.suppress(DeviceError):  # a device that was lost has nothing loaded
                    model.unload()

    def note_trial(self, key: str, name: str, launches: int, path: Path, outcome: Outcome) -> None:
        """Records a trial."""
        base = self.record_of(key, name, launches, path)
        if isinstance(outcome, Measured):
            self.write(TuningRecord("trial", ms=outcome.ms, base=outcome.base, **base))
        else:
            failure, message = outcome
            self.write(TuningRecord("trial", failure=failure, message=message[:300], **base))
            if failure == "illegal":  # not built, so no trial
                return
            self.status.failed += 1
        self.status.trials += 1
        self._counted += 1

    def record_of(self, key: str, name: str, launches: int, path: Path) -> dict[str, Any]:
        """The fields of a record besides its kind and times."""
        return {
            "key": key,
            "target": self.problem.target,
            "device": self.device_name,
            "model": self.problem.name,
            "kernel": name,
            "launches": launches,
            "choices": path,
        }

    def show(self, phase: str, task: str = "", gain: float | None = None) -> None:
        """With `gain`, a new point of the progress."""
        s = self.status
        s.phase, s.task = phase, task
        if gain is not None:
            s.gain = gain
            s.points.append((s.trials, gain))
        elapsed, limit = time.monotonic() - self._began, self.settings.seconds
        bounds = [] if limit is None else [max(0.0, limit - elapsed)]
        if self._counted:
            bounds.append(elapsed / self._counted * max(0, s.of - s.trials))
        s.left = min(bounds) if bounds else None
        self._observe(s)


def _settings(o: Options) -> str:
    """Settings that times depend on besides the device: threads, and which schedule is the default."""
    threads = f", {o.threads} threads" if o.threads > 1 else ""
    return threads + (f", {o.gpu_tiles} tiles" if o.gpu_tiles != GPU_TILES[0] else "")


def failure_of(error: DeviceError) -> tuple[Failure, str]:
    """The failure of a candidate. Raises DeviceGone."""
    if isinstance(error, DeviceGone):
        raise error
    kinds: dict[str, Failure] = {"timeout": "timeout", "lost": "lost"}
    return kinds.get(error.kind, "build"), str(error)


def inputs_of(model: Lowered, key: str) -> dict[str, Array]:
    """Random, never zeros alone; the same for equal keys. Sizes that a run decides are the largest."""
    generator = np.random.default_rng(crc32(key.encode()))
    sizes = {d.value_of: d.most for d in model.tensors.dimensions}
    return {
        name: np.full(t.extents, sizes[name], t.dtype.numpy) if name in sizes else _random(t.buffer, generator)
        for name, t in model.tensors.inputs
    }


def _random(b: Buffer, generator: np.random.Generator) -> Array:
    if b.dtype.is_float:
        return generator.standard_normal(b.shape).astype(b.dtype.numpy)
    low, high = b.values or (0, 1)
    numbers = generator.integers(low, high + 1, b.shape).astype(b.dtype.numpy)
    if numbers.size and not numbers.any():
        numbers.flat[0] = high or low
    return numbers
