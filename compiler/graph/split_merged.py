"""Merged decoders: one branch for the first run, which computes all caches, and one for those that find them."""

from __future__ import annotations

from dataclasses import replace

from ..dtypes import BOOL
from ..program.states import State
from .ir import Graph, Node, Value

BRANCH = "use_cache_branch"
"""The input of exporters' merged decoders that says whether there are caches."""


def split_merged(graph: Graph, states: tuple[State, ...]) -> tuple[Graph, Graph] | None:
    """The graph of runs that find caches, and that of the first one, without the input BRANCH; None where the graph is
    no If by it alone. What a run that finds a cache does not compute again, such as that of an encoder, stays."""
    given = next((v for v in graph.inputs if v.name == BRANCH and v.dtype == BOOL), None)
    branches = [n for n in graph.nodes if n.op == "If" and n.inputs == (given,)]
    if given is None or len(branches) != 1 or len(graph.consumers()[given]) != 1 or len(branches[0].regions) != 2:
        return None
    then, first = (_taken(graph, branches[0], i, given) for i in (0, 1))
    return _kept(then, states), first


def _taken(graph: Graph, branch: Node, index: int, given: Value) -> Graph:
    """`graph` with one region in place of a branch."""
    region = branch.regions[index]
    results = {v: r for v, r in zip(branch.outputs, region.outputs, strict=False) if v is not None}
    nodes: list[Node] = []
    for node in graph.nodes:
        if node is not branch:
            nodes.append(node)
            continue
        nodes += region.nodes
        # Its own outputs keep their names, with the shapes that they have in the region.
        named = {v: replace(v, shape=r.shape) for v, r in results.items() if v in graph.outputs}
        for v, own in named.items():
            nodes.append(Node("Identity", f"{branch.name}.{v.name}", (results[v],), (own,), {}, branch.opset))
        results.update(named)
    inputs = tuple(v for v in graph.inputs if v is not given)
    constants, folded = {**graph.constants, **region.constants}, {**graph.folded, **region.folded}
    taken = replace(graph, inputs=inputs, nodes=tuple(nodes), constants=constants, folded=folded)
    return taken.with_values(results)


def _kept(graph: Graph, states: tuple[State, ...]) -> Graph:
    """`graph` in which a state is left as it is where its output is a constant."""
    before = {s.after: s.before for s in states}
    inputs, producers = {v.name: v for v in graph.inputs}, graph.producers()
    nodes, outputs = list(graph.nodes), list(graph.outputs)
    for i, v in enumerate(graph.outputs):
        made = producers.get(v)
        source = v if made is None or made.op != "Identity" else made.inputs[0]
        if v.name in before and source in graph.constants and made is not None:
            state = inputs[before[v.name]]
            outputs[i] = replace(v, shape=state.shape)
            nodes[nodes.index(made)] = replace(made, inputs=(state,), outputs=(outputs[i],))
    return replace(graph, nodes=tuple(nodes), outputs=tuple(outputs))
