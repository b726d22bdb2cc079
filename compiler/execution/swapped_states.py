"""States of several sessions on a device that has memory for one: the others wait in arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..program.device_program import Port
from ..program.dimensions import Dimension
from ..program.program import TensorSpec

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class KeptStates:
    """The states of a device program."""

    states: tuple[TensorSpec, ...]
    dimensions: tuple[Dimension, ...]


class DeviceStates:
    """The device's memory for states, `ports`, by functions that read and write a value: of one session at a time."""

    def __init__(
        self, ports: Sequence[Port], read: Callable[[int], Array], write: Callable[[int, Array, str], None]
    ) -> None:
        self.ports, self._read, self._write = ports, read, write
        self._of: SwappedStates | None = None

    def bring(self, states: SwappedStates) -> None:
        """Has the states of a session on the device, in place of another's."""
        if self._of is states:
            return
        if self._of is not None:
            self.take_away(self._of)
        for p in self.ports:
            self._write(p.value, states.away[p.spec.name], f"state {p.spec.name!r}")
        self._of = states

    def take_away(self, states: SwappedStates) -> None:
        """Copies the states of a session from the device, if they are there."""
        if self._of is states:
            states.away = {p.spec.name: self._read(p.value).reshape(p.spec.extents) for p in self.ports}
            self._of = None

    def forget(self, states: SwappedStates) -> None:
        """Leaves what the device has of a session."""
        if self._of is states:
            self._of = None


class SwappedStates:
    """A session's states: on the device while its runs are the latest ones, else in arrays of the states' extents."""

    def __init__(self, device: DeviceStates) -> None:
        self._device = device
        self.away: dict[str, Array] = {}
        self.clear()

    def clear(self) -> None:
        self.away = {p.spec.name: np.zeros(p.spec.extents, p.spec.dtype.numpy) for p in self._device.ports}
        self._device.forget(self)

    def read(self, state: TensorSpec) -> Array:
        self._device.take_away(self)
        return self.away[state.name]

    def write(self, state: TensorSpec, whole: Array) -> None:
        self._device.take_away(self)
        self.away[state.name] = np.array(whole)
