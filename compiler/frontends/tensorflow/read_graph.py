"""Nodes of a graph and of its functions, as the importer needs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import InputError
from ...system.limits import NODES

Ref = tuple[str, int]
"""A node, and the number of its result."""

_RESULTS: Mapping[str, tuple[str, ...]] = {
    "FusedBatchNorm": ("y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"),
    "Switch": ("output_false", "output_true"),
    "Merge": ("output", "value_index"),
    "MaxPoolWithArgmax": ("output", "argmax"),
    "Unique": ("y", "idx"),
    "UniqueWithCounts": ("y", "idx", "count"),
    "NonMaxSuppressionV4": ("selected_indices", "valid_outputs"),
    "NonMaxSuppressionV5": ("selected_indices", "selected_scores", "valid_outputs"),
    "Qr": ("q", "r"),
    "Svd": ("s", "u", "v"),
    "TopKV2": ("values", "indices"),
    "ListDiff": ("out", "idx"),
}
"""The names of results, where an operator has several: inside of functions results are referred to by them."""
_RESULTS = {
    **_RESULTS,
    "FusedBatchNormV2": _RESULTS["FusedBatchNorm"],
    "FusedBatchNormV3": (*_RESULTS["FusedBatchNorm"], "reserve_space_3"),
    "UniqueV2": _RESULTS["Unique"],
    "UniqueWithCountsV2": _RESULTS["UniqueWithCounts"],
}


@dataclass(frozen=True, slots=True)
class Node:
    """Inputs are data alone: the order of execution is that of data here."""

    name: str
    op: str
    inputs: tuple[Ref, ...]
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Function:
    """A graph, or a function's: the results `results` of `nodes`. Arguments are nodes' names, too, with the result
    0."""

    name: str
    arguments: tuple[str, ...]
    nodes: Mapping[str, Node]
    results: tuple[Ref, ...] = ()


def read_nodes(messages: Any, what: str) -> dict[str, Node]:
    """Nodes by name. Raises InputError where there are more than a model may have, ValueError for two of one name."""
    if len(messages) > NODES:
        raise InputError(f"{what} has {len(messages)} nodes, and a model may have {NODES}; give a smaller one")
    kinds = {_text(m.name): _text(m.op) for m in messages}
    if len(kinds) != len(messages):
        raise ValueError(f"two nodes of {what} have one name")
    return {
        m.name: Node(
            m.name, m.op, tuple(read_ref(i, kinds) for i in map(_text, m.input) if not i.startswith("^")), m.attr
        )
        for m in messages
    }


def _text(value: str | bytes) -> str:
    """A string of a message. Raises ValueError for one that is no UTF-8, which is given as bytes."""
    if isinstance(value, bytes):
        raise ValueError(f"the name {value!r} is no text")
    return value


def read_ref(text: str, kinds: Mapping[str, str]) -> Ref:
    """A result as it is written: `node`, `node:1`, or in functions `node:name:1`. `kinds` are the operators of
    nodes."""
    name, *rest = text.split(":")
    if not rest:
        return name, 0
    at = int(rest[-1])
    if len(rest) == 2:
        results = _RESULTS.get(kinds.get(name, ""), ())
        at += results.index(rest[0]) if rest[0] in results else 0
    if at < 0:
        raise ValueError(f"{text!r} is no result")
    return name, at


def read_function(message: Any) -> Function:
    signature = message.signature
    kinds = {m.name: m.op for m in message.node_def}
    return Function(
        _text(signature.name),
        tuple(_text(a.name) for a in signature.input_arg),
        read_nodes(message.node_def, f"the function {signature.name!r}"),
        tuple(read_ref(message.ret[a.name], kinds) for a in signature.output_arg),
    )


def origin(nodes: Mapping[str, Node], ref: Ref) -> Ref:
    """The result that a result is a copy of."""
    for _ in nodes:
        node = nodes.get(ref[0])
        if node is None or node.op != "Identity" or not node.inputs:
            break
        ref = node.inputs[0]
    return ref


def called_functions(node: Node) -> list[str]:
    """The names of the functions that a node carries out."""
    names = ("f", "then_branch", "else_branch", "cond", "body")
    if node.op not in CALLING:
        return []
    return [node.attributes[n].func.name for n in names if n in node.attributes and node.attributes[n].HasField("func")]


CALLING = ("PartitionedCall", "StatefulPartitionedCall", "If", "StatelessIf", "While", "StatelessWhile")
"""Operators that carry out functions."""
