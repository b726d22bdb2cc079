"""Puts nodes in topological order: ONNX requires it, some converters do not keep to it, and onnxruntime does not need
it."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, MutableSequence, Sequence

import onnx


def sort_nodes(model: onnx.ModelProto) -> None:
    """[b reads a's output, a]   ->   [a, b], in the graph, its subgraphs and functions; else the order stays.

    Nodes that form a cycle, and those of which two make a value of one name, stay as they are: they are no valid model.
    """
    _sort(model.graph.node)
    for function in model.functions:
        _sort(function.node)


def _sort(nodes: MutableSequence[onnx.NodeProto]) -> None:
    for node in nodes:
        for inner in _subgraphs(node):
            _sort(inner.node)
    order = _order(nodes)
    if order is not None and order != list(range(len(order))):
        ordered = [onnx.NodeProto.FromString(nodes[i].SerializeToString()) for i in order]
        del nodes[:]
        nodes.extend(ordered)


def _order(nodes: Sequence[onnx.NodeProto]) -> list[int] | None:
    """The numbers of the nodes in topological order, the first that may come first; None where there is none."""
    makers: dict[str, int] = {}
    for i, node in enumerate(nodes):
        for output in node.output:
            if output and makers.setdefault(output, i) != i:
                return None
    needs = [{makers[name] for name in _reads(node) if name in makers} for node in nodes]
    readers: dict[int, list[int]] = {}
    for i, before in enumerate(needs):
        for b in before:
            readers.setdefault(b, []).append(i)
    waiting = [len(before) for before in needs]
    ready = [i for i, n in enumerate(waiting) if not n]
    order: list[int] = []
    while ready:
        i = heapq.heappop(ready)
        order.append(i)
        for reader in readers.get(i, ()):
            waiting[reader] -= 1
            if not waiting[reader]:
                heapq.heappush(ready, reader)
    return order if len(order) == len(nodes) else None


def _reads(node: onnx.NodeProto) -> Iterator[str]:
    """Names that a node reads, its subgraphs included: also names that these make themselves, which no node around
    does."""
    yield from node.input
    for inner in _subgraphs(node):
        for below in inner.node:
            yield from _reads(below)
        yield from (o.name for o in inner.output)


def _subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for a in node.attribute:
        if a.HasField("g"):
            yield a.g
        yield from a.graphs
