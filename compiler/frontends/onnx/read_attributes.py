"""The attributes of a node as plain values."""

from __future__ import annotations

import onnx

from ...errors import UnsupportedError
from ...graph.ir import Attribute
from .read_model import Source
from .read_tensor import read_tensor


def read_attributes(node: onnx.NodeProto, name: str, source: Source) -> dict[str, Attribute]:
    """By name: numbers, strings, tuples of these, and arrays. `name` is that of the node, for messages."""
    return {a.name: _read(a, node, name, source) for a in node.attribute}


def _read(a: onnx.AttributeProto, node: onnx.NodeProto, name: str, source: Source) -> Attribute:
    kind = onnx.AttributeProto
    match a.type:
        case kind.FLOAT:
            return float(a.f)
        case kind.INT:
            return int(a.i)
        case kind.STRING:
            return a.s.decode(errors="replace")
        case kind.TENSOR:
            return read_tensor(a.t, source, f"{name}.{a.name}")
        case kind.FLOATS:
            return tuple(float(v) for v in a.floats)
        case kind.INTS:
            return tuple(int(v) for v in a.ints)
        case kind.STRINGS:
            return tuple(v.decode(errors="replace") for v in a.strings)
    raise UnsupportedError(
        f"{node.op_type} (node {name!r}): attribute {a.name!r} is a {kind.AttributeType.Name(a.type).lower()}"
    )
