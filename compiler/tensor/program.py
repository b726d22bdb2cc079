"""A model as tensors: the result of lower_graph, the input of fuse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..ir.nodes import Buffer, Origin
from .tensor import Tensor


@dataclass(frozen=True, slots=True)
class TensorProgram:
    """`tensors` are all computed tensors in topological order; `origins` names the ONNX nodes they come from.
    Those in `stored` are always materialised: copies that change the layout. `channels_last` are buffers of images that
    are not recognised by their readers or producers, `windows` buffers of Winograd's windows, in the transform
    domain."""

    inputs: tuple[tuple[str, Tensor], ...]
    outputs: tuple[tuple[str, Tensor], ...]
    tensors: tuple[Tensor, ...]
    origins: Mapping[Tensor, Origin]
    stored: frozenset[Tensor] = frozenset()
    channels_last: frozenset[Buffer] = frozenset()
    windows: frozenset[Buffer] = frozenset()
