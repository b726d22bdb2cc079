"""A Tensor is a buffer with the expression of its elements: the computation, without a schedule.

A tensor is a placeholder (no body), a constant (`data`), a map (`body` without Reduce) or a reduction (`body` is one
Reduce). An operator that needs several reductions (softmax, say) is a composition of several tensors. Reading
`t[i, j]` is a `Load` of the tensor's buffer, so bodies are ordinary IR expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import DType, from_numpy
from ..errors import BoundsError
from ..ir.bounds import leaves_int32, unproved_index
from ..ir.facts import range_of
from ..ir.intervals import Range
from ..ir.name_size import name_size
from ..ir.nodes import Buffer, Const, Expr, ExprLike, Load, Select, Var, expr
from ..ir.reduction import COMBINE, WITHOUT_NAN, Reduce, neutral
from ..ir.rewrite import loads
from ..ir.sizes import Size, capacities, capacity, number, scalars_of, size
from ..system.limits import check_rank

if TYPE_CHECKING:
    from .structure import Source


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of the integers that a run computes: all are in `span`. Of a tensor of few, in row-major order,
    `elements` are those that have a least and a greatest value, as sizes, and `counts` are max(element, 0) of those
    that have a greatest; None stands for the rest."""

    span: Range
    elements: tuple[Size | None, ...] | None = None
    counts: tuple[Size | None, ...] | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Tensor:
    """`buffer` has name, shape and dtype; `axes` are the variables of `body`, one per dimension; `reads` are the
    tensors whose buffers the body loads. Compares by identity.

    A `prepared` tensor has a body over constants and other prepared tensors alone; it is computed once, when the model
    is loaded, in the layout of each of its readers; its `data` may be known as well. An `exact` one is stored in
    float32 also where others are rounded to float16: a part of a sum, or sums of quanta. An `approximate` one is
    float32 of a sum of integers, which may be computed as a sum of float32. `sizes` is the shape of a placeholder of
    which a dimension is dynamic; elsewhere the lengths of the axes say it. `elements` are those of a small integer
    tensor, in row-major order, where they are known as sizes; `bounds` is what is known of other integers, and of
    float32 that are whole numbers. `source`
    says of which loop or branch a placeholder is a result. `packs` names the type of the elements that the words of a
    constant hold.
    """

    buffer: Buffer
    axes: tuple[Var, ...] = ()
    body: Expr | None = None
    reads: tuple[Tensor, ...] = ()
    data: np.ndarray | None = None
    prepared: bool = False
    exact: bool = False
    approximate: bool = False
    sizes: tuple[Size, ...] | None = None
    elements: tuple[Size, ...] | None = None
    bounds: Bounds | None = None
    source: Source | None = None
    packs: str | None = None
    depends_only_on_constants: bool = field(init=False, repr=False)
    """Whether no placeholder is read and no scalar occurs, so that evaluating it needs no feeds. Kept, as a walk for
    each tensor over all that it is computed from would take time quadratic in the length of a model."""

    def __post_init__(self) -> None:
        """Raises BoundsError for a body that may read beyond another tensor's elements."""
        if self.body is not None and 0 not in self.shape:
            check_reads(self.name, self.body)
        object.__setattr__(self, "depends_only_on_constants", self.data is not None or self._is_of_constants())

    def _is_of_constants(self) -> bool:
        if self.body is None or not all(t.depends_only_on_constants for t in self.reads):
            return False
        return not self.is_dynamic and not scalars_of(self.body)

    @property
    def is_constant(self) -> bool:
        """Whether its elements are the same in every run."""
        return self.data is not None or self.prepared

    @property
    def shape(self) -> tuple[Size, ...]:
        """As readers have it: there a length that is a long expression is a scalar (`name_size`)."""
        if any(v.length is not None for v in self.axes):
            return tuple(v.extent if v.length is None else name_size(v.length) for v in self.axes)
        return self.buffer.shape if self.sizes is None else self.sizes

    @property
    def extents(self) -> tuple[int, ...]:
        """The shape that memory is laid out for: of each size its capacity."""
        return self.buffer.shape

    @property
    def is_dynamic(self) -> bool:
        """Whether a size, of the result or of what it reduces, is known at run time only."""
        over = self.body.axes if isinstance(self.body, Reduce) else ()
        return any(v.length is not None for v in (*self.axes, *over)) or self.sizes is not None

    @property
    def dtype(self) -> DType:
        return self.buffer.dtype

    @property
    def name(self) -> str:
        return self.buffer.name

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_reduction(self) -> bool:
        return isinstance(self.body, Reduce)

    def __getitem__(self, indices: ExprLike | tuple[ExprLike, ...]) -> Expr:
        return self.read(indices if isinstance(indices, tuple) else (indices,))

    def read(
        self, indices: tuple[ExprLike, ...] | list[Expr], guard: Expr | None = None, otherwise: ExprLike = 0
    ) -> Expr:
        """The element at `indices` (int32 expressions, all in range wherever `guard` holds), else `otherwise`."""
        if len(indices) != self.rank:
            raise TypeError(f"{self.name} has {self.rank} dimensions, read with {len(indices)} indices")
        if self.elements is not None and guard is None and (place := self._place(indices)) is not None:
            return number(self.elements[place], self.dtype)
        load = Load(self.buffer, tuple(expr(i) for i in indices), guard)
        fallback = expr(otherwise, self.dtype)
        if guard is None or (isinstance(fallback, Const) and not fallback.value):
            return load
        return Select(guard, load, fallback)

    def _place(self, indices: tuple[ExprLike, ...] | list[Expr]) -> int | None:
        """Where the element at constant `indices` stands in row-major order; None for other indices."""
        place = 0
        for i, extent in zip(indices, self.extents, strict=True):
            if not isinstance(i, int | Const):
                return None
            place = place * extent + int(i.value if isinstance(i, Const) else i)
        return place

    def __iter__(self) -> Iterator[Expr]:
        raise TypeError("a Tensor is not iterable; read it by index")


def placeholder(name: str, shape: Sequence[Size], dtype: DType, extents: tuple[int, ...] | None = None) -> Tensor:
    """A tensor without a body: its elements are given, in memory for the largest shape, or for `extents`."""
    extents = capacities(shape) if extents is None else extents
    return Tensor(Buffer(name, extents, dtype), sizes=None if extents == tuple(shape) else tuple(shape))


def constant(name: str, data: np.ndarray, packs: str | None = None) -> Tensor:
    """A tensor known at compile time, of the array's shape and dtype; of words, `packs` names the type of the elements
    that they hold."""
    dtype = from_numpy(data.dtype)
    values = (int(data.min()), int(data.max())) if dtype.is_int and data.size else None
    return Tensor(Buffer(name, data.shape, dtype, values=values), data=data, packs=packs)


def compute(
    name: str, shape: Sequence[Size], reads: tuple[Tensor | None, ...] | list[Tensor], body: Callable[..., Expr]
) -> Tensor:
    """A tensor of `shape` with element `body(*axes)`; the dtype is that of the expression.

    `reads` lists the tensors that `body` may read (None is ignored; those not read are dropped). Raises InputError for
    too many dimensions, TypeError for a body that gives no expression or reads another tensor, and BoundsError for one
    that may read beyond a tensor's elements.
    """
    check_rank(len(shape), f"the result of {name!r}")
    axes = tuple(axis(axis_name(d), extent) for d, extent in enumerate(shape))
    value = body(*axes)
    if not isinstance(value, Expr):
        raise TypeError(
            f"the body of {name} gives a {type(value).__name__}, not an expression: read elements as x[i], and give a "
            "number as number(1, F32)"
        )
    used = {load.buffer for load in loads(value)}
    kept = tuple(dict.fromkeys(t for t in reads if t is not None and t.buffer in used))
    missing = used - {t.buffer for t in kept}
    if missing:
        raise TypeError(f"{name} reads {sorted(b.name for b in missing)} without listing it")
    return Tensor(Buffer(name, tuple(v.extent for v in axes), value.dtype), axes, value, kept)


def reduce(op: str, extents: Sequence[Size], value: Callable[..., Expr], init: int | float | None = None) -> Expr:
    """The reduction of `value(*axes)` over axes of `extents`; `op` is one of Reduce, max_nan of integers is max.

    The start is the operation's neutral element unless `init` is given. Use it as the whole body of a `compute`. Raises
    ValueError for another `op`.
    """
    if op not in COMBINE:
        raise ValueError(f"there is no reduction {op!r}: give one of {', '.join(COMBINE)}")
    axes = tuple(axis(f"r{d}", extent) for d, extent in enumerate(extents))
    element = value(*axes)
    dtype = element.dtype
    if not dtype.is_float:
        op = WITHOUT_NAN.get(op, op)
    start = neutral(COMBINE[op], dtype) if init is None else expr(init, dtype)
    assert isinstance(start, Const)
    return Reduce(op, axes, element, start)


def check_reads(name: str, body: Expr) -> None:
    """Raises BoundsError unless every read in the body of tensor `name` is proved to be in bounds, under its guard if
    it has one. A reduction over an empty axis reads nothing."""
    if isinstance(body, Reduce) and any(axis.extent == 0 for axis in body.axes):
        return
    for x in loads(body):
        dimension = unproved_index(x)
        if dimension is not None:
            interval = range_of(x.indices[dimension])
            span = "elements" if interval is None else f"elements {interval[0]} to {interval[1]}"
            if leaves_int32(x):
                span = "elements by index arithmetic beyond int32"
            raise BoundsError(
                f"{name!r} reads {span} along dimension {dimension} of {x.buffer.name!r}, whose shape is "
                f"{list(x.buffer.shape)}"
            )


def axis(name: str, extent: Size) -> Var:
    """A variable that counts to a size."""
    canonical = size(extent)
    return Var(name, capacity(canonical), None if isinstance(canonical, int) else canonical)


def axis_name(dimension: int) -> str:
    return f"i{dimension}"
