"""What a model is given: arrays of NumPy, or of any library that exchanges data by DLPack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from ..errors import InputError
from .program import TensorSpec, write_tensor

Array = np.ndarray

CPU = 1
"""DLPack's kDLCPU."""


@runtime_checkable
class Exchanged(Protocol):
    """https://dmlc.github.io/dlpack/latest/python_spec.html"""

    def __dlpack__(self) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


def read_inputs(specs: Sequence[TensorSpec], inputs: Mapping[str, object]) -> list[Array]:
    """The arrays of `specs`, in their order. InputError unless `inputs` has exactly these, of their types and shapes,
    in the memory of the processor."""
    expected = {s.name for s in specs}
    wrong = sorted(set(inputs) ^ expected)
    if wrong:
        raise InputError(f"inputs {wrong}: expected exactly {sorted(expected)}, got {sorted(inputs)}")
    return [_read(s, inputs[s.name]) for s in specs]


def write_inputs(arena: Array, specs: Sequence[TensorSpec], inputs: Mapping[str, object]) -> None:
    """Copies them to their offsets in `arena` (uint8). Raises InputError as `read_inputs` does."""
    for spec, a in zip(specs, read_inputs(specs, inputs), strict=True):
        write_tensor(arena, spec, a)


def _read(spec: TensorSpec, given: object) -> Array:
    a = _array(spec.name, given)
    if a.shape != spec.shape or a.dtype != spec.dtype.numpy:
        raise InputError(f"input {spec.name!r}: expected {spec.dtype}{list(spec.shape)}, got {a.dtype}{list(a.shape)}")
    return a


def _array(name: str, given: object) -> Array:
    if isinstance(given, np.ndarray) or not isinstance(given, Exchanged):
        return np.asarray(given)
    kind, _ = given.__dlpack_device__()
    if kind != CPU:
        raise InputError(f"input {name!r} is in the memory of another device (DLPack's type {kind}): copy it first")
    try:
        return np.from_dlpack(given)  # type: ignore[arg-type]
    except (BufferError, RuntimeError, TypeError) as error:
        raise InputError(f"input {name!r}: {type(given).__name__} gives no data by DLPack: {error}") from None
