"""A model as tensors: what lower_graph makes and fuse reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..ir.nodes import Buffer, Origin
from .tensor import Tensor


@dataclass(frozen=True, slots=True)
class TensorProgram:
    """`tensors` are all computed tensors in topological order; `origins` names the ONNX nodes they come from.
    Those in `stored` are not to be fused away, although nothing else asks for them: a copy that changes the layout.
    `channels_last` are buffers of images whose readers or makers do not show that they are, `planes` buffers that are
    written in many planes at once."""

    inputs: tuple[tuple[str, Tensor], ...]
    outputs: tuple[tuple[str, Tensor], ...]
    tensors: tuple[Tensor, ...]
    origins: Mapping[Tensor, Origin]
    stored: frozenset[Tensor] = frozenset()
    channels_last: frozenset[Buffer] = frozenset()
    planes: frozenset[Buffer] = frozenset()
