"""A matrix that is the transpose of another one, as the last product's of an embedding, is stored once."""

from __future__ import annotations

from collections.abc import Hashable

from .contents import contents
from .ir import Array, Graph, Node, Value

LEAST = 2**14
"""Elements from which on a second copy is worth a node."""

PRODUCTS = ("MatMul", "Gemm")
"""Operators that read a constant matrix in any order of its elements."""


def share_transposes(graph: Graph) -> Graph:
    """y = MatMul(x, t), where t is constant e transposed, which others read   ->   y = MatMul(x, Transpose(e))"""
    consumers, outputs = graph.consumers(), frozenset(graph.outputs)

    def for_products_alone(v: Value) -> bool:
        return v not in outputs and all(node.op in PRODUCTS for node in consumers.get(v, ()))

    matrices = {v: a for v, a in graph.constants.items() if a.ndim == 2 and a.size >= LEAST}
    tables = {v: a.T for v, a in matrices.items() if not for_products_alone(v)}
    # Most matrices already differ in the first row, so few are read to the end.
    starts = {_first_row(a) for a in tables.values()}
    products = {v: a for v, a in matrices.items() if v not in tables and _first_row(a) in starts}
    starts = {_first_row(a) for a in products.values()}
    by_contents: dict[Hashable, Value] = {}
    for v, a in tables.items():
        if _first_row(a) in starts:
            by_contents.setdefault(contents(a), v)
    transposes: list[Node] = []
    replaced: dict[Value, Value] = {}
    for v, a in products.items():
        table = by_contents.get(contents(a))
        if table is not None:
            result = Value(v.name, v.shape, v.dtype)
            transposes.append(Node("Transpose", v.name, (table,), (result,), {"perm": (1, 0)}, opset=13))
            replaced[v] = result
    if not transposes:
        return graph
    constants = {v: a for v, a in graph.constants.items() if v not in replaced}
    folded = {v: n for v, n in graph.folded.items() if v in constants and not any(r in replaced for r in n.reads)}
    return graph.with_values(replaced, nodes=(*transposes, *graph.nodes), constants=constants, folded=folded)


def _first_row(a: Array) -> Hashable:
    return a.shape, contents(a[:1])
