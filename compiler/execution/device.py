"""Devices that a program runs on from Python: the calls that a GPU's API, or an emulation of it, carries out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from ..dtypes import DType
from ..program.device_program import Storage
from ..values.dlpack import Borrowed, DeviceArray

Array = np.ndarray


class Device(Protocol):
    """A GPU API, or an emulation of one. Storages and kernels are given by index."""

    def allocate(self, storages: Sequence[Storage]) -> None:
        """Creates all storages, zeroed."""
        ...

    def release(self, storage: int) -> None: ...

    def write(self, storage: int, data: Array) -> None:
        """`data`, of the storage's dtype and flat, from the start: elements of a buffer, or texels of a texture."""
        ...

    def read(self, storage: int) -> Array:
        """All of a storage, flat: elements, or texels by layer, row, column, component."""
        ...

    def launch(self, kernel: int, storages: Sequence[int], scalars: Sequence[int] = ()) -> None:
        """With a grid of at least one workgroup."""
        ...

    def finish(self) -> None:
        """Waits until all launches are complete."""
        ...

    def close(self) -> None:
        """Frees all memory and programs; no method is called after."""
        ...


@runtime_checkable
class RecordingDevice(Device, Protocol):
    """One for which launches that are repeated cost less when they are known ahead."""

    def record(self, launches: Sequence[tuple[int, Sequence[int]]]) -> Callable[[], None]:
        """A function that carries out the launches of (kernel, storages), in order, at each call."""
        ...


@runtime_checkable
class SharingDevice(Device, Protocol):
    """One whose memory other libraries may read, and the model theirs, by DLPack."""

    @property
    def kind(self) -> int:
        """DLPack's kind of device."""
        ...

    @property
    def stream(self) -> int | None:
        """On which given arrays have to be complete, for libraries that require it."""
        ...

    def keep(self, storage: int, dtype: DType, shape: tuple[int, ...]) -> DeviceArray:
        """A copy of the first elements of a storage."""
        ...

    def copy_in(self, storage: int, borrowed: Borrowed) -> None:
        """Copies elements to a storage."""
        ...
