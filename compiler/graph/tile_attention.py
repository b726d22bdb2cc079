"""Attention whose scores take much memory is computed for some queries after others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ..dtypes import I64
from ..ir.nodes import Scalar
from ..ir.sizes import Size, capacities, capacity, ceiling, counter_of, equal, is_one
from .builder import Builder
from .copy_nodes import Copier
from .ir import Graph, Node, Value
from .names import Names, value_names

WHOLE = 8 * 2**20
"""Bytes of scores up to which they are computed at once. Natively attention takes 0.8 to 0.9 of the time in strips of
0.4 to 12 MB where the whole has 6 MB or more, and as much where it has 1.5 MB; on GPUs each strip costs launches."""

VARYING = 32 * 2**20
"""Bytes of scores, at most, up to which they are computed at once where a run decides how many queries there are: it
computes some in vain where they are fewer than those of a strip."""

STRIP = 4 * 2**20
"""Bytes of the scores of a strip, at most."""

LEAST = 8
"""Queries of a strip, at least: fewer leave registers of a product unused."""

OPSET = 13
"""The version of the nodes that are added."""

_BY_ELEMENTS = frozenset(
    {"Add", "And", "Cast", "Clip", "Div", "IsNaN", "Max", "Min", "Mul", "Neg", "Not", "Or", "Sub", "Tanh", "Where"}
)
"""Operators that models have beside scores and weights."""

_OPERATORS = {"Attention": ("q_num_heads", 3), "com.microsoft.MultiHeadAttention": ("num_heads", 5)}
"""Operators that are attention as a whole: the attribute that has the number of heads of queries in three dimensions,
and the input that is added to scores."""

_OF_PLACES = {"is_causal": 0, "unidirectional": 0, "left_window_size": -1, "right_window_size": -1}
"""Attributes of those by whose values queries depend on their places, unless they are these."""


def tile_attention(graph: Graph) -> Graph:
    """y = MatMul(Softmax(Add(MatMul(q, k), mask)), v)
    ->   y = Loop(i < n: MatMul(Softmax(Add(MatMul(rows i of q, k), rows i of mask)), v)), its rows joined

    where scores take more than WHOLE bytes, or VARYING ones; Attention and MultiHeadAttention likewise. Rows of a
    softmax do not depend on each other, so no maximum or sum is carried from strip to strip, and memory holds the
    scores of one.
    """
    found = _attentions(graph)
    if not found:
        return graph
    names, node_names, constants = value_names(graph), Names(n.name for n in graph.nodes), dict(graph.constants)
    nodes: dict[Node, Sequence[Node]] = {node: (node,) for node in graph.nodes}
    replaced: dict[Value, Value] = {}
    for attention in found:
        tiled = _Tiling(graph, attention, names, node_names).build()
        constants.update(tiled.constants)
        replaced[attention.result] = tiled.outputs[0]
        nodes.update(dict.fromkeys(attention.nodes, ()))
        nodes[attention.nodes[-1]] = tiled.nodes
    return graph.with_values(replaced, nodes=tuple(n for each in nodes.values() for n in each), constants=constants)


@dataclass(frozen=True, slots=True)
class _Attention:
    """Nodes from the product that has the scores, of `queries` rows and `keys` columns, to the one by values. `bytes`
    are those of the scores. `by_rows` are operands whose last axis but one is that of the queries."""

    nodes: tuple[Node, ...]
    queries: Size
    keys: Size
    bytes: int
    by_rows: tuple[Value, ...]

    @property
    def result(self) -> Value:
        (result,) = (v for v in self.nodes[-1].outputs if v is not None)
        return result


def _attentions(graph: Graph) -> list[_Attention]:
    """Attentions with large scores."""
    consumers, results = graph.consumers(), frozenset(graph.results)
    places = {node: i for i, node in enumerate(graph.nodes)}
    producers = graph.producers()
    found: list[_Attention] = []
    taken: set[Node] = set()
    for node in graph.nodes:
        if node.op == "MatMul":
            attention = _of_products(node, producers, consumers, results, places)
        else:
            attention = _of_operator(node) if node.op in _OPERATORS else None
        if attention is not None and _is_large(graph, attention) and taken.isdisjoint(attention.nodes):
            found.append(attention)
            taken.update(attention.nodes)  # the last product of one may have the scores of another
    return found


def _is_large(graph: Graph, attention: _Attention) -> bool:
    """Whether strips pay: not where runs of a single token are usual, which would compute a whole strip."""
    if isinstance(attention.queries, int):
        return attention.bytes > WHOLE and attention.queries >= 2 * LEAST
    is_square = equal(attention.queries, attention.keys) is True and isinstance(attention.result.shape[-1], int)
    return attention.bytes > VARYING and is_square and all(d.fast is None for d in graph.dimensions)


def _of_products(
    last: Node,
    producers: Mapping[Value, Node],
    consumers: Mapping[Value, Sequence[Node]],
    results: frozenset[Value],
    places: Mapping[Node, int],
) -> _Attention | None:
    """The attention that ends with the product `last`."""
    weights, values = last.inputs
    (result,) = last.outputs
    if weights is None or values is None or weights is values or result is None or len(weights.shape) < 2:
        return None
    queries = weights.shape[-2]
    nodes, waiting = {last}, [weights]
    while waiting:
        v = waiting.pop()
        node = producers.get(v)
        within = v not in results and all(n in nodes and _reads_rows(n, v, last) for n in consumers[v])
        if node is None or node in nodes or not within or not _has_rows(v, queries) or not _keeps_rows(node):
            continue
        nodes.add(node)
        if node.op != "MatMul":
            waiting += [r for r in node.inputs if r is not None]
    if not {"Softmax", "MatMul"} <= {node.op for node in nodes - {last}}:
        return None
    own = {v for node in nodes for v in node.outputs}
    operands = {v: node for node in nodes for v in node.inputs[: 1 if node.op == "MatMul" else None] if v is not None}
    outside = [v for v in operands if v not in own]
    if not all(_has_rows(v, queries) or _is_broadcast(v) for v in outside):
        return None
    by_rows = tuple(v for v in outside if _has_rows(v, queries))
    if not all(_has_matrices(node) and node.inputs[1] not in by_rows for node in nodes if node.op == "MatMul"):
        return None
    size = max(prod(capacities(v.shape)) * v.dtype.bytes for v in own - {result} if v is not None)
    return _Attention(tuple(sorted(nodes, key=lambda n: places[n])), queries, weights.shape[-1], size, by_rows)


def _has_matrices(product: Node) -> bool:
    """Whether rows of the result are rows of the first operand: of vectors they are not."""
    return all(v is not None and len(v.shape) >= 2 for v in product.inputs)


def _keeps_rows(node: Node) -> bool:
    """Whether a row of its result depends on the same rows of operands alone."""
    if node.op == "Softmax":
        (x,) = node.inputs
        assert x is not None
        return node.attributes.get("axis", -1 if node.opset >= 13 else 1) in (-1, len(x.shape) - 1)
    return node.op in _BY_ELEMENTS or (node.op == "MatMul" and node.inputs[0] is not node.inputs[1])


def _reads_rows(node: Node, v: Value, last: Node) -> bool:
    """Whether a node of an attention reads `v` by rows; the first product's operands are left outside."""
    return node.op != "MatMul" or (node is last and node.inputs[1] is not v)


def _has_rows(v: Value, queries: Size) -> bool:
    return len(v.shape) >= 2 and equal(v.shape[-2], queries) is True


def _is_broadcast(v: Value) -> bool:
    return len(v.shape) < 2 or is_one(v.shape[-2])


def _of_operator(node: Node) -> _Attention | None:
    """The attention that a node is; None where it has a past, or a query depends on its place."""
    heads_of, bias = _OPERATORS[node.op]
    given = {i: v for i, v in enumerate(node.inputs) if v is not None}
    is_free = all(node.attributes.get(a, default) == default for a, default in _OF_PLACES.items())
    if not {0, 1, 2} <= given.keys() or max(given) > bias or not is_free or any(node.outputs[1:]):
        return None
    query, key, added, mask = given[0], given[1], given.get(bias), given.get(4)
    queries, keys, batch = query.shape[-2], key.shape[-2], query.shape[0]
    heads = query.shape[1] if len(query.shape) == 4 else node.attributes.get(heads_of, 0)
    if not isinstance(heads, int) or len(key.shape) != len(query.shape) or [*given.values()].count(query) > 1:
        return None
    if mask is not None and len(mask.shape) > 2:
        return None
    if added is not None and not (_has_rows(added, queries) or _is_broadcast(added)):
        return None
    by_rows = (query,) if added is None or _is_broadcast(added) else (query, added)
    size = prod(capacities((batch, heads, queries, keys))) * query.dtype.bytes
    return _Attention((node,), queries, keys, size, by_rows)


class _Tiling:
    """The nodes that take the place of an attention."""

    def __init__(self, graph: Graph, attention: _Attention, names: Names, node_names: Names) -> None:
        self._attention, self._names, self._node_names = attention, names, node_names
        self._stem = attention.nodes[-1].name
        self._builder = Builder(graph.name)
        for v in {v for node in attention.nodes for v in node.reads}:
            if v in graph.constants:
                self._builder.keep(v, graph.constants[v])

    def build(self) -> Graph:
        """A graph of these nodes, whose output has the name of the result."""
        a, builder, rank = self._attention, self._builder, len(self._attention.result.shape)
        rows = _rows(a.queries, a.bytes)
        shape = self._add("Shape", [a.by_rows[0]])
        queries = self._add("Gather", [shape, self._integers(len(a.by_rows[0].shape) - 2)])
        raised = self._add("Add", [queries, self._integers(rows - 1)])
        trips = self._add("Div", [raised, self._integers(rows)])
        last = self._add("Sub", [queries, self._integers(1)])
        loop = self._add("Loop", [trips, None], regions=(self._strip(rows, ceiling(a.queries, rows), last),))
        order = (*range(1, rank - 1), 0, rank - 1, rank)
        width = a.result.shape[-1]
        joined = (*[0] * (rank - 2), -1, width if isinstance(width, int) else 0)
        moved = self._add("Transpose", [loop], perm=order)
        strips = self._add("Reshape", [moved, self._integers(joined)])
        ends = [self._integers([0]), self._add("Unsqueeze", [queries, self._integers([0])]), self._integers([rank - 2])]
        return builder.build([self._add("Slice", [strips, *ends], name=a.result.name)])

    def _strip(self, rows: int, trips: Size, last: Value) -> Graph:
        """The body of the loop. Beyond the `last` query it computes that one again."""
        inner = self._builder.region(self._stem)
        counter = counter_of(f"{self._stem}.iteration", trips)
        iteration = inner.input(self._names.fresh(f"{self._stem}.iteration"), (), I64, (counter,))
        first = self._add("Mul", [iteration, self._integers(rows)], inner)
        places = self._add("Add", [first, self._integers(np.arange(rows))], inner)
        places = self._add("Min", [places, last], inner)
        read = {v for node in self._attention.nodes for v in node.reads}
        now = {v: v for v in read}
        for v in self._attention.by_rows:
            now[v] = self._add("Gather", [v, places], inner, axis=len(v.shape) - 2)
        copier = _Renamer(self._names)
        for node in self._attention.nodes:
            copier.node(node, inner, now)
        return inner.build([now[self._attention.result]])

    def _add(
        self,
        op_type: str,
        inputs: Sequence[Value | None],
        builder: Builder | None = None,
        regions: tuple[Graph, ...] = (),
        name: str | None = None,
        **attributes: int | tuple[int, ...],
    ) -> Value:
        """The result of a node, called `name` where it is given."""
        output = self._names.fresh(f"{self._stem}.strips") if name is None else name
        node = self._node_names.fresh(f"{self._stem}.strips")
        added = (builder or self._builder).node(op_type, node, inputs, attributes, [output], OPSET, regions=regions)
        (result,) = added
        assert result is not None
        return result

    def _integers(self, numbers: int | Sequence[int] | np.ndarray) -> Value:
        return self._builder.constant(self._names.fresh(f"{self._stem}.number"), np.asarray(numbers, np.int64))


class _Renamer(Copier):
    def __init__(self, names: Names) -> None:
        self._names = names

    def name(self, value: Value) -> str:
        return self._names.fresh(f"{value.name}.strip")

    def sizes(self, node: Node) -> Mapping[str, Scalar]:
        return {}


def _rows(queries: Size, size: int) -> int:
    """The queries of a strip, a few of which are of no use where strips do not divide a number that is known."""
    most = capacity(queries)
    strips = -(-size // STRIP)
    if isinstance(queries, int):
        return max(-(-queries // strips), LEAST)
    return max(most // strips // LEAST * LEAST, LEAST)
