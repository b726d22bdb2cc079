"""Splits a model at the operators that the user defines, so that a runtime without them computes the parts between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx
from onnx import helper, numpy_helper

from ...custom.operator import CustomOperator
from ...custom.table import CustomOperators
from ...errors import InputError
from ...graph.ir import Array, Attribute
from .check_model import all_nodes, names_read
from .inline_functions import inline_local
from .prefer_custom import prefer_custom
from .read_attributes import read_attributes
from .read_model import Source
from .read_tensor import type_name
from .sort_nodes import sort_nodes


@dataclass(frozen=True, eq=False, slots=True)
class Port:
    """An input or output of the model, as onnxruntime describes it: `type` is "tensor(float)", say."""

    name: str
    type: str
    shape: tuple[int | str | None, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Segment:
    """Nodes of other operators: they read the values `reads`, of inputs and of other steps, and make `makes`, which
    others read."""

    nodes: tuple[onnx.NodeProto, ...]
    reads: tuple[str, ...]
    makes: tuple[str, ...]


@dataclass(frozen=True, eq=False, slots=True)
class CustomNode:
    """A node of an operator that the user defines, of version `opset` of its domain."""

    operator: CustomOperator
    name: str
    opset: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute]


class SplitModel:
    """A model as `steps` in an order in which they can run; `constants` are those that custom nodes and outputs read.

    Raises InputError where a custom operator stands in a branch or in the body of a loop.
    """

    def __init__(self, model: Path | bytes, custom: CustomOperators) -> None:
        proto = onnx.load_model_from_string(model) if isinstance(model, bytes) else onnx.load(model)
        proto = inline_local(prefer_custom(proto, custom), Source("the model"))
        sort_nodes(proto)
        self._proto = proto
        self._weights = {t.name: t for t in proto.graph.initializer}
        self._opsets = {i.domain: i.version for i in proto.opset_import}
        self.inputs = tuple(_port(v) for v in proto.graph.input if v.name not in self._weights)
        self.outputs = tuple(_port(v) for v in proto.graph.output)
        self.steps = self._steps(custom)
        read = {n for s in self.steps if isinstance(s, CustomNode) for n in s.inputs} | {o.name for o in self.outputs}
        self.constants = {n: numpy_helper.to_array(t) for n, t in self._weights.items() if n in read}

    def model_of(self, segment: Segment, arrays: Mapping[str, Array]) -> bytes:
        """The file of a segment as a model, which takes inputs of the types of these arrays."""
        graph = onnx.GraphProto(name=self._proto.graph.name)
        graph.node.extend(segment.nodes)
        for name in segment.reads:
            code = helper.np_dtype_to_tensor_dtype(arrays[name].dtype)
            graph.input.append(helper.make_tensor_value_info(name, code, [None] * arrays[name].ndim))
        graph.output.extend(helper.make_empty_tensor_value_info(name) for name in segment.makes)
        read = set(names_read(segment.nodes)) - {*segment.reads}
        graph.initializer.extend(t for name, t in self._weights.items() if name in read)
        graph.sparse_initializer.extend(t for t in self._proto.graph.sparse_initializer if t.values.name in read)
        version, imports = self._proto.ir_version, self._proto.opset_import
        return bytes(helper.make_model(graph, opset_imports=imports, ir_version=version).SerializeToString())

    def _steps(self, custom: CustomOperators) -> tuple[Segment | CustomNode, ...]:
        """Rounds of steps: all that custom nodes of earlier rounds allow, then the custom nodes that this allows."""
        round_of: dict[str, int] = {}
        plain: dict[int, list[onnx.NodeProto]] = {}
        own: dict[int, list[CustomNode]] = {}
        for node in self._proto.graph.node:
            now = max((round_of.get(name, 0) for name in names_read([node])), default=0)
            operator = self._operator(node, custom)
            if operator is None:
                plain.setdefault(now, []).append(node)
            else:
                own.setdefault(now, []).append(operator)
            round_of.update(dict.fromkeys(node.output, now + (operator is not None)))
        kept = {o.name for o in self.outputs} | {name for nodes in own.values() for n in nodes for name in n.inputs}
        readers: dict[str, set[int]] = {}
        for i, nodes in plain.items():
            for name in names_read(nodes):
                readers.setdefault(name, set()).add(i)
        steps: list[Segment | CustomNode] = []
        for i in sorted({*plain, *own}):
            if i in plain:
                made = [o for n in plain[i] for o in n.output if o in kept or readers.get(o, set()) - {i}]
                steps.append(self._segment(plain[i], [o for o in made if o]))
            steps += own.get(i, [])
        return tuple(steps)

    def _segment(self, nodes: Sequence[onnx.NodeProto], makes: Sequence[str]) -> Segment:
        kept = {*self._weights, *(t.values.name for t in self._proto.graph.sparse_initializer), ""}
        local = {o for n in all_nodes(nodes) for o in n.output} | _local(nodes)
        reads = dict.fromkeys(name for name in names_read(nodes) if name not in local | kept)
        return Segment(tuple(nodes), tuple(reads), tuple(makes))

    def _operator(self, node: onnx.NodeProto, custom: CustomOperators) -> CustomNode | None:
        for inner in all_nodes([node]):
            if inner is not node and (inner.domain, inner.op_type) in custom:
                raise InputError(
                    f"--verify: {inner.domain}.{inner.op_type} (node {inner.name!r}) stands inside of {node.op_type} "
                    f"(node {node.name!r}), which onnxruntime computes, and it has no such operator; leave --verify out"
                )
        opset = self._opsets.get(node.domain, 1)
        operator = custom.find(node.domain, node.op_type, opset, node.name)
        if operator is None:
            return None
        attributes = read_attributes(node, node.name, Source("the model"))
        name = node.name or node.output[0]
        return CustomNode(operator, name, opset, tuple(node.input), tuple(node.output), attributes)


def _local(nodes: Sequence[onnx.NodeProto]) -> set[str]:
    """Inputs and constants of subgraphs, at any depth."""
    graphs = [a.g for n in all_nodes(nodes) for a in n.attribute if a.HasField("g")]
    return {v.name for g in graphs for v in (*g.input, *g.initializer)}


def _port(value: onnx.ValueInfoProto) -> Port:
    tensor = value.type.tensor_type
    shape = tuple(d.dim_value or d.dim_param or None for d in tensor.shape.dim)
    return Port(value.name, f"tensor({type_name(tensor.elem_type)})", shape)
