"""Computes in float32 what the model computes in float16."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ..dtypes import F16, F32, ONNX_NUMBERS, DType
from .builder import Builder
from .copy_nodes import Copier
from .evaluate_folded import widened, widened_attributes
from .ir import Array, Attribute, Graph, Node, Value
from .names import value_names


def convert_float16(graph: Graph) -> Graph:
    """Without float16 but at its inputs and outputs, which a Cast converts: no target computes in float16, and the
    values between are then not rounded to it. States are float32."""
    before, after = {s.before for s in graph.states}, {s.after for s in graph.states}
    kept = any(v.dtype == F16 for v in graph.inputs if v.name in before)
    if not kept and not any(_touches_float16(node, graph) for node in (*graph.nodes, *graph.folded.values())):
        return graph
    builder, names = Builder(graph.name), value_names(graph)
    outputs = frozenset(v for v in graph.outputs if v.name not in after)
    opset = max((n.opset for n in graph.nodes if not n.domain), default=13)
    now: dict[Value, Value] = {}

    def cast(value: Value, name: str, output: str, dtype: DType) -> Value:
        (result,) = builder.node("Cast", name, [value], {"to": ONNX_NUMBERS[dtype]}, [output], opset)
        assert result is not None
        return result

    def inner_name(value: Value) -> str:
        return names.fresh(f"{value.name}.float32") if value.dtype == F16 and value in outputs else value.name

    for v in graph.inputs:
        halved = v.dtype == F16 and v.name in before
        now[v] = builder.input(v.name, v.shape, F32 if halved else v.dtype, v.elements)
    for v in graph.inputs:
        if now[v].dtype == F16:
            now[v] = cast(now[v], f"{v.name}.to_float32", names.fresh(f"{v.name}.float32"), F32)
    copier = _Converter(inner_name)
    copier.constants(graph, builder, now)
    for node in graph.nodes:
        copier.node(node, builder, now)
    outputs_now = []
    for v in graph.outputs:
        wants_cast = v.dtype == F16 and now[v].dtype == F32 and v in outputs
        outputs_now.append(cast(now[v], f"{v.name}.to_float16", v.name, F16) if wants_cast else now[v])
    made = builder.build(outputs_now, graph.dimensions, [(now[v], text) for v, text in graph.refusals])
    return replace(made, states=graph.states, labels=graph.labels)


class _Converter(Copier):
    """Copies nodes with float32 in place of float16."""

    def __init__(self, name: Callable[[Value], str]) -> None:
        self._name = name

    def name(self, value: Value) -> str:
        return self._name(value)

    def dtype(self, dtype: DType) -> DType:
        return F32 if dtype == F16 else dtype

    def constant(self, data: Array) -> Array:
        return widened(data)

    def attributes(self, attributes: Mapping[str, Attribute]) -> Mapping[str, Attribute]:
        return widened_attributes(attributes)


def _touches_float16(node: Node, graph: Graph) -> bool:
    """Whether `node` has a float16 input or output, inside too, and is no Cast at the border of the graph."""
    if any(_holds_float16(region) for region in node.regions):
        return True
    borders = (graph.inputs, graph.outputs) if node.op == "Cast" else ((), ())
    return any(
        v is not None and v.dtype == F16 and v not in border
        for values, border in zip((node.inputs, node.outputs), borders, strict=True)
        for v in values
    )


def _holds_float16(region: Graph) -> bool:
    values = (*region.inputs, *region.constants, *(v for node in region.nodes for v in node.outputs if v is not None))
    return any(v.dtype == F16 for v in values) or any(_holds_float16(r) for n in region.nodes for r in n.regions)
