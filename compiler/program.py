"""A compiled model apart from any target: kernels to run in order, and where everything lies in memory."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from .dtypes import DType
from .ir.nodes import Kernel


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


@dataclass(frozen=True, slots=True)
class Slot:
    """An argument of a kernel: `offset` bytes into the weights or into the arena."""

    constant: bool
    offset: int


@dataclass(frozen=True, slots=True)
class Step:
    """One launch: `kernel` is an index into Program.kernels, `name` says what this launch computes, `nodes` and `ops`
    are the ONNX nodes that it covers."""

    kernel: int
    name: str
    arguments: tuple[Slot, ...]
    nodes: tuple[str, ...]
    ops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """`kernels` are lowered for one target and each different from the others; `steps` run in order. `arena` is the
    number of bytes for inputs, outputs and everything between."""

    name: str
    kernels: tuple[Kernel, ...]
    steps: tuple[Step, ...]
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    weights: bytes
    arena: int
