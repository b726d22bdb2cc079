"""Refuses nodes on which ONNX's inference (1.22) ends the process or takes gigabytes, instead of raising an error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

import onnx

from ...errors import InputError
from .read_model import Source

RANGES = {
    ("Attention", "q_num_heads"): range(1, 2**31),  # it divides by both
    ("Attention", "kv_num_heads"): range(1, 2**31),
    ("DepthToSpace", "blocksize"): range(1, 2**31),  # it divides by the square
    ("GatherND", "batch_dims"): range(2**15),  # it reads so many dimensions
    ("LayerNormalization", "axis"): range(-(2**15), 2**15),  # it truncates to 32 bits, and reads that dimension
}
"""By operator and attribute, the values that inference can take."""


def refuse_crashes(nodes: Iterable[onnx.NodeProto], graph: onnx.GraphProto, source: Source) -> None:
    """Raises InputError for the first such node of `nodes`, which are those of `graph` and its subgraphs."""
    nodes = list(nodes)
    empty, zero = set(), set()
    for name, tensor in _constants(nodes, graph):
        if not prod(tensor.dims):
            empty.add(name)
        elif prod(tensor.dims) == 1 and _is_zero(tensor):
            zero.add(name)
    for node in nodes:
        wrong = None if node.domain else _wrong_attribute(node) or _wrong_operand(node, empty, zero)
        if wrong is not None:
            raise InputError(
                f"{source.name} is not a valid ONNX model: {node.op_type} (node {node.name!r}) {wrong}; export it again"
            )


def _wrong_attribute(node: onnx.NodeProto) -> str | None:
    for a in node.attribute:
        if a.i not in RANGES.get((node.op_type, a.name), (a.i,)):
            return f"has the attribute {a.name}={a.i}"
        # It makes as many types as these say.
        if node.op_type == "Split" and a.name == "num_outputs" and a.i != len(node.output):
            return f"has {len(node.output)} outputs, and its attribute num_outputs is {a.i}"
        if node.op_type == "Scan" and a.name == "num_scan_inputs" and not 0 < a.i <= len(node.input):
            return f"has {len(node.input)} inputs, and its attribute num_scan_inputs is {a.i}"
    return None


def _wrong_operand(node: onnx.NodeProto, empty: set[str], zero: set[str]) -> str | None:
    """Inference reads the first element of a constant depth, and divides by a constant length."""
    operand = node.input[1] if len(node.input) > 1 else ""
    if node.op_type == "OneHot" and operand in empty:
        return f"has the depth {operand!r}, which has no element"
    if node.op_type == "SplitToSequence" and operand in zero:
        return f"has the split {operand!r}, which is 0"
    return None


def _constants(nodes: Iterable[onnx.NodeProto], graph: onnx.GraphProto) -> Iterator[tuple[str, onnx.TensorProto]]:
    """Constants of the graph and of subgraphs, and all that nodes make."""
    yield from ((t.name, t) for t in graph.initializer)
    for node in nodes:
        for a in node.attribute:
            yield from ((t.name, t) for t in a.g.initializer)
            if node.op_type != "Constant" or node.domain or not node.output:
                continue
            if a.HasField("t"):
                yield node.output[0], a.t
            elif a.name in ("value_int", "value_ints"):
                values = [a.i] if a.name == "value_int" else a.ints
                yield node.output[0], onnx.TensorProto(dims=[len(values)], int64_data=values)


def _is_zero(tensor: onnx.TensorProto) -> bool:
    """Whether a tensor of one integer is zero, where its data is in the model."""
    held = (tensor.raw_data, tensor.int64_data, tensor.int32_data)
    return any(len(h) for h in held) and not any(any(h) for h in held)
