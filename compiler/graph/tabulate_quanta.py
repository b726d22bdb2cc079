"""Functions of one tensor of 8 bits become tables of their 256 results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import numpy as np

from ..dtypes import I8, U8, lowest, storage_type
from ..ir.sizes import capacities
from ..ops.call import OWN_DOMAIN
from .evaluate import evaluate_graph
from .ir import Array, Graph, Node, Value
from .names import value_names

COSTLY = frozenset(
    (
        *("Celu", "Elu", "Erf", "Exp", "Gelu", "Log", "Mish", "Pow", "Selu", "Sigmoid", "Softplus", "Swish", "Tanh"),
        *(f"com.microsoft.{op}" for op in ("FastGelu", "Gelu", "QLinearSigmoid", "QuickGelu")),
    )
)
"""Operators that take longer for an element than reading it from a table, which takes one load: those of vectors gain
nothing. Measured in ns on a processor of 512 bits and in wasm: table 0.4 and 0.8, Sigmoid 0.6 and 3.4, Relu 0.2 and
1.3."""

ELEMENTWISE = COSTLY | frozenset(
    (
        *("Abs", "Add", "Clip", "DequantizeLinear", "Div", "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "Max"),
        *("Min", "Mul", "Neg", "QuantizeLinear", "Reciprocal", "Relu", "Softsign", "Sqrt", "Sub"),
        "com.microsoft.QLinearLeakyRelu",
    )
)

LEAST = 256
"""Elements from which on a table is made."""


def tabulate_quanta(graph: Graph) -> Graph:
    """y = QuantizeLinear(Sigmoid(DequantizeLinear(q, s, z)), t, u)   ->   y = LookUp(q, table)

    and all else of 8 bits that is computed from one tensor of 8 bits and constants alone, element by element, by a
    function that takes longer than a table. The table is computed here, exactly as its definition is.
    """
    names = value_names(graph)
    sources, producers = _sources(graph), graph.producers()
    place = {node: i for i, node in enumerate(graph.nodes)}
    read = set(graph.results)
    nodes: list[Node] = []
    constants: dict[Value, Array] = {}
    for node in reversed(graph.nodes):
        if not any(v in read for v in node.outputs):
            continue
        y = node.outputs[0]
        x, function = _function(sources, producers, y)
        if y is not None and x is not None and any(n.op in COSTLY for n in function):
            function.sort(key=place.__getitem__)
            table = Value(names.fresh(f"{y.name}.table"), (256,), y.dtype)
            constants[table] = _table(graph, function, x, y)
            node = Node("LookUp", node.name, (x, table), (y,), {}, 1, OWN_DOMAIN)
        nodes.append(node)
        read.update(node.reads)
    if not constants:
        return graph
    return replace(graph, nodes=tuple(reversed(nodes)), constants={**graph.constants, **constants})


def _sources(graph: Graph) -> Mapping[Value, tuple[Value, ...]]:
    """The tensors of 8 bits, first the first, of which each alone an element of the value is a function."""
    sources: dict[Value, tuple[Value, ...]] = {}
    for node in graph.nodes:
        y = node.outputs[0]
        operands = [v for v in node.inputs if v is not None and not _is_scalar(graph, v)]
        if y is None or node.op not in ELEMENTWISE or not operands or any(v in graph.constants for v in operands):
            continue
        if node.attributes.get("block_size", 0) or storage_type(node.attributes.get("output_dtype")) is not None:
            continue
        of_each = [(*sources.get(v, ()), *([v] if v.dtype in (I8, U8) else [])) for v in operands]
        sources[y] = tuple(s for s in of_each[0] if s.shape == y.shape and all(s in others for others in of_each))
    return sources


def _is_scalar(graph: Graph, v: Value) -> bool:
    return v in graph.constants and graph.constants[v].size == 1


def _function(
    sources: Mapping[Value, tuple[Value, ...]], producers: Mapping[Value, Node], y: Value | None
) -> tuple[Value | None, list[Node]]:
    """The first source of `y`, which is of 8 bits, and the nodes between them; None where there is none."""
    if y is None or y.dtype not in (I8, U8) or not sources.get(y) or prod(capacities(y.shape)) < LEAST:
        return None, []
    x = sources[y][0]
    function: set[Node] = set()
    left = [y]
    while left:
        v = left.pop()
        if v is not x and v in sources and producers[v] not in function:
            function.add(producers[v])
            left.extend(i for i in producers[v].inputs if i is not None)
    return x, list(function)


def _table(graph: Graph, function: list[Node], x: Value, y: Value) -> Array:
    """The elements of `y` for each one of `x`, the lowest first."""
    now = {x: Value("x", (256,), x.dtype)}
    constants: dict[Value, Array] = {}
    nodes: list[Node] = []
    for i, node in enumerate(function):
        for v in node.inputs:
            if v is not None and v not in now:
                now[v] = Value(f"c{len(now)}", (), v.dtype)
                constants[now[v]] = graph.constants[v].reshape(())
        (made,) = (v for v in node.outputs if v is not None)
        now[made] = Value(f"v{i}", (256,), made.dtype)
        inputs = tuple(None if v is None else now[v] for v in node.inputs)
        nodes.append(replace(node, inputs=inputs, outputs=(now[made],)))
    alone = Graph("table", (now[x],), (now[y],), tuple(nodes), constants)
    every = np.arange(256) + int(lowest(x.dtype))
    (table,) = evaluate_graph(alone, {"x": every.astype(x.dtype.numpy)}).values()
    return table
