"""A compiled model, independent of the target: kernels in order, and the memory of their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import prod

import numpy as np

from ..dtypes import DType
from ..errors import InputError
from ..ir.nodes import Kernel

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """An input or output of the model. `offset` is in bytes from the start of the arena."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    offset: int

    @property
    def length(self) -> int:
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.length * self.dtype.bytes


class Region(Enum):
    """Memory by its contents: the bundle's file, the results of `prepare` at load, the values of a run."""

    WEIGHTS = "weights"
    PREPARED = "prepared"
    ARENA = "arena"


@dataclass(frozen=True, slots=True)
class Slot:
    """An argument of a kernel: `offset` bytes into a region."""

    region: Region
    offset: int


@dataclass(frozen=True, slots=True)
class Step:
    """One launch: `kernel` is an index into Program.kernels, `name` is that of this launch, `nodes` and `ops` are
    the ONNX nodes that it covers."""

    kernel: int
    name: str
    arguments: tuple[Slot, ...]
    nodes: tuple[str, ...]
    ops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """`kernels` are lowered for one target and distinct; `steps` run in order. `arena` is the number of bytes for
    inputs, outputs and intermediates.

    `keys` are the cache keys of the kernels' code; empty for no caching. The steps `prepare` run once, at load: from
    the weights they fill the `prepared` bytes, which are read like weights. `segments`: steps `first` to `last`
    (excluded) that run separately, in the host program of a device program.
    """

    name: str
    kernels: Sequence[Kernel]
    steps: tuple[Step, ...]
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    weights: bytes
    arena: int
    prepare: tuple[Step, ...] = ()
    prepared: int = 0
    segments: tuple[tuple[int, int], ...] = ()
    keys: tuple[str, ...] = ()


def segment_entry(number: int) -> str:
    """The name of the function that runs a segment."""
    return f"segment_{number}"


WASM32_BYTES = 2**32


def check_wasm32(name: str, code: int, weights: int, arena: int) -> None:
    """InputError unless code's data and stack, weights and arena (bytes) fit into the memory of wasm32 together."""
    if code + weights + arena > WASM32_BYTES:
        total, w, a = (f"{n / 2**30:.2f} GiB" for n in (code + weights + arena, weights, arena))
        raise InputError(
            f"model {name!r} needs {total} of memory (weights {w}, inputs, outputs and intermediate results {a}), "
            "but wasm32 has 4 GiB: use a smaller input shape (--shape) or a smaller model"
        )


def read_tensor(memory: Array, spec: TensorSpec) -> Array:
    """A copy of the tensor at its offset in `memory` (uint8)."""
    data = memory[spec.offset : spec.offset + spec.bytes].tobytes()
    return np.frombuffer(data, spec.dtype.numpy).reshape(spec.shape).copy()


def write_tensor(memory: Array, spec: TensorSpec, data: Array) -> None:
    """Copies `data` to the tensor's offset in `memory` (uint8)."""
    flat = np.ascontiguousarray(data, spec.dtype.numpy).reshape(-1)
    memory[spec.offset : spec.offset + spec.bytes] = flat.view(np.uint8)
