"""A compiled model, independent of the target: kernels in order, and the memory of their arguments.

    Program = (kernels, steps: Step*, inputs, outputs, weights, arena, dimensions, scalars: Scalar -> offset, ...)
    Step    = Launch(kernel, arguments: Slot*, scalars: Scalar*) | Loop | Branch                    (steps.py)
    Slot    = (region, offset)                region = WEIGHTS | PREPARED | ARENA | STATE

The conditions of loops and branches are in slots. A scalar is the counter of a loop around the launch, or an int32 in
the arena: the caller of a run writes those of `dimensions` there, launches those that they compute.

What outlives a run is in memory of its own, STATE: zeros at the start, which launches read and write like the arena.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from math import prod

import numpy as np

from ..dtypes import DType
from ..errors import InputError
from ..ir.nodes import Expr, Kernel, Scalar
from ..ir.sizes import Size, capacities, text_of, value_of
from .dimensions import Dimension
from .refusals import Refusal
from .states import State
from .steps import Step as AnyStep
from .steps import leaves

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """An input or output of the model. `offset` is in bytes from the start of the arena; of a state from the start of
    its region, where its memory may be laid out for a larger shape, `room`. A state may be one that `stays`, or is
    `overwritten` (`State`)."""

    name: str
    dtype: DType
    shape: tuple[Size, ...]
    offset: int
    room: tuple[int, ...] | None = None
    stays: bool = False
    overwritten: bool = False

    @property
    def extents(self) -> tuple[int, ...]:
        """The shape that memory is laid out for, row-major: of each size its capacity."""
        return capacities(self.shape) if self.room is None else self.room

    @property
    def shown(self) -> tuple[int | str, ...]:
        """The shape, with the text of each size that varies."""
        return tuple(n if isinstance(n, int) else text_of(n) for n in self.shape)

    @property
    def is_dynamic(self) -> bool:
        """Whether its shape is known at run time only."""
        return any(isinstance(n, Expr) for n in self.shape)

    @property
    def length(self) -> int:
        """Elements that memory has room for."""
        return prod(self.extents)

    @property
    def bytes(self) -> int:
        return self.length * self.dtype.bytes


def kept_spec(spec: TensorSpec, room: tuple[int, ...], state: State) -> TensorSpec:
    """The spec of a state in memory for `room`."""
    return replace(spec, room=room, stays=state.stays, overwritten=state.overwritten)


class Region(Enum):
    """Memory by its contents: the bundle's file, the results of `prepare` at load, the values of a run, and those that
    the next run finds."""

    WEIGHTS = "weights"
    PREPARED = "prepared"
    ARENA = "arena"
    STATE = "state"


@dataclass(frozen=True, slots=True)
class Slot:
    """An argument of a kernel: `offset` bytes into a region."""

    region: Region
    offset: int


@dataclass(frozen=True, slots=True)
class Launch:
    """`kernel` is an index into Program.kernels, `name` is that of this launch, `nodes` and `ops` are the ONNX nodes
    that it covers. `scalars` are passed for those of the kernel. `forms` say how its results are computed
    (`ir/forms`)."""

    kernel: int
    name: str
    arguments: tuple[Slot, ...]
    nodes: tuple[str, ...]
    ops: tuple[str, ...]
    scalars: tuple[Scalar, ...] = ()
    forms: tuple[str, ...] = ()


Step = AnyStep[Launch, Slot]
Steps = Sequence[Step]


@dataclass(frozen=True, slots=True)
class Program:
    """`kernels` are lowered for one target and distinct; `steps` run in order. `arena` is the number of bytes for
    inputs, outputs and intermediates.

    `keys` are the cache keys of the kernels' code; empty for no caching. The launches `prepare` run once, at load: from
    the weights they fill the `prepared` bytes, which are read like weights. The first i + 1 of them read the first
    `needs[i]` bytes of the weights, so that they can run before the rest is there. `segments`: steps `first` to `last`
    (excluded) that run separately, in the host program of a device program. `scalars` are the places of int32 in the
    arena, in bytes, those of `refusals` among them. `weight_types` has the bytes of `weights` by the type of elements.
    `states` are the inputs that the run before has left, in `state_bytes` of memory.
    """

    name: str
    kernels: Sequence[Kernel]
    steps: tuple[Step, ...]
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    weights: bytes
    arena: int
    prepare: tuple[Launch, ...] = ()
    prepared: int = 0
    needs: tuple[int, ...] = ()
    segments: tuple[tuple[int, int], ...] = ()
    keys: tuple[str, ...] = ()
    dimensions: tuple[Dimension, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    scalars: Mapping[Scalar, int] = field(default_factory=dict)
    weight_types: Mapping[str, int] = field(default_factory=dict)
    states: tuple[TensorSpec, ...] = ()
    state_bytes: int = 0

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches of a run, in their order in the steps."""
        return tuple(leaves(self.steps))


def segment_entry(number: int) -> str:
    """The name of the function that runs a segment."""
    return f"segment_{number}"


WASM32_BYTES = 2**32


def check_wasm32(name: str, code: int, weights: int, arena: int, states: int = 0) -> None:
    """InputError unless code's data and stack, weights, arena and the states of a session (bytes) fit into the memory
    of wasm32 together."""
    if code + weights + arena + states > WASM32_BYTES:
        total, w, a, s = (f"{n / 2**30:.2f} GiB" for n in (code + weights + arena + states, weights, arena, states))
        kept = f", states {s}" if states else ""
        raise InputError(
            f"model {name!r} needs {total} of memory (weights {w}, inputs, outputs and intermediate results {a}{kept}),"
            " but wasm32 has 4 GiB: use a smaller input shape (--shape), fewer rows of a state (--dim), or a smaller "
            "model"
        )


def read_tensor(memory: Array, spec: TensorSpec, scalars: Mapping[Scalar, int] | None = None) -> Array:
    """A copy of the tensor at its offset in `memory` (uint8); `scalars` say how long its dimensions are."""
    room = np.frombuffer(memory[spec.offset : spec.offset + spec.bytes].tobytes(), spec.dtype.numpy)
    shape = tuple(value_of(n, scalars or {}) for n in spec.shape)
    return room.reshape(spec.extents)[tuple(map(slice, shape))].copy()


def write_tensor(memory: Array, spec: TensorSpec, data: Array) -> None:
    """Copies `data`, whose dimensions may be shorter than there is room for, to the tensor's offset in `memory`
    (uint8)."""
    room = memory[spec.offset : spec.offset + spec.bytes].view(spec.dtype.numpy).reshape(spec.extents)
    room[tuple(map(slice, data.shape))] = data
