"""Results of nodes while a graph is converted: tensors, and what stands for others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Variable:
    """A handle of a variable, which is restored from the tensor `key` of the checkpoint."""

    name: str
    key: str


@dataclass(frozen=True, slots=True)
class Missing:
    """A result that an operator which is not supported would compute."""


@dataclass(frozen=True, slots=True)
class Reserved:
    """A list of `count` tensors of the shape `sizes`, None where it is left open, and of an ONNX type, none of which is
    set yet."""

    name: str
    count: str
    sizes: tuple[int, ...] | None
    dtype: int


@dataclass(frozen=True, slots=True)
class Written:
    """Such a list with one element that is set."""

    reserved: Reserved
    index: str
    item: str


@dataclass(frozen=True, slots=True)
class Batched:
    """An image, `value`, that SpaceToBatchND would pad by `pads`, before and behind each dimension after the batch, and
    take apart into blocks: a convolution of those is a dilated one of the image."""

    value: str
    block: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]


Value = str | Array | Variable | Missing | Reserved | Written | Batched
"""A value of the ONNX model, a constant that is not in it yet, or what stands for no tensor."""
