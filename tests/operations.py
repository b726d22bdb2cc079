"""How many operations on elements tensors, and the groups that fusion makes of them, compute: arithmetic on what is
loaded, not on indices."""

from __future__ import annotations

from webnn_compile.ir.nodes import Binary, Expr, Load, Node, Select, Unary
from webnn_compile.ir.reduction import Reduce
from webnn_compile.ir.rewrite import children
from webnn_compile.tensor import Tensor
from webnn_compile.tensor.fuse import Group
from webnn_compile.tensor.fuse.dataflow import count


def operations_of_tensor(t: Tensor) -> int:
    """Operations of all elements."""
    return 0 if t.body is None else t.buffer.size * _operations(t.body)


def operations_of_group(g: Group) -> int:
    """Operations of all elements of a group's output."""
    return g.output.buffer.size * (_operations(g.body) + (0 if g.reduce is None else _operations(g.reduce)))


def _operations(e: Expr) -> int:
    """Operations of the nodes of `e` that take an element, of which equal ones are computed once; a reduction makes one
    more for each term."""
    if isinstance(e, Reduce):
        return count(e.axes) * (_operations(e.value) + 1)
    seen: dict[Node, bool] = {}

    def takes_element(n: Node) -> bool:
        if n not in seen:
            # A condition decides which element is taken, and makes none; neither do indices.
            inner = () if isinstance(n, Load) else (n.a, n.b) if isinstance(n, Select) else children(n)
            takes = [takes_element(c) for c in inner]
            seen[n] = isinstance(n, Load) or any(takes)
        return seen[n]

    takes_element(e)
    return sum(isinstance(n, Unary | Binary) for n, takes in seen.items() if takes)
