"""From operators to tensors: the last step with ONNX's operators."""

from __future__ import annotations

from ..ir.nodes import Origin
from ..tensor import Tensor, compute, constant, placeholder
from ..tensor.program import TensorProgram
from .builder import define
from .ir import Graph, Value


def lower_graph(graph: Graph) -> TensorProgram:
    """Each node's outputs as tensors over those of its inputs; constants become constant tensors."""
    tensors: dict[Value, Tensor] = {v: constant(v.name, data) for v, data in graph.constants.items()}
    for v in graph.inputs:
        tensors[v] = placeholder(v.name, v.shape, v.dtype)
    known = set(tensors.values())
    made: list[Tensor] = []
    origins: dict[Tensor, Origin] = {}

    def take(t: Tensor, origin: Origin) -> None:
        """Records `t` and the intermediate tensors that its operator made, inputs first."""
        if t in known:
            return
        known.add(t)
        for r in t.reads:
            take(r, origin)
        origins[t] = origin
        if t.data is None:
            made.append(t)

    for node in graph.nodes:
        results = define(node, tensors)
        for value, t in zip(node.outputs, results, strict=False):
            if value is not None:
                take(t, Origin((node.name,), (node.op,)))
                tensors[value] = t
    outputs = []
    for v in graph.outputs:
        t = tensors[v]
        if t.data is not None or t.body is None:  # a constant or an input: the output needs memory of its own
            source = t
            t = compute(v.name, t.shape, (source,), lambda *i, source=source: source.read(i))
            made.append(t)
            origins[t] = Origin((v.name,), ("Identity",))
        outputs.append((v.name, t))
    return TensorProgram(
        inputs=tuple((v.name, tensors[v]) for v in graph.inputs),
        outputs=tuple(outputs),
        tensors=tuple(made),
        origins=origins,
    )
