"""A matrix that is the transpose of another one, as the last product's of an embedding, is stored once."""

from __future__ import annotations

from .ir import Array, Graph, Node, Value

LEAST = 2**14
"""Elements from which on a second copy is worth a node."""

PRODUCTS = ("MatMul", "Gemm")
"""Operators that read a constant matrix in any order of its elements."""


def share_transposes(graph: Graph) -> Graph:
    """y = MatMul(x, t), where t is constant e transposed, which others read   ->   y = MatMul(x, Transpose(e))"""
    consumers = graph.consumers()

    def for_products_alone(v: Value) -> bool:
        return all(node.op in PRODUCTS for node in consumers.get(v, ())) and v not in graph.outputs

    matrices = {v: a for v, a in graph.constants.items() if a.ndim == 2 and a.size >= LEAST}
    tables = {v: a for v, a in matrices.items() if not for_products_alone(v)}
    made: list[Node] = []
    replaced: dict[Value, Value] = {}
    for v, data in matrices.items():
        table = None if v in tables else next((t for t, a in tables.items() if _is_transpose(data, a)), None)
        if table is not None:
            result = Value(v.name, v.shape, v.dtype)
            made.append(Node("Transpose", v.name, (table,), (result,), {"perm": (1, 0)}, opset=13))
            replaced[v] = result
    if not made:
        return graph
    constants = {v: a for v, a in graph.constants.items() if v not in replaced}
    return graph.with_values(replaced, nodes=(*made, *graph.nodes), constants=constants)


def _is_transpose(a: Array, b: Array) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape[::-1]:
        return False
    # Most that are none differ early; bits are compared, so that NaN equals itself.
    return all(x.tobytes() == y.T.tobytes() for x, y in ((a[:1], b[:, :1]), (a, b)))
