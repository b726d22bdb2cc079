"""Imports models of formats whose files state sizes that a run may change: free dimensions that have these sizes unless
others are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import onnx

from ..errors import InputError, UnsupportedError
from ..graph.ir import Graph
from ..system.limits import CompileMemory
from .model_inputs import Dim, ModelInputs
from .onnx import import_model as import_onnx


def import_at_usual_sizes(
    convert: Callable[[], onnx.ModelProto],
    sizes: Mapping[str, int],
    inputs: ModelInputs | None,
    memory: CompileMemory | None,
) -> Graph:
    """The graph of the model that `convert` makes. `sizes` are those of its free dimensions, which are named after
    their input, as "x_0", where `inputs` leave them open. Raises what importing raises."""
    chosen = inputs or ModelInputs()
    usual = {name: Dim(n, n) for name, n in sizes.items() if not _is_given(name, chosen)}
    try:
        return import_onnx(convert(), replace(chosen, dims={**usual, **chosen.dims}), memory)
    except (InputError, UnsupportedError):
        if not usual:
            raise
        # Where those sizes fit nothing, as the 1 of a sound's length, the message is that of free dimensions.
        return import_onnx(convert(), chosen, memory)


def _is_given(dimension: str, chosen: ModelInputs) -> bool:
    return dimension in chosen.dims or dimension.rpartition("_")[0] in chosen.shapes
