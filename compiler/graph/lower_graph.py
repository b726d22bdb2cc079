"""From operators to tensors: the last step with ONNX's operators."""

from __future__ import annotations

from dataclasses import replace

from ..ir.nodes import Origin
from ..ir.sizes import Size, capacities
from ..program.refusals import Refusal
from ..tensor import Tensor, compute
from ..tensor.collect_regions import Origins, collect_region
from ..tensor.computed_sizes import Definition, computed_size, definition
from ..tensor.program import TensorProgram
from .define import add_constants, define, tensor_of
from .ir import Graph, Node, Value


def lower_graph(graph: Graph) -> TensorProgram:
    """Each node's outputs as tensors over those of what it reads; constants become constant tensors."""
    with definition(graph.name) as defined:
        return _lower(graph, defined)


def _lower(graph: Graph, defined: Definition) -> TensorProgram:
    shapes = {v.name: v.shape for v in graph.outputs}
    left = {s.before: shapes[s.after] for s in graph.states}
    tensors: dict[Value, Tensor] = {v: tensor_of(v, room=_room(v, left.get(v.name))) for v in graph.inputs}
    add_constants(graph, tensors)
    origins = Origins(defined.sizes)
    for v, node in graph.folded.items():
        if v in tensors and tensors[v].prepared:
            origins.add((tensors[v],), Origin((node.name,), (node.op,)))

    def record(node: Node, results: tuple[Tensor, ...]) -> None:
        used = (t for v, t in zip(node.outputs, results, strict=False) if v is not None)
        origins.add(used, Origin((node.name,), (node.op,)))

    computed, refusals = [], []

    def refuse(node: Node, flag: Tensor, text: str) -> None:
        computed.append(flag)
        origins.add((flag,), Origin((node.name,), (node.op,)))
        refusals.append(Refusal(computed_size(flag.name, 2, flag), text))

    for node in graph.nodes:
        results = define(node, tensors, record, refuse=refuse)
        for value, t in zip(node.outputs, results, strict=False):
            if value is not None:
                tensors[value] = t
    outputs = []
    for v in graph.outputs:
        t = tensors[v]
        if t.body is None or t.is_constant:  # a constant or an input: the output needs memory of its own
            t = compute(v.name, t.shape, (t,), lambda *i, source=t: source.read(i))
            origins.add((t,), Origin((v.name,), ("Identity",)))
        computed.append(t)
        outputs.append((v.name, t))
    inputs = tuple((v.name, tensors[v]) for v in graph.inputs)
    for v, text in graph.refusals:
        t = tensors[v]
        if t.is_constant:  # a constant: no region computes it
            t = compute(f"{v.name}.refused", t.shape, (t,), lambda *i, source=t: source.read(i))
            origins.add((t,), Origin((v.name,), ("If",)))
        computed.append(t)
        refusals.append(Refusal(computed_size(v.name, 2, t), text))
    region = collect_region(inputs, computed, tuple(outputs), origins)
    return replace(region, dimensions=graph.dimensions, refusals=tuple(refusals), states=graph.states)


def _room(v: Value, left: tuple[Size, ...] | None) -> tuple[int, ...] | None:
    """The shape that the memory of a state is laid out for: it holds what a run leaves, too."""
    return None if left is None else tuple(map(max, capacities(v.shape), capacities(left)))
