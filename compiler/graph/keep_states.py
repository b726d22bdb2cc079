"""States of a model: inputs that are what the run before has left, and others that follow from them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..dtypes import I32, I64, DType
from ..errors import InputError
from ..ir.affine import affine
from ..ir.nodes import Const, Expr, Scalar, Var
from ..ir.rewrite import substitute
from ..ir.sizes import Size, equal, number, shown, size, text_of, value_of
from ..ops.call import Call
from ..program.dimensions import Dimension
from ..program.states import State, counted_rows
from ..tensor import Tensor, compute
from .ir import Array, Graph, Node, Value
from .kept_rows import QUERIES, keeps_rows
from .split_merged import split_merged

USUAL = (
    "past_key_values.*=present.*",
    "past_key_values.*=present_key_values.*",
    "past_key_values_*=present_key_values_*",
    "past_key_*=present_key_*",
    "past_value_*=present_value_*",
    "past.*=present.*",
    "past_*=present_*",
)
"""Names that exporters give to the caches of decoders: optimum, onnxruntime-genai, scripts of onnxruntime."""


COUNTED = "Counted"
"""The operator of a node in place of an input that only counts."""

_TABLES = {"Gather": (1, 0), "RotaryEmbedding": (3, 1), "com.microsoft.RotaryEmbedding": (1, 2)}
"""Operators that read rows of a table at positions: the inputs that these are, positions and table."""

_ANGLES = 7
"""The input that is the table of angles of QUERIES, an operator that counts positions itself."""


def keep_states(graph: Graph, pairs: Sequence[str] | None, given: Sequence[str]) -> Graph:
    """`graph` with its states: `pairs`, IN=OUT with wildcards, or None for those of USUAL names. Their lengths follow
    from the runs before: inputs that only count, positions and masks, are made by the graph then, but for those in
    `given`. Raises InputError for states that do not fit."""
    inputs, outputs = ([v.name for v in values] for values in (graph.inputs, graph.outputs))
    states = usual_states(inputs, outputs) if pairs is None else tuple(_wanted(inputs, outputs, pairs))
    if pairs is None and not all(_may_be(graph, s) for s in states):
        states = ()
    _check_given(graph, given, states)
    if not states:
        return graph
    split = split_merged(graph, states)
    if split is None:
        return _with_states(graph, states, _lengths(graph, states), given)
    then, first = split
    lengths = _lengths(then, states)
    made, begun = (_with_states(g, states, lengths, given) for g in (then, first))
    return replace(made, first=begun)


def _may_be(graph: Graph, s: State) -> bool:
    """Whether an input and an output that have usual names are of one type, but for sizes that vary."""
    before = next(v for v in graph.inputs if v.name == s.before)
    after = next(v for v in graph.outputs if v.name == s.after)
    if before.dtype != after.dtype or len(before.shape) != len(after.shape):
        return False
    return all(isinstance(a, Expr) or equal(a, b) is not False for a, b in zip(before.shape, after.shape, strict=True))


def _with_states(graph: Graph, states: tuple[State, ...], lengths: Mapping[str, Size], given: Sequence[str]) -> Graph:
    dimensions = tuple(replace(d, after=lengths.get(d.name)) for d in graph.dimensions)
    dimensions = tuple(_fast(d, dimensions) for d in dimensions)
    states = tuple(replace(s, overwritten=not keeps_rows(graph, s.before, s.after)) for s in states)
    graph = replace(graph, states=states, dimensions=dimensions)
    for value in tuple(graph.inputs):
        made = None if value.name in given else _made(value, dimensions)
        if made is not None:
            graph = _computed(graph, value, made)
            rows = None if made.first is None else _rows_for(graph, value)
            if rows is not None:
                graph = _limited(graph, rows)
    for node in graph.nodes:
        # Its positions are those of the states: it turns rows by what its tables of angles have for them.
        table = node.inputs[_ANGLES] if node.op == QUERIES and len(node.inputs) > _ANGLES else None
        if table is not None and table in graph.constants:
            graph = _limited(graph, graph.constants[table].shape[0])
    return graph


def usual_states(inputs: Sequence[str], outputs: Sequence[str]) -> tuple[State, ...]:
    """The states of a model whose inputs and outputs have usual names of caches."""
    taken: set[str] = set()
    states: list[State] = []
    for pair in USUAL:
        for s in _matches(inputs, outputs, pair):
            if not taken & {s.before, s.after}:
                taken |= {s.before, s.after}
                states.append(s)
    return tuple(states)


def _matches(inputs: Sequence[str], outputs: Sequence[str], pair: str) -> Iterator[State]:
    before, _, after = pair.partition("=")
    pattern = re.compile("(.*)".join(map(re.escape, before.split("*"))))
    for given in inputs:
        match = pattern.fullmatch(given)
        if match:
            texts = iter((*match.groups(), ""))
            name = "".join(part + next(texts) for part in after.split("*"))
            if name in outputs:
                yield State(given, name)


def _wanted(inputs: Sequence[str], outputs: Sequence[str], pairs: Sequence[str]) -> Iterator[State]:
    seen: dict[str, str] = {}
    for pair in pairs:
        found = tuple(_matches(inputs, outputs, pair))
        if not found:
            raise InputError(f"state {pair!r}: no such input and output; inputs: {inputs}; outputs: {outputs}")
        for s in found:
            for name in (f"input {s.before!r}", f"output {s.after!r}"):
                if name in seen:
                    raise InputError(f"state {pair!r}: the {name} is that of state {seen[name]!r}, too")
                seen[name] = pair
            yield s


def _check_given(graph: Graph, given: Sequence[str], states: Sequence[State]) -> None:
    names = {v.name for v in graph.inputs} - {s.before for s in states}
    for name in given:
        if name not in names:
            raise InputError(f"given {name!r}: no such input; inputs: {sorted(names)}")


def _lengths(graph: Graph, states: Sequence[State]) -> dict[str, Size]:
    """By the names of dimensions that states have what a run leaves. Raises InputError for a state whose input and
    output are of different types or shapes, but for such a dimension."""
    inputs, outputs = {v.name: v for v in graph.inputs}, {v.name: v for v in graph.outputs}
    lengths: dict[str, Size] = {}
    same: list[tuple[State, Dimension]] = []
    sizes = {d.name for d in graph.dimensions if d.value_of is not None}
    for s in states:
        before, after = inputs[s.before], outputs[s.after]
        if s.before in sizes:
            raise InputError(f"state {s}: the input is a size of the model, which each run decides")
        if before.dtype != after.dtype or len(before.shape) != len(after.shape):
            raise InputError(
                f"state {s}: the input is {_type(before)}, the output {_type(after)}; name an output of the input's "
                "type and shape, which the next run takes"
            )
        for a, b in zip(before.shape, after.shape, strict=True):
            d = _dimension(graph.dimensions, a)
            if equal(a, b):
                same += [] if d is None else [(s, d)]
                continue
            if d is None:
                raise InputError(
                    f"state {s}: the input is {_type(before)}, and a run leaves {_type(after)}: the size {text_of(a)} "
                    "has to be a dimension of its own, which grows from 0 on (--dim NAME=0..MOST)"
                )
            if d.least:
                raise InputError(f"state {s}: {d.name} is 0 before the first run; give --dim {d.name}=0..{d.most}")
            if not equal(lengths.setdefault(d.name, b), b):
                raise InputError(
                    f"state {s}: a run leaves {text_of(b)} for {d.name}, and other states {text_of(lengths[d.name])}"
                )
    for s, d in same:
        if d.name in lengths:
            left = text_of(lengths[d.name])
            raise InputError(f"state {s}: a run leaves {d.name} as it is, and other states have {left} then")
    states_of = {s.before for s in states}
    given = {
        d for v in graph.inputs if v.name not in states_of for n in v.shape if (d := _dimension(graph.dimensions, n))
    }
    for s in states:
        for a in inputs[s.before].shape:
            d = _dimension(graph.dimensions, a)
            if isinstance(a, Expr) and d is None:
                raise InputError(f"state {s}: the size {text_of(a)} of its input is no dimension of its own")
            if d is not None and d not in given:
                lengths.setdefault(d.name, a)
    return lengths


def _type(v: Value) -> str:
    return f"{v.dtype}{shown(v.shape)}"


def _dimension(dimensions: Sequence[Dimension], n: Size) -> Dimension | None:
    """The dimension that a size is."""
    if isinstance(n, int):
        return None
    return next((d for d in dimensions if affine(n) == affine(d.scalar).scale(d.multiple)), None)


@dataclass(frozen=True, slots=True)
class Counted:
    """The definition of a tensor that only counts, of a shape and dtype: along its last axis from `first` on, or 1
    everywhere where that is None."""

    shape: tuple[Size, ...]
    dtype: DType
    first: Size | None

    def __call__(self, call: Call) -> Tensor:
        return compute(call.name, self.shape, (), self._element)

    def resized(self, resize: Callable[[tuple[Size, ...]], tuple[Size, ...]]) -> Counted:
        """Its copy of another shape, as `resize` makes of sizes."""
        first = None if self.first is None else resize((self.first,))[0]
        return replace(self, shape=resize(self.shape), first=first)

    def _element(self, *at: Expr) -> Expr:
        return Const(1, self.dtype) if self.first is None else (number(self.first) + at[-1]).cast(self.dtype)

    def array(self, scalars: Mapping[Scalar, int]) -> Array:
        """The tensor in a run of these sizes."""
        shape = tuple(value_of(n, scalars) for n in self.shape)
        row = 1 if self.first is None else value_of(self.first, scalars) + np.arange(shape[-1])
        return np.full(shape, row, self.dtype.numpy)


def pass_states(graph: Graph) -> Graph:
    """`graph` with its states as inputs and outputs of each run, whose shapes say how long they are, and one kind of
    runs: none is the first of a sequence, and none of a fast size."""
    kept = [d for d in graph.dimensions if d.dropped_of is None]
    dimensions = tuple(replace(d, after=None, limit=None, fast=None, window=None) for d in kept)
    none: dict[Var, Expr] = {d.scalar: Const(0) for d in graph.dimensions if d.dropped_of is not None}

    def without(node: Node) -> Node:
        counted = node.definition
        if not isinstance(counted, Counted):
            return node
        return replace(
            node, definition=counted.resized(lambda shape: tuple(size(substitute(number(n), none)) for n in shape))
        )

    nodes = tuple(map(without, graph.nodes)) if none else graph.nodes
    return replace(graph, states=(), dimensions=dimensions, nodes=nodes, first=None)


def grown_states(graph: Graph) -> tuple[str, ...]:
    """The outputs of states that a run leaves with more rows."""
    before, after = ({v.name: v.shape for v in values} for values in (graph.inputs, graph.outputs))
    return tuple(s.after for s in graph.states if not all(map(equal, before[s.before], after[s.after])))


def made_inputs(graph: Graph) -> dict[str, Counted]:
    """The inputs of the source that `graph` makes, by name."""
    made = (n for n in graph.nodes if n.op_type == COUNTED)
    return {n.name: n.definition for n in made if isinstance(n.definition, Counted)}


def _made(value: Value, dimensions: Sequence[Dimension]) -> Counted | None:
    """The definition of an input that only counts: a mask of what is there and what comes, and the positions of what
    comes. None for others."""
    past = counted_rows(dimensions)
    if past is None or value.dtype not in (I32, I64) or not value.shape:
        return None
    length = size(past.scalar * past.multiple)
    assert past.after is not None
    if value.name == "attention_mask" and equal(value.shape[-1], past.after):
        return Counted(value.shape, value.dtype, None)
    new = size(number(past.after) - length)
    if value.name in ("position_ids", "cache_position") and equal(value.shape[-1], new):
        return Counted(value.shape, value.dtype, length)
    return None


_SAME_ELEMENTS = ("Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Expand")


def _rows_for(graph: Graph, positions: Value) -> int | None:
    """The rows of the smallest table that is read at positions; None where there is none. Some models add a number to
    them first."""
    consumers, found = graph.consumers(), []
    open_ = [(positions, 0)]
    while open_:
        value, shift = open_.pop()
        for node in consumers.get(value, ()):
            (result,) = node.outputs[:1]
            table = _table(graph, node, value)
            if table is not None:
                found.append(table.shape[0] - shift)
            elif node.op in _SAME_ELEMENTS and node.inputs[0] is value and result is not None:
                open_.append((result, shift))
            elif node.op == "Add" and result is not None:
                numbers = [graph.constants[v] for v in node.inputs if v is not None and v in graph.constants]
                if len(numbers) == 1 and numbers[0].size == 1:
                    open_.append((result, shift + int(numbers[0].reshape(-1)[0])))
    return min(found, default=None)


def _table(graph: Graph, node: Node, positions: Value) -> Array | None:
    """The constant of which a node reads rows at `positions`."""
    at, table = _TABLES.get(node.op, (0, 0))
    if at >= len(node.inputs) or node.inputs[at] is not positions or node.attributes.get("axis", 0):
        return None
    value = node.inputs[table]
    return None if value is None else graph.constants.get(value)


def _limited(graph: Graph, rows: int) -> Graph:
    """`graph` whose states have at most so many rows after a run, of those that positions count."""
    counted = counted_rows(graph.dimensions)

    def limited(d: Dimension) -> Dimension:
        if d is not counted:
            return d
        return replace(d, limit=rows if d.limit is None else min(rows, d.limit))

    return replace(graph, dimensions=tuple(map(limited, graph.dimensions)))


def _fast(d: Dimension, dimensions: Sequence[Dimension]) -> Dimension:
    """A step of one row has kernels of its own, unless another size is said to be the usual one."""
    if d.fast is not None or not (d.least <= 1 < d.most and d.multiple == 1):
        return d
    steps = [size(number(p.after) - p.scalar * p.multiple) for p in dimensions if p.after is not None]
    return replace(d, fast=1) if any(equal(n, size(d.scalar)) for n in steps) else d


def _computed(graph: Graph, value: Value, made: Counted) -> Graph:
    """`graph` with a node in place of the input `value`."""
    node = Node(COUNTED, value.name, (), (value,), {}, 1, domain="states", definition=made)
    return replace(graph, inputs=tuple(v for v in graph.inputs if v is not value), nodes=(node, *graph.nodes))
