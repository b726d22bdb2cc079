"""Refuses sizes of 0 that the user gives and that leave a model nothing to compute."""

from __future__ import annotations

from collections.abc import Iterator

import onnx

from ...errors import InputError
from ...graph.ir import Graph, Value
from ...ir.sizes import capacity
from ..model_inputs import ModelInputs
from .read_model import Source


def refuse_empty(graph: Graph, proto: onnx.ModelProto, chosen: ModelInputs, source: Source) -> None:
    """Raises InputError where a size that `chosen` fixes to 0 makes an output empty in every run, or all inputs.

    A cache of 0 rows beside other inputs is none of these, nor an extent of 0 that the model declares, nor a range that
    begins at 0: of that a run may have 0.
    """
    zeros = [*_zeros(proto, chosen)]
    if not zeros:
        return
    outputs = [v for v in graph.outputs if _is_empty(v)]
    if not outputs and not (graph.inputs and all(map(_is_empty, graph.inputs))):
        return
    what = f"its output {outputs[0].name!r} has" if outputs else "its inputs have"
    raise InputError(
        f"{source.name} would compute nothing: {what} no elements in any run, since {' and '.join(zeros)}; give at "
        "least 1, or a range that begins at 0, such as 0..8, for sizes that each run decides"
    )


def _zeros(proto: onnx.ModelProto, chosen: ModelInputs) -> Iterator[str]:
    """The sizes that are given as 0, but for extents that the model declares so."""
    for name, dim in chosen.dims.items():
        if dim.most == 0:
            yield f"the size {name!r} is given as {dim}"
    declared = {v.name: v.type.tensor_type.shape.dim for v in proto.graph.input}
    for name, shape in chosen.shapes.items():
        for axis, extent in enumerate(shape):
            dims = declared.get(name, ())
            if extent == 0 and not (axis < len(dims) and dims[axis].HasField("dim_value")):
                yield f"the shape {'x'.join(map(str, shape))} is given for {name!r}"
                break


def _is_empty(value: Value) -> bool:
    return any(capacity(extent) == 0 for extent in value.shape)
