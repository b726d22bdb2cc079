"""Programs for this machine's GPUs, each kernel timed by itself."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..driver.device_target import DeviceTarget
from ..driver.targets import TARGETS
from ..errors import InputError, InternalError
from ..execution.device_model import DeviceModel
from ..program.device_program import DeviceProgram
from .device_error import DeviceError

Array = np.ndarray

BATCH = 0.02
"""Seconds of the runs that are timed together."""


@dataclass(frozen=True, slots=True)
class GpuProgram:
    """A compiled model for a target of GPUs that this process can use."""

    target: str
    program: DeviceProgram
    weights: bytes


@contextlib.contextmanager
def _reported() -> Iterator[None]:
    """DeviceError for what the driver reports: a candidate may be at fault."""
    try:
        yield
    except (InputError, InternalError) as error:
        raise DeviceError("device", str(error)) from None


class TimedGpuModel:
    """A LoadedModel. No deadline is kept: a driver that hangs cannot be interrupted."""

    def __init__(self, model: DeviceModel) -> None:
        self._model = model

    def run(self, inputs: Mapping[str, Array], *, deadline: float = 0) -> dict[str, Array]:
        with _reported():
            return self._model.run(inputs)

    def profile(self, inputs: Mapping[str, Array], *, repeat: int, deadline: float = 0) -> list[dict[str, Any]]:
        with _reported():
            return [{"name": name, "ms": ms} for name, ms in self._model.profile(inputs, repeat)]

    def time(self, inputs: Mapping[str, Array], *, deadline: float = 0) -> float:
        with _reported():
            return self._model.time(inputs, BATCH)

    def unload(self) -> None:
        self._model.close()


class GpuDevice:
    """The device on which this process runs programs of a target."""

    clock = 1e-4
    variants = ()

    def __init__(self, row: DeviceTarget) -> None:
        """Raises InputError where there is none."""
        assert row.probe is not None
        self.name = row.probe()

    def show(self, status: object) -> None:
        """There is no page."""

    def load(self, artifact: Any, *, deadline: float = 0) -> TimedGpuModel:
        assert isinstance(artifact, GpuProgram)
        row = TARGETS[artifact.target]
        assert isinstance(row, DeviceTarget)
        with _reported():
            return TimedGpuModel(row.run(artifact.program, artifact.weights))

    def close(self) -> None:
        pass
