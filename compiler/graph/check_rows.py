"""Whether a graph takes the place of a row in a cache for a position: then no row may be dropped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from ..errors import InputError
from ..ir.affine import affine
from ..ir.facts import decide
from ..ir.nodes import Expr, Scalar
from ..ir.sizes import Size, is_one, number, scalars_of, text_of
from .ir import Array, Graph, Node, Value

POSITIONS = ("position_ids", "cache_position")
"""Inputs that say positions where runs are given them."""


class Kind(Enum):
    """The elements of a tensor, in a run whose cache has lost its first rows."""

    PLAIN = "the same as before"
    ONES = "numbers that do not differ from row to row"
    ROW = "places of rows in the cache, each less by as many as were lost, or sums of one and plain numbers"
    POSITION = "positions, the same as before"


PLAIN, ONES, ROW, POSITION = Kind


@dataclass(frozen=True, slots=True)
class Sources:
    """Values that are of other kinds than PLAIN from the start."""

    positions: frozenset[Value]
    ones: frozenset[Value]


def check_rows(graph: Graph, length: Scalar, sources: Sources) -> dict[Node, int]:
    """Operands that are positions, by nodes that compare them with places of rows: there, these are what positions are
    less by the rows that were lost. Raises InputError unless for the rest all that the graph computes is
    the same for a cache that has lost its first rows, but for sums over these: `length` is that of the cache. Places of
    rows may be compared with and subtracted from each other, as masks do, and index what has rows of the cache."""
    rows = _Rows(graph, length, dict.fromkeys(sources.positions, POSITION) | dict.fromkeys(sources.ones, ONES))
    rows.walk(graph)
    for v in graph.outputs:
        if rows.kind(v) is ROW:
            raise InputError(_MESSAGE.format(f"the output {v.name!r}", "is places of rows in the cache"))
    return rows.compared


_MESSAGE = (
    "state window: {} {}, and rows that are dropped change those of all others; export the model with position_ids "
    "as an input from which alone positions follow, or compile without a window"
)

_COUNTING = {
    "com.microsoft.GroupQueryAttention": (5, 6),
    "com.microsoft.MultiHeadAttention": (8,),
    "Attention": (6,),
}
"""Inputs that say how many rows there are, of which the result is a sum."""

_SIZES = {
    **dict.fromkeys(("Reshape", "Expand", "Tile", "Pad", "Split", "Unsqueeze", "Squeeze", "TopK"), (1,)),
    "ConstantOfShape": (0,),
    "Slice": (1, 2, 3, 4),
    **_COUNTING,
}
"""Inputs that are sizes."""

_MOVING = frozenset(
    (
        *("Identity", "Cast", "CastLike", "Reshape", "Flatten", "Unsqueeze", "Squeeze"),
        *("Expand", "Tile", "Split", "Transpose", "Concat"),
    )
)
_COMPARING = frozenset(("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"))
_CHOOSING = frozenset(("Min", "Max", "Where"))
_SUMS = frozenset(("CumSum", "ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare"))
_PLACES = frozenset(("ArgMax", "ArgMin", "NonZero", "TopK"))


_WRITING = {"ScatterElements": 1, "Scatter": 1, "ScatterND": 1, "TensorScatter": 2, "Compress": 1}
"""Operators that write, or choose, at places that an input says."""

_ENDLESS = 2**31 - 1
"""Ends of slices from which on they are beyond all rows."""


@dataclass(slots=True)
class _Rows:
    graph: Graph
    length: Scalar
    kinds: dict[Value, Kind]
    compared: dict[Node, int] = field(default_factory=dict)

    def walk(self, graph: Graph) -> None:
        needed = _needed(graph)
        for node in graph.nodes:
            if not needed & {*node.outputs}:
                continue
            if node.regions:
                self._structure(node)
                continue
            kind = self._result(node)
            for v in node.outputs:
                if v is not None and v not in self.kinds and v.elements is None:
                    self.kinds[v] = kind

    def kind(self, v: Value | None) -> Kind:
        if v is None:
            return PLAIN
        if v.elements is None:
            return self.kinds.get(v, PLAIN)
        return ROW if any(map(self.varies, v.elements)) else PLAIN

    def varies(self, n: Size) -> bool:
        return isinstance(n, Expr) and self.length in scalars_of(n)

    def _refuse(self, node: Node, reason: str) -> InputError:
        return InputError(_MESSAGE.format(f"node {node.name!r} ({node.op})", reason))

    def _structure(self, node: Node) -> None:
        """An If computes what its regions do; a Loop may know nothing of rows."""
        if node.op == "If":
            if self.kind(node.inputs[0]) is ROW:
                raise self._refuse(node, "takes a branch by the place of a row in the cache")
            for region in node.regions:
                self.walk(region)
                for v, result in zip(node.outputs, region.outputs, strict=False):
                    if v is not None and self.kind(result) is not PLAIN:
                        self.kinds[v] = self.kind(result)
        elif any(self.kind(v) is ROW for v in node.reads):
            raise self._refuse(node, "repeats what it does by places of rows in the cache")

    def _result(self, node: Node) -> Kind:
        """The kind of a node's outputs."""
        sizes = _SIZES.get(node.op, ())
        for i in sizes:
            v = node.inputs[i] if i < len(node.inputs) else None
            if node.op not in _COUNTING and v is not None and v.elements is None and self.kind(v) is ROW:
                raise self._refuse(node, "has a size that is computed by places of rows in the cache")
        read = [v for i, v in enumerate(node.inputs) if v is not None and i not in sizes]
        kinds = [self.kind(v) for v in read]
        for v in read if node.outputs[0] is None or node.outputs[0].elements is None else ():
            if v.elements is not None and not all(map(self._is_place, v.elements)) and node.op not in _COMPARING:
                raise self._refuse(node, f"computes by {' and '.join(map(text_of, v.elements))}")
        rule = _RULES.get(node.op)
        if rule is not None:
            return rule(self, node, read, kinds)
        if node.outputs[0] is not None and node.outputs[0].elements is not None:
            return PLAIN  # its elements say more
        if node.op in _MOVING:
            return self._joined(node, kinds)
        if node.op in _CHOOSING:
            kinds = kinds[node.op == "Where" :]
            if ROW in kinds and set(kinds) != {ROW}:
                raise self._refuse(node, "chooses among places of rows in the cache and other numbers")
            return self._joined(node, kinds)
        if node.op in _COMPARING:
            return self._compared(node, read, kinds)
        if node.op in _SUMS:
            return self._summed(node, read, kinds)
        if node.op in _WRITING and any(map(self.varies, read[0].shape)) and kinds[_WRITING[node.op]] is not ROW:
            raise self._refuse(node, "writes or chooses rows of the cache by other numbers than their places")
        if node.op in _PLACES:
            return ROW if any(map(self.varies, read[0].shape)) else PLAIN
        if ROW in kinds:
            raise self._refuse(node, "computes by places of rows in the cache")
        return PLAIN

    def _is_place(self, n: Size) -> bool:
        """Whether a size has no rows in it, or is a place of one."""
        if not isinstance(n, Expr) or not self.varies(n):
            return True
        rest = affine(n).terms
        alone = [(atom, factor) for atom, factor in rest if atom is self.length]
        others = [atom for atom, _ in rest if atom is not self.length]
        return len(alone) == 1 and alone[0][1] == self._multiple and not any(self.varies(a) for a in others)

    @property
    def _multiple(self) -> int:
        return next(d.multiple for d in self.graph.dimensions if d.scalar is self.length)

    def _joined(self, node: Node, kinds: Sequence[Kind]) -> Kind:
        found = set(kinds) - {PLAIN}
        if {ROW, POSITION} <= found:
            raise self._refuse(node, "has positions beside places of rows in the cache")
        return next((k for k in (ROW, POSITION) if k in found), ONES if set(kinds) == {ONES} else PLAIN)

    def _compared(self, node: Node, read: Sequence[Value], kinds: Sequence[Kind]) -> Kind:
        if ROW not in kinds or set(kinds) == {ROW}:
            return PLAIN
        if POSITION in kinds:
            return self._with_positions(node, kinds)
        pairs = [zip(a, b, strict=False) for a, b in [[v.elements for v in read]] if a is not None and b is not None]
        if pairs and all(decide("==", number(a), number(b)) is not None for a, b in pairs[0]):
            return PLAIN  # sizes of shapes, of which -1 stands for one
        raise self._refuse(node, "compares places of rows in the cache with other numbers")

    def _with_positions(self, node: Node, kinds: Sequence[Kind]) -> Kind:
        """The kind where positions stand beside places of rows, and are taken for such there."""
        if node not in self.graph.nodes:
            raise self._refuse(node, "compares places of rows in the cache with positions inside of a branch")
        self.compared[node] = kinds.index(POSITION)
        return PLAIN

    def _summed(self, node: Node, read: Sequence[Value], kinds: Sequence[Kind]) -> Kind:
        if ROW in kinds:
            raise self._refuse(node, "adds up places of rows in the cache")
        counts = kinds[0] is ONES or not read[0].dtype.is_float
        return ROW if counts and any(map(self.varies, read[0].shape)) else PLAIN

    def _range(self, node: Node, read: Sequence[Value], kinds: Sequence[Kind]) -> Kind:
        start, limit, step = kinds
        if POSITION in kinds or step is ROW or (start is ROW and limit is not ROW):
            raise self._refuse(node, "counts up to a position, or by places of rows in the cache")
        return limit

    def _difference(self, node: Node, read: Sequence[Value], kinds: Sequence[Kind]) -> Kind:
        a, b = kinds
        if {a, b} == {ROW, POSITION}:
            return self._with_positions(node, kinds)
        if b is ROW and a is not ROW:
            raise self._refuse(node, "subtracts places of rows in the cache from other numbers")
        return PLAIN if a is b else a

    def _sum(self, node: Node, read: Sequence[Value], kinds: Sequence[Kind]) -> Kind:
        if ROW in kinds and (kinds[0] is kinds[1] or POSITION in kinds):
            raise self._refuse(node, "adds places of rows in the cache to each other, or to positions")
        return PLAIN if kinds[0] is kinds[1] else self._joined(node, kinds)

    def _product(self, node: Node, read: Sequence[Value], kinds: Sequence[Kind]) -> Kind:
        """A place for that and 1, as exporters write it."""
        for v, kind in zip(read, reversed(kinds), strict=True):
            data = self.graph.constants.get(v)
            if kind is ROW and data is not None and bool((data == 1).all()):
                return ROW
        if ROW in kinds:
            raise self._refuse(node, "multiplies places of rows in the cache")
        return PLAIN

    def _slice(self, node: Node, read: Sequence[Value], kinds: Sequence[Kind]) -> Kind:
        data = read[0]
        ends = [self._elements(v) for v in node.inputs[1:3] if v is not None]
        axes, steps = (
            None if len(node.inputs) <= i or (v := node.inputs[i]) is None else self._elements(v) for i in (3, 4)
        )
        if not all(ends) and any(map(self.varies, data.shape)):
            raise self._refuse(node, "takes rows of the cache by numbers that a run computes")
        for i, bounds in enumerate(zip(*ends, strict=True)):
            axis = i if axes is None else axes[i]
            assert isinstance(axis, int)
            if any(map(self.varies, bounds)) and not self.varies(data.shape[axis]):
                table = self.graph.constants.get(data)
                pair = axis % len(data.shape) >= len(data.shape) - 2
                if not (self.kinds.get(data) is ONES or (pair and table is not None and _by_difference(table))):
                    raise self._refuse(node, f"takes rows of {data.name!r} by places of rows in the cache")
                return ONES  # of a mask, whose rows and columns go by their difference
            if self.varies(data.shape[axis]) and not all(map(self._is_end, bounds)):
                raise self._refuse(node, "takes rows of the cache by other numbers than their places")
            if self.varies(data.shape[axis]) and steps and steps[i] not in (1, -1):
                raise self._refuse(node, f"takes one of {steps[i]} rows of the cache")
        return kinds[0]

    def _is_end(self, n: Size) -> bool:
        """Whether a bound of rows is before the first one, behind the last one, counted from there, or the place of
        one."""
        if self.varies(n):
            return self._is_place(n)
        return n == 0 or (isinstance(n, int) and n >= _ENDLESS) or self._is_last(n)

    def _is_last(self, n: Size) -> bool:
        """Whether a number counts rows from the last one."""
        return decide("<", number(n), number(0)) is True

    def _elements(self, v: Value) -> tuple[Size, ...]:
        """Integers, as far as they are known."""
        data = self.graph.constants.get(v)
        return v.elements or (() if data is None else tuple(map(int, data.reshape(-1))))

    def _gather(self, node: Node, read: Sequence[Value], kinds: Sequence[Kind]) -> Kind:
        data, indices = read[:2]
        axis = node.attributes.get("axis", 0)
        assert isinstance(axis, int)
        return self._read(node, indices, kinds, [data.shape[axis]])

    def _gather_nd(self, node: Node, read: Sequence[Value], kinds: Sequence[Kind]) -> Kind:
        data, indices = read[:2]
        last = indices.shape[-1]
        batches = node.attributes.get("batch_dims", 0)
        assert isinstance(last, int)
        assert isinstance(batches, int)
        return self._read(node, indices, kinds, [n for n in data.shape[batches : batches + last] if not is_one(n)])

    def _read(self, node: Node, indices: Value, kinds: Sequence[Kind], axes: Sequence[Size]) -> Kind:
        """The kind of elements that are read at indices along axes."""
        rows = [self.varies(n) for n in axes]
        known = self._elements(indices)
        if any(rows) and kinds[1] is not ROW and not (known and all(map(self._is_last, known))):
            raise self._refuse(node, "reads rows of the cache by other numbers than their places")
        if kinds[1] is ROW and not (rows and all(rows)):
            raise self._refuse(node, "reads a table at places of rows in the cache")
        return kinds[0]

    def _triangle(self, node: Node, read: Sequence[Value], kinds: Sequence[Kind]) -> Kind:
        """Columns from that of the row's number and another one on."""
        x = read[0]
        rows, columns = (self.varies(n) for n in x.shape[-2:])
        first = (*(self._elements(read[1]) if len(read) > 1 else ()), 0)[0]
        if self.varies(first) != (columns and not rows) or (rows and not columns) or not self._is_place(first):
            raise self._refuse(node, "leaves numbers by places of rows in the cache and others")
        return PLAIN


def _needed(graph: Graph) -> set[Value | None]:
    """The values of which results need the elements: of others the shape is known, or the elements are."""
    needed: set[Value | None] = {v for v in graph.results if v.elements is None}
    for node in reversed(graph.nodes):
        if needed & {*node.outputs}:
            needed.update(v for v in node.reads if v.elements is None and node.op not in ("Shape", "Size"))
    return needed


def _by_difference(table: Array) -> bool:
    """Whether an element goes by the difference of its last two indices, as those of a triangle do."""
    return table.ndim >= 2 and bool(np.array_equal(table[..., 1:, 1:], table[..., :-1, :-1]))


_RULES: dict[str, Callable[[_Rows, Node, Sequence[Value], Sequence[Kind]], Kind]] = {
    "Range": _Rows._range,
    "Sub": _Rows._difference,
    "Add": _Rows._sum,
    "Mul": _Rows._product,
    "Slice": _Rows._slice,
    "Gather": _Rows._gather,
    "GatherElements": _Rows._gather,
    "GatherND": _Rows._gather_nd,
    "Trilu": _Rows._triangle,
}
