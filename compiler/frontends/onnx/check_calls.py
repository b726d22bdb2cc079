"""Checks, before functions are inlined, how large a model would become: calls of calls multiply."""

from __future__ import annotations

from collections.abc import Iterable

import onnx

from ...errors import InputError
from ...system.limits import NODES
from .read_model import Source

_DEPTH = 100
"""Calls within calls that onnx inlines."""

_Key = tuple[str, str, str]
"""Key of a function: domain, name, overload."""


def check_calls(model: onnx.ModelProto, source: Source) -> None:
    """Raises InputError where a function calls itself, and where inlining would make more than NODES nodes."""
    counts = _Counts(model, source)
    largest = max(model.graph.node, key=counts.of_node, default=None)
    if largest is not None:
        total = counts.of_nodes(model.graph.node)
        name = largest.name or (largest.output[0] if largest.output else "")
        check_count(total, f"most of them by {largest.op_type} (node {name!r})", source)


def check_count(nodes: int, why: str, source: Source) -> None:
    """Raises InputError where a model has more than NODES `nodes` once functions are inlined."""
    if nodes > NODES:
        raise InputError(
            f"{source.name} has {nodes} nodes once its functions are inlined, {why}, and {NODES} is the largest number "
            "that is compiled; export a smaller model"
        )


class _Counts:
    """How many nodes become of a node, subgraphs included."""

    def __init__(self, model: onnx.ModelProto, source: Source) -> None:
        self._functions: dict[_Key, onnx.FunctionProto] = {(f.domain, f.name, f.overload): f for f in model.functions}
        self._source = source
        self._counts: dict[_Key, int] = {}
        self._path: list[_Key] = []

    def of_nodes(self, nodes: Iterable[onnx.NodeProto]) -> int:
        return sum(self.of_node(node) for node in nodes)

    def of_node(self, node: onnx.NodeProto) -> int:
        inner = sum(self.of_nodes(g.node) for a in node.attribute for g in (a.g, *a.graphs))
        key = (node.domain, node.op_type, node.overload)
        return inner + (self._of_function(key) if key in self._functions else 1)

    def _of_function(self, key: _Key) -> int:
        if key in self._path or len(self._path) > _DEPTH:
            calls = " -> ".join(name for _, name, _ in (*self._path[-3:], key))
            problem = "calls itself" if key in self._path else f"is called more than {_DEPTH} calls deep"
            raise InputError(
                f"{self._source.name} is not a valid ONNX model: its function {key[1]!r} {problem} ({calls}); "
                "export it again"
            )
        if key not in self._counts:
            self._path.append(key)
            self._counts[key] = self.of_nodes(self._functions[key].node)
            self._path.pop()
        return self._counts[key]
