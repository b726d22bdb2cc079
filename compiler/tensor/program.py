"""A model as tensors: what lower_graph makes and fuse reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..ir.nodes import Origin
from .tensor import Tensor


@dataclass(frozen=True, slots=True)
class TensorProgram:
    """`tensors` are all computed tensors in topological order; `origins` names the ONNX nodes they come from."""

    inputs: tuple[tuple[str, Tensor], ...]
    outputs: tuple[tuple[str, Tensor], ...]
    tensors: tuple[Tensor, ...]
    origins: Mapping[Tensor, Origin]
