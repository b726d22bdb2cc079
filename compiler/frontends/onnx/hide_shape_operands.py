"""Hides from ONNX's inference operands that it would read as shapes however long they are declared to be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

import onnx
from onnx import helper

from ...graph.names import Names
from .check_model import all_nodes
from .read_model import Source
from .refuse_crashes import refuse_crashes
from .separate_weights import KEPT_ELEMENTS

SHAPE_OPERANDS = {"AffineGrid": 1, "ConstantOfShape": 0, "Expand": 1, "Reshape": 1, "Resize": 3}
"""By operator the operand whose length is a rank: inference makes that many dimensions even where it lacks the values,
and 2**31 of them, which a few bytes declare, take minutes and 20 GB (onnx 1.22)."""


Hidden = Mapping[str, tuple[str, ...]]
"""By the name of an input that stands in for operands, the names of these."""


def hide_shape_operands(model: onnx.ModelProto, source: Source) -> Hidden:
    """Replaces those operands in `model` whose values are no constants of its graphs by new inputs without a shape.

    What inference then lacks is the rank of results without a known shape. Raises InputError as `refuse_crashes`.
    """
    graph = model.graph
    nodes = list(all_nodes(graph.node))
    refuse_crashes(nodes, graph, source)
    names = Names(name for n in nodes for name in (*n.input, *n.output))
    for value in (*graph.input, *graph.initializer):
        names.fresh(value.name)
    stand_ins: dict[tuple[str, ...], str] = {}
    for node, short in _with_constants(graph, frozenset()):
        at = SHAPE_OPERANDS.get(node.op_type) if not node.domain else None
        if at is None or at >= len(node.input) or not node.input[at] or node.input[at] in short:
            continue
        # Inference of Resize takes sizes without a shape for none; scales, in front of them, it leaves alone.
        resize = node.op_type == "Resize"
        start = at - resize
        old = tuple(node.input[start:])
        if old not in stand_ins:
            stand_ins[old] = names.fresh("hidden")
            kind = onnx.TensorProto.FLOAT if resize else onnx.TensorProto.INT64
            graph.input.append(helper.make_tensor_value_info(stand_ins[old], kind, None))
        del node.input[start:]
        node.input.append(stand_ins[old])
    return {new: old for old, new in stand_ins.items()}


def show_shape_operands(model: onnx.ModelProto, hidden: Hidden) -> None:
    """Undoes `hide_shape_operands`, also where nodes were added since."""
    for node in all_nodes(model.graph.node):
        if not hidden.keys().isdisjoint(node.input):
            names = [old for name in node.input for old in hidden.get(name, (name,))]
            del node.input[:]
            node.input.extend(names)
    kept = [v for v in model.graph.input if v.name not in hidden]
    del model.graph.input[:]
    model.graph.input.extend(kept)


def _with_constants(graph: onnx.GraphProto, around: frozenset[str]) -> Iterator[tuple[onnx.NodeProto, frozenset[str]]]:
    """Nodes at any depth, each with the names of constants of few elements that it may read; those `around` the graph
    are such that it may read but for names of its own."""
    own = {t.name for t in graph.initializer if prod(t.dims) <= KEPT_ELEMENTS}
    own.update(n.output[0] for n in graph.node if n.op_type == "Constant" and not n.domain and _is_short(n))
    known = around.difference(_defined(graph)) | own
    for node in graph.node:
        yield node, known
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _with_constants(attribute.g, known)


def _is_short(node: onnx.NodeProto) -> bool:
    """Whether a Constant has few elements, or lists those that it has."""
    return all(
        a.name == "value_ints" or (a.name == "value" and prod(a.t.dims) <= KEPT_ELEMENTS) for a in node.attribute
    )


def _defined(graph: onnx.GraphProto) -> Iterator[str]:
    """The names of values that `graph` itself defines."""
    yield from (v.name for v in (*graph.input, *graph.initializer))
    yield from (name for node in graph.node for name in node.output)
