"""Checks what every graph must hold: the pass that broke it is named, not the one that stumbles later."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import InternalError, UnsupportedError
from ..ir.sizes import equal, shown
from ..tensor import Tensor
from .define import define, tensor_of
from .ir import Graph, Node, Value


def verify_graph(graph: Graph, after: str) -> None:
    """Raises InternalError that names the pass `after`, unless values are known before they are read and made once,
    names are unique, and shapes and dtypes are those of the operators' definitions."""
    problem = _problem(graph)
    if problem is not None:
        raise InternalError(f"after {after}: graph {graph.name!r}: {problem}; please report this with the model")


def _problem(graph: Graph) -> str | None:
    for value, data in graph.constants.items():
        if data.shape != value.shape or data.dtype != value.dtype.numpy:
            return f"constant {value!r} holds {data.dtype}{list(data.shape)}"
    defined = {*graph.inputs, *graph.constants}
    if len(defined) != len(graph.inputs) + len(graph.constants):
        return "an input is listed twice, or has a constant value"
    for v, node in graph.folded.items():
        if v not in graph.constants or any(r not in graph.constants for r in node.reads):
            return f"{node!r} computes {v!r} of what is no constant"
    for node in graph.nodes:
        for v in node.reads:
            if v not in defined:
                return f"{node!r} reads {v!r} before it is made"
        for output in node.outputs:
            if output in defined:
                return f"{node!r} makes {output!r} once more"
        wrong = _mistyped(graph, node)
        if wrong is not None:
            return wrong
        defined.update(v for v in node.outputs if v is not None)
    for v in graph.results:
        if v not in defined:
            return f"nothing makes output {v!r}"
    for what, names in (
        ("values", (v.name for v in defined)),
        ("nodes", (n.name for n in graph.nodes)),
        ("outputs", (v.name for v in graph.outputs)),
    ):
        twice = _repeated(names)
        if twice is not None:
            return f"two {what} are named {twice!r}"
    return None


def _mistyped(graph: Graph, node: Node) -> str | None:
    tensors = {v: tensor_of(v, graph.constants.get(v)) for v in node.reads}
    try:
        results = define(node, tensors)
    except UnsupportedError as error:
        return str(error)
    if len(results) < len(node.outputs) and any(v is not None for v in node.outputs[len(results) :]):
        return f"{node!r} has {len(node.outputs)} outputs where its operator makes {len(results)}"
    for v, t in zip(node.outputs, results, strict=False):
        if v is not None and not _is_of(v, t):
            return f"{node!r} makes {t.dtype}{shown(t.shape)}, not {v!r}"
    return None


def _is_of(v: Value, t: Tensor) -> bool:
    """Whether `t` is what `v` is declared to be."""
    return v.dtype == t.dtype and len(v.shape) == t.rank and all(map(equal, v.shape, t.shape))


def _repeated(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
