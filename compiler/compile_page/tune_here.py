"""A search in the page: builds in this process, measurements on the page's side of a port."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..bundle import Manifest
from ..driver.options import Options
from ..errors import InputError
from ..records.record_file import read_records
from ..records.tuning_record import TuningRecord
from ..tune.build_trial import TrialJob, build_trial
from ..tune.device_error import DeviceError
from ..tune.problem import Problem
from ..tune.reference import by_tensor
from ..tune.serial_executor import SerialExecutor
from ..tune.session import LOAD
from ..tune.status import Settings
from ..tune.trial_model import Piece, trial_model
from ..tune.tuner import tune
from .page_device import PageDevice

Array = np.ndarray


class Page(Protocol):
    """The page as the worker has it."""

    def exchange(self, header: str, payload: bytes, seconds: float) -> tuple[str, bytes] | None:
        """As `page_device.Exchange`."""
        ...

    def stopped(self) -> bool:
        """Whether the search is to end with what it has."""
        ...


def tune_here(request: Mapping[str, Any], options: Options, page: Page) -> dict[str, Any]:
    """Searches schedules for the target of the request. Raises InputError where the page cannot run the model."""
    target = request["target"]
    problem = Problem(Path(request["model"]), target, options)
    device = PageDevice(page.exchange, target, request["facts"])
    earlier = read_records(options.records).records
    records: list[TuningRecord] = list(earlier)
    settings = Settings(request.get("trials", 200), request.get("seconds", 60.0), stopped=page.stopped)

    def compute(piece: Piece, runs: Sequence[Mapping[str, Array]]) -> list[dict[str, Array]]:
        return _by_default(problem, device, piece, runs)

    try:
        summary = tune(problem, device, SerialExecutor(), settings, records.append, earlier, device.show, compute)
    except DeviceError as error:
        raise InputError(f"the page cannot run the model on {target}: {error}") from None
    return {
        "records": "".join(r.to_line() for r in records),
        "gain": summary.whole if summary.chosen else 1.0,
        "trials": summary.trials,
        "failed": summary.failed,
        "device": device.name,
    }


def _by_default(
    problem: Problem, device: PageDevice, piece: Piece, runs: Sequence[Mapping[str, Array]]
) -> list[dict[str, Array]]:
    """A Compute, on the device itself: no other processor is here."""
    job = TrialJob(problem.target, trial_model([piece], fill_halo=problem.fills_halos), ({},), problem.options)
    built = build_trial(job)
    if not isinstance(built.artifact, Manifest):
        raise DeviceError("device", built.failures[0][1])
    model = device.load(built.artifact, deadline=LOAD)
    try:
        read = [s.name for s in built.artifact.inputs]
        return [by_tensor(model.run({name: inputs[name] for name in read}, deadline=LOAD)) for inputs in runs]
    finally:
        model.unload()
