"""Computes in float32 what the model computes in float16; a Cast to float16 rounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import replace

from ..dtypes import BOOL, F16, F32, I8, ONNX_NUMBERS, U8, DType
from .builder import Builder
from .copy_nodes import Copier
from .evaluate_folded import widened, widened_attributes
from .ir import Array, Attribute, Graph, Node, Value
from .names import Names, value_names

_EXACT = (F16, BOOL, I8, U8)
"""Types of which float16 holds each value."""


def convert_float16(graph: Graph) -> Graph:
    """Add(float16 a, float16 b)   ->   Add(float32 a, float32 b);
    Add(Cast(float32 x, to=float16), b)   ->   Add(Cast(Cast(x, to=float16), to=float32), b)

    Without float16 but at inputs and outputs, which a Cast converts, and between two Casts: no target computes in
    float16. Values between operators are then not rounded to it, but a Cast of the model's, from a wider type, rounds.
    States are float32."""
    before, after = {s.before for s in graph.states}, {s.after for s in graph.states}
    kept = any(v.dtype == F16 for v in graph.inputs if v.name in before)
    if not kept and not _computes_in_float16(graph, graph.inputs):
        return graph
    builder, names = Builder(graph.name), value_names(graph)
    outputs = frozenset(v for v in graph.outputs if v.dtype == F16 and v.name not in after)
    opset = max((n.opset for n in graph.nodes if not n.domain), default=13)
    now: dict[Value, Value] = {}
    for v in graph.inputs:
        halved = v.dtype == F16 and v.name in before
        now[v] = builder.input(v.name, v.shape, F32 if halved else v.dtype, v.elements)
    for v in graph.inputs:
        if now[v].dtype == F16:
            now[v] = _cast(builder, now[v], f"{v.name}.to_float32", names.fresh(f"{v.name}.float32"), F32, opset)
    copier = _Converter(names, outputs)
    copier.constants(graph, builder, now)
    for node in graph.nodes:
        copier.node(node, builder, now)
    outputs_now = []
    for v in graph.outputs:
        result = copier.rounded.get(v, now[v])
        if v in outputs and result.dtype == F32:
            result = _cast(builder, result, f"{v.name}.to_float16", v.name, F16, opset)
        outputs_now.append(result)
    made = builder.build(outputs_now, graph.dimensions, [(now[v], text) for v, text in graph.refusals])
    return replace(made, states=graph.states, labels=graph.labels)


class _Converter(Copier):
    """Copies nodes with float32 in place of float16. `rounded` are those of `outputs` that a Cast of a wider type
    makes."""

    def __init__(self, names: Names, outputs: frozenset[Value]) -> None:
        self._names = names
        self._outputs = outputs
        self.rounded: dict[Value, Value] = {}

    def name(self, value: Value) -> str:
        return self._names.fresh(f"{value.name}.float32") if value in self._outputs else value.name

    def dtype(self, dtype: DType) -> DType:
        return F32 if dtype == F16 else dtype

    def constant(self, data: Array) -> Array:
        return widened(data)

    def attributes(self, attributes: Mapping[str, Attribute]) -> Mapping[str, Attribute]:
        return widened_attributes(attributes)

    def node(self, node: Node, builder: Builder, now: MutableMapping[Value, Value]) -> None:
        source, result = (*node.inputs[:1], *node.outputs[:1]) if node.op in ("Cast", "CastLike") else (None, None)
        if source is None or result is None or result.dtype != F16 or source.dtype in _EXACT:
            super().node(node, builder, now)
            return
        is_output = result in self._outputs
        name = result.name if is_output else self._names.fresh(f"{result.name}.float16")
        half = _cast(builder, now[source], node.name, name, F16, node.opset)
        now[result] = _cast(builder, half, f"{result.name}.to_float32", self.name(result), F32, node.opset)
        if is_output:
            self.rounded[result] = half


def _cast(builder: Builder, value: Value, name: str, output: str, dtype: DType, opset: int) -> Value:
    (result,) = builder.node("Cast", name, [value], {"to": ONNX_NUMBERS[dtype]}, [output], opset)
    assert result is not None
    return result


def _computes_in_float16(graph: Graph, given: Iterable[Value]) -> bool:
    """Whether a node has a float16 input or output, inside too, which is not one that Casts alone make and read; they
    may read those of `given`, too."""
    nodes = (*graph.nodes, *graph.folded.values())
    casts = [node for node in nodes if node.op == "Cast"]
    others = [node for node in nodes if node.op != "Cast"]
    allowed = {*given, *(v for n in casts for v in n.outputs)} - {v for n in others for v in (*n.reads, *n.outputs)}
    return any(
        v is not None and v.dtype == F16 and v not in allowed for n in nodes for v in (*n.reads, *n.outputs)
    ) or any(_holds_float16(region) or _computes_in_float16(region, ()) for n in nodes for region in n.regions)


def _holds_float16(region: Graph) -> bool:
    return any(v.dtype == F16 for v in (*region.inputs, *region.constants))
