"""Writes out the default attributes of operators that ONNX defines by a function."""

from __future__ import annotations

from collections.abc import Iterable

import onnx


def write_defaults(nodes: Iterable[onnx.NodeProto], opset: int) -> None:
    """Writes the attributes that nodes of the default domain with a function body leave to their defaults.

    ONNX drops these where it substitutes values for a body's references to attributes, in inlining as in inference
    (onnx 1.22: MeanVarianceNormalization without axes, HannWindow without output_datatype).
    """
    for node in nodes:
        if node.domain or not onnx.defs.has(node.op_type, max_inclusive_version=opset):
            continue
        schema = onnx.defs.get_schema(node.op_type, opset)
        if schema.has_function or schema.has_context_dependent_function:  # type: ignore[attr-defined]
            present = {a.name for a in node.attribute}
            defaults = [a.default_value for name, a in sorted(schema.attributes.items()) if name not in present]
            node.attribute.extend(d for d in defaults if d.type != onnx.AttributeProto.UNDEFINED)
