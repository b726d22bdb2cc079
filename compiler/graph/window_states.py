"""States of which the newest rows stay: where a run would find more, the session drops the oldest ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..dtypes import I64
from ..errors import InputError
from ..ir.affine import affine
from ..ir.nodes import Expr, Scalar
from ..ir.sizes import Size, capacity, number, scalars_of, size, text_of
from ..program.dimensions import Dimension
from ..program.states import State, grows
from .check_rows import POSITIONS, Sources, check_rows
from .ir import Graph, Node, Value
from .keep_states import Counted
from .kept_rows import QUERIES, joining_node, keeps_rows

MOST_DROPPED = 2**30
"""Rows that a sequence may drop: positions stay numbers of int32."""

_ROTARY, _POSITIONS = "do_rotary", 9
"""The attribute of QUERIES by which it counts positions, and the input that may say them in the stead of its rows."""


def window_states(graph: Graph, rows: int) -> Graph:
    """`graph` whose states grow up to `rows` rows: one that would have more loses its oldest before a run. Positions go
    on from all rows that there were, by one more dimension, which counts those that are gone. The results are those of
    the graph for the rows that are there, and positions that went on.

    Raises InputError where no one dimension of states grows by what the caller gives, where `rows` are too few or too
    many for it, and where the graph takes the place of a row in its cache for a position.
    """
    d = _growing(graph, rows)
    name = f"{d.name}.dropped"
    scalar = Scalar(name, MOST_DROPPED // d.multiple + 1)
    dropped = Dimension(name, scalar, d.multiple, after=size(scalar * d.multiple), dropped_of=d.name)
    for s in graph.states:
        _check_appended(graph, s, d)
    first = None if graph.first is None else _windowed(graph.first, d, rows, dropped)
    return replace(_windowed(graph, d, rows, dropped), first=first)


def _growing(graph: Graph, rows: int) -> Dimension:
    """The dimension of the states that grow, of which there may be `rows`."""
    option = f"state window {rows}"
    grown = [d for d in graph.dimensions if grows(d)]
    if len(grown) != 1:
        names = " and ".join(d.name for d in grown)
        reason = f"{names} both do" if grown else "the model keeps nothing between runs, or what it keeps does not grow"
        raise InputError(f"{option}: one dimension of states has to grow, and {reason}; compile without it")
    (d,) = grown
    new = size(number(_after(d)) - _length(d))
    if not set(scalars_of(number(new))) <= {one.scalar for one in graph.dimensions if one.after is None}:
        raise InputError(
            f"{option}: a run adds {text_of(new)} rows to {d.name}, which it computes itself; compile without it"
        )
    if not capacity(new) < rows <= d.most or rows % d.multiple:
        raise InputError(
            f"{option}: it has to be more than the {capacity(new)} rows that a run may add, and at most {d.most}, the "
            f"largest {d.name}; give another one, or --dim {d.name}=0..{rows}"
        )
    for v in graph.inputs:
        if v.name not in {s.before for s in graph.states} and _mentions(v.shape, d.scalar):
            raise InputError(
                f"{option}: the input {v.name!r} of {v.dtype}[{', '.join(map(text_of, v.shape))}] has an element for "
                f"each row of the states, and rows are dropped without notice; leave it to the model (no "
                f"--given {v.name}), or compile without a window"
            )
    return d


def _after(d: Dimension) -> Size:
    assert d.after is not None
    return d.after


def _length(d: Dimension) -> Expr:
    return d.scalar * d.multiple


def _mentions(shape: tuple[Size, ...], scalar: Scalar) -> bool:
    return any(isinstance(n, Expr) and scalar in scalars_of(n) for n in shape)


def _windowed(graph: Graph, d: Dimension, rows: int, dropped: Dimension) -> Graph:
    nodes = tuple(n for node in graph.nodes for n in _counted_on(node, d, dropped))
    dimensions = (*(replace(one, window=rows) if one.name == d.name else one for one in graph.dimensions), dropped)
    graph = replace(graph, nodes=nodes, dimensions=dimensions)
    compared = check_rows(graph, d.scalar, _sources(graph))
    nodes = tuple(n for node in graph.nodes for n in _as_rows(node, compared.get(node), dropped))
    return replace(graph, nodes=nodes) if compared else graph


def _as_rows(node: Node, operand: int | None, dropped: Dimension) -> Iterator[Node]:
    """`node`, of which an operand is positions, with the places of their rows in its stead."""
    positions = None if operand is None else node.inputs[operand]
    if positions is None:
        yield node
        return
    gone = Value(f"{node.name}.dropped", (1,), positions.dtype)
    definition = Counted(gone.shape, gone.dtype, size(dropped.scalar * dropped.multiple))
    yield Node("Dropped", gone.name, (), (gone,), {}, 1, domain="states", definition=definition)
    places = Value(f"{node.name}.places", positions.shape, positions.dtype)
    yield Node("Sub", places.name, (positions, gone), (places,), {}, 14)
    yield replace(node, inputs=tuple(places if i == operand else v for i, v in enumerate(node.inputs)))


def _check_appended(graph: Graph, s: State, d: Dimension) -> None:
    """Raises InputError for a state of which the oldest rows are not known to be the first ones."""
    before = next(v for v in graph.inputs if v.name == s.before)
    if not any(isinstance(n, Expr) and affine(n) == affine(_length(d)) for n in before.shape):
        return
    if not keeps_rows(graph, s.before, s.after):
        node = joining_node(graph, s.after)
        where = "" if node is None else f" (node {node.name!r}, {node.op})"
        raise InputError(
            f"state window: the output {s.after!r}{where} is not {s.before!r} with new rows behind it, so the oldest "
            "rows are not known to be its first; compile without a window"
        )


def _counted_on(node: Node, d: Dimension, dropped: Dimension) -> Iterator[Node]:
    """`node`, where it counts positions by rows those that are gone before them."""
    counted = node.definition
    if isinstance(counted, Counted) and counted.first is not None:
        first = size(number(counted.first) + dropped.scalar * dropped.multiple)
        yield replace(node, definition=replace(counted, first=first))
    elif node.op == QUERIES and node.attributes.get(_ROTARY, 0) and not any(node.inputs[_POSITIONS : _POSITIONS + 1]):
        query = node.inputs[0]
        assert query is not None
        positions = Value(f"{node.name}.positions", query.shape[:2], I64)
        first = size(_length(d) + dropped.scalar * dropped.multiple)
        definition = Counted(positions.shape, I64, first)
        yield Node("Positions", positions.name, (), (positions,), {}, 1, domain="states", definition=definition)
        missing = (None,) * (_POSITIONS - len(node.inputs))
        behind = node.inputs[_POSITIONS + 1 :]
        yield replace(node, inputs=(*node.inputs[:_POSITIONS], *missing, positions, *behind))
    else:
        yield node


def _sources(graph: Graph) -> Sources:
    """Positions, given or made, and masks that are made."""
    ones, positions = set[Value](), {v for v in graph.inputs if v.name in POSITIONS}
    for node in graph.nodes:
        if isinstance(node.definition, Counted):
            (ones if node.definition.first is None else positions).update(v for v in node.outputs if v is not None)
    return Sources(frozenset(positions), frozenset(ones))
