"""A graph in which sizes that vary have one value each: shapes, and what is computed of them, are known anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ..ir.nodes import Const, Expr, Scalar, Var
from ..ir.rewrite import substitute
from ..ir.sizes import Size, capacity, number, size
from ..ops import OperatorFn
from ..tensor.computed_sizes import NONE
from .builder import Builder
from .copy_nodes import Copier, Now
from .ir import Graph, Node
from .keep_states import Counted


@dataclass(frozen=True, slots=True)
class SpecialGraph:
    """`graph` computes what the general one does where its scalars have these `values`. Constants of both are the same
    objects. `computed` has by the sizes that runs of the general one compute those of this one."""

    values: Mapping[Scalar, int]
    graph: Graph
    computed: Mapping[Scalar, Scalar]


def specialise(graph: Graph) -> tuple[SpecialGraph, ...]:
    """`graph` where the dimensions that have a fast size have that one, and the first of a graph with states where
    these have no rows."""
    fast = {d.scalar: d.fast // d.multiple for d in graph.dimensions if d.fast is not None}
    special = [_special(graph, fast)] if fast else []
    if graph.first is not None:
        none = {d.scalar: 0 for d in graph.dimensions if d.after is not None}
        special.append(replace(_special(graph.first, none), computed={}))
    return tuple(special)


def _special(graph: Graph, values: Mapping[Scalar, int]) -> SpecialGraph:
    builder, copier = Builder(graph.name), _Specialiser(values)
    now: Now = {}
    for v in graph.inputs:
        elements = None if v.elements is None else copier.shape(v.elements)
        now[v] = builder.input(v.name, copier.shape(v.shape), v.dtype, elements)
    copier.constants(graph, builder, now)
    for node in graph.nodes:
        copier.node(node, builder, now)
    dimensions = tuple(d for d in graph.dimensions if d.scalar not in values)
    refusals = [(now[v], text) for v, text in graph.refusals]
    special = builder.build([now[v] for v in graph.outputs], dimensions, refusals)
    return SpecialGraph(values, replace(special, states=graph.states), dict(_computed(graph, special, now)))


def _computed(graph: Graph, special: Graph, now: Now) -> Iterator[tuple[Scalar, Scalar]]:
    made = special.producers()
    for node in graph.nodes:
        copies = (now[v] for v in node.outputs if v is not None and v in now)
        copy = next((made[v] for v in copies if v in made), None)
        if copy is not None:
            yield from ((s, copy.sizes[key]) for key, s in node.sizes.items() if key in copy.sizes)


class _Specialiser(Copier):
    """Copies nodes over inputs of other shapes. Scalars of the copies are their own: counters of loops, and sizes that
    a run computes."""

    def __init__(self, values: Mapping[Scalar, int]) -> None:
        self._now: dict[Var, Expr] = {s: Const(n) for s, n in values.items()}

    def shape(self, shape: tuple[Size, ...]) -> tuple[Size, ...]:
        now = (substitute(number(n), self._now) for n in shape)
        return tuple(n if isinstance(n, Scalar) else size(n) for n in now)  # a counter of one iteration is no number

    def sizes(self, node: Node) -> Mapping[str, Scalar]:
        return NONE

    def definition(self, node: Node) -> OperatorFn | None:
        counted = node.definition
        return counted.resized(self.shape) if isinstance(counted, Counted) else counted

    def constants(self, graph: Graph, builder: Builder, now: Now) -> None:
        for v, data in graph.constants.items():
            now[v] = builder.keep(v, data)
            if v in graph.folded and all(r in now for r in graph.folded[v].reads):
                builder.computed_by(graph.folded[v])

    def node(self, node: Node, builder: Builder, now: Now) -> None:
        if node.op == "Loop":
            (counter,) = node.regions[0].inputs[0].elements or ()
            assert isinstance(counter, Scalar)
            trips = None if counter.length is None else size(substitute(counter.length, self._now))
            extent = counter.extent if trips is None else max(capacity(trips), 1)
            self._now[counter] = Scalar(counter.name, extent, trips if isinstance(trips, Expr) else None)
        super().node(node, builder, now)
