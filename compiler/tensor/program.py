"""A model as tensors: what lower_graph makes and fuse reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..ir.nodes import Origin
from .tensor import Tensor


@dataclass(frozen=True, slots=True)
class TensorProgram:
    """`tensors` are all computed tensors in topological order; `origins` names the ONNX nodes they come from.
    Those in `stored` are not to be fused away, although nothing else asks for them: a copy that changes the layout."""

    inputs: tuple[tuple[str, Tensor], ...]
    outputs: tuple[tuple[str, Tensor], ...]
    tensors: tuple[Tensor, ...]
    origins: Mapping[Tensor, Origin]
    stored: frozenset[Tensor] = frozenset()
