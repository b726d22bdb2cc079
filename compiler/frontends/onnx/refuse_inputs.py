"""Why an input cannot be one: text, maps and types without arithmetic, with what to do about those."""

from __future__ import annotations

import onnx

from ...ops.call import operator_name
from .number_encoders import is_text, texts_of
from .read_tensor import element_type, type_name

_SHOWN = 3
"""So many nodes are named."""


def refuse_input(value: onnx.ValueInfoProto, graph: onnx.GraphProto) -> str | None:
    """The reason for which `value` is no input of a graph; None where it is a tensor of elements that are numbers."""
    kind = value.type.WhichOneof("value")
    if kind == "tensor_type":
        code = value.type.tensor_type.elem_type
        if element_type(code) is not None:
            return None
        reason = f"input {value.name!r} has elements of type {type_name(code)}"
        return reason + _advice(value.name, graph) if is_text(value) else reason
    reason = f"input {value.name!r} is a {(kind or 'value without type').removesuffix('_type')}"
    return reason + _advice(value.name, graph) if kind == "map_type" else reason


def _advice(name: str, graph: onnx.GraphProto) -> str:
    """The nodes that make numbers of a feature, whose results can be inputs in its place."""
    texts = texts_of(graph, [name])
    readers = [n for n in graph.node if texts.intersection(n.input) and not texts.intersection(n.output)]
    if not readers:
        return ""
    named = [f"{operator_name(n.domain, n.op_type)} ({n.name!r})" for n in readers[:_SHOWN]]
    named += [f"{len(readers) - _SHOWN} more"] if len(readers) > _SHOWN else []
    results = [o for n in readers[:_SHOWN] for o in n.output if o]
    return (
        f", which {', '.join(named)} makes numbers of: encode that feature before the model, whose inputs are then "
        f"{', '.join(map(repr, results))} (onnx.utils.extract_model cuts it there)"
    )
