"""Checks, before functions are inlined, how large a model would become: calls of calls multiply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import onnx

from ...errors import InputError
from ...system.limits import NODES
from .read_model import Source

_DEPTH = 100
"""Calls within calls that onnx inlines."""

_Key = tuple[str, str, str]
"""Key of a function: domain, name, overload."""


def check_calls(model: onnx.ModelProto, source: Source) -> None:
    """Raises InputError where a function calls itself, and where inlining would make more than NODES nodes, or take
    more memory than is allowed for compiling: ONNX's inliner copies the attributes of a function for each call."""
    counts = _Counts(model, source)
    counted = [(counts.of_node(n), n) for n in model.graph.node]
    if counted:
        total = sum((count for count, _ in counted), _NOTHING)
        _, largest = max(counted, key=lambda each: each[0].nodes)
        check_count(total.nodes, f"most of them by {_named(largest)}", source)
        _, largest = max(counted, key=lambda each: each[0].bytes)
        forget = source.memory.checkpoint()
        source.memory.reserve(total.bytes, f"what functions become once inlined, most of it by {_named(largest)},")
        forget()


def _named(node: onnx.NodeProto) -> str:
    name = node.name or (node.output[0] if node.output else "")
    return f"{node.op_type} (node {name!r})"


def check_count(nodes: int, why: str, source: Source) -> None:
    """Raises InputError where a model has more than NODES `nodes` once functions are inlined."""
    if nodes > NODES:
        raise InputError(
            f"{source.name} has {nodes} nodes once its functions are inlined, {why}, and {NODES} is the largest number "
            "that is compiled; export a smaller model"
        )


@dataclass(frozen=True, slots=True)
class _Inlined:
    """A node or a body once its calls are inlined: how many nodes and bytes it becomes, and how often it copies each
    attribute of the function that it stands in."""

    nodes: int = 0
    bytes: int = 0
    copies: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: _Inlined) -> _Inlined:
        copies = Counter(self.copies) + Counter(other.copies) if other.copies else self.copies
        return _Inlined(self.nodes + other.nodes, self.bytes + other.bytes, copies)


_NOTHING, _NODE = _Inlined(), _Inlined(1)


class _Counts:
    def __init__(self, model: onnx.ModelProto, source: Source) -> None:
        self._functions: dict[_Key, onnx.FunctionProto] = {(f.domain, f.name, f.overload): f for f in model.functions}
        self._source = source
        self._counts: dict[_Key, _Inlined] = {}
        self._path: list[_Key] = []

    def of_nodes(self, nodes: Iterable[onnx.NodeProto]) -> _Inlined:
        return sum(map(self.of_node, nodes), _NOTHING)

    def of_node(self, node: onnx.NodeProto) -> _Inlined:
        inner = self.of_nodes(n for a in node.attribute for g in (a.g, *a.graphs) for n in g.node)
        key = (node.domain, node.op_type, node.overload)
        if key not in self._functions:
            return inner + _NODE + self._of_attributes(node.attribute, {a.name: 1 for a in node.attribute})
        called = self._of_function(key)
        return inner + _Inlined(called.nodes, called.bytes) + self._of_attributes(node.attribute, called.copies)

    def _of_attributes(self, attributes: Iterable[onnx.AttributeProto], copies: Mapping[str, int]) -> _Inlined:
        """So many copies of attributes, by their names. Without functions nothing multiplies: bytes are not counted."""
        if not self._functions:
            return _NOTHING
        size, passed = 0, Counter[str]()
        for attribute in attributes:
            count = copies.get(attribute.name, 0)
            if attribute.ref_attr_name:
                passed[attribute.ref_attr_name] += count
            elif count:
                size += count * attribute.ByteSize()
        return _Inlined(0, size, passed)

    def _of_function(self, key: _Key) -> _Inlined:
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
