"""The tuner's interface to a device: models are loaded, run and timed there. Transport is not part of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from ..bundle import Manifest
    from .gpu_program import GpuProgram
    from .native_program import NativeProgram

Array = np.ndarray
Artifact: TypeAlias = "Manifest | NativeProgram | GpuProgram"
"""A compiled model: the manifest of a bundle, or a program for this machine's processor or a GPU of it."""


class LoadedModel(Protocol):
    """All raise DeviceError. `deadline` is in seconds."""

    def run(self, inputs: Mapping[str, Array], *, deadline: float) -> Mapping[str, Array]: ...

    def profile(self, inputs: Mapping[str, Array], *, repeat: int, deadline: float) -> Sequence[Mapping[str, Any]]:
        """`name` and `ms`, the mean of `repeat` launches, of each kernel of a run, in order."""
        ...

    def time(self, inputs: Mapping[str, Array], *, deadline: float) -> float:
        """Milliseconds of a run from outside, the mean of as many as the clock requires."""
        ...

    def unload(self) -> None: ...


class Device(Protocol):
    """`name` says in records where a time was measured, `clock` is its resolution in milliseconds. `variants` are
    those of the wasm module that it runs, the preferred one first."""

    @property
    def name(self) -> str: ...
    @property
    def clock(self) -> float: ...
    @property
    def variants(self) -> tuple[str, ...]: ...

    def load(self, artifact: Artifact, *, deadline: float) -> LoadedModel:
        """Raises DeviceError. After a timeout or a loss this waits for the device to come back."""
        ...

    def show(self, status: Any) -> None:
        """Displays the status of a search on the device. Never raises."""
        ...

    def close(self) -> None: ...
