"""How long a dimension has to be for all that is read of it: by the largest index of each read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from ..ir.affine import affine
from ..ir.facts import Facts
from ..ir.nodes import Binary, Buffer, Cast, Const, Expr, Load, Scalar, Select, Var
from ..ir.reduction import Reduce
from ..ir.rewrite import loads, substitute
from ..ir.simplify import simplify_expr
from ..ir.sizes import Size, larger, number, scalars_of, size
from ..tensor import Tensor
from ..tensor.bound_elements import span_of
from ..tensor.program import TensorProgram
from .ir import Graph
from .lower_graph import lower_graph


def sizes_read(graph: Graph, length: Scalar) -> Iterator[Size]:
    """Sizes, by other scalars, that `length` has to have at least: for each read along a dimension that goes by it, at
    an index of which the largest value is known. A mask that is read at the positions 0 to P + S - 1 gives P + S.

    A read of all of a dimension, as element-wise operators have, gives none.
    """
    largest = _Largest()
    for t in _tensors(lower_graph(graph)):
        operands = {r.buffer: r for r in t.reads if any(length in scalars_of(number(n)) for n in r.shape)}
        for load in loads(t.body) if operands and t.body is not None else ():
            read = operands.get(load.buffer)
            for n, index in zip(read.shape, load.indices, strict=True) if read is not None else ():
                most = largest.of(index, t) if length in scalars_of(number(n)) else None
                # n is at least most + 1: where it is as much, `length` is as long as need be.
                least = None if most is None else without(number(n) - most - 1, length)
                if least is not None:
                    yield least


def without(zero: Expr, scalar: Scalar) -> Size | None:
    """Value of `scalar` with which the sum `zero` is 0; None where that does not follow."""
    form = affine(number(size(zero)))
    factor = form.coefficient(scalar)
    rest = form.without(scalar)
    if factor not in (1, -1) or scalar in scalars_of(rest.to_expr()):
        return None
    return size(rest.scale(-factor).to_expr())


def _tensors(program: TensorProgram) -> Iterator[Tensor]:
    yield from program.tensors
    for inner in program.structures:
        for region in inner.regions:
            yield from _tensors(region)


class _Largest:
    """The largest values of integer expressions in the bodies of tensors, as sizes."""

    def __init__(self) -> None:
        self._elements: dict[tuple[Buffer, tuple[int | None, ...]], Size | None] = {}
        self._facts: dict[Buffer, Facts] = {}

    def of(self, e: Expr, t: Tensor) -> Size | None:
        """None where it is not known. `e` is part of the body of `t`."""
        match e:
            case Const(value):
                return int(value)
            case Scalar():
                return e
            case Var(_, extent, length):
                return size((extent if length is None else length) - 1)
            case Cast(_, a):
                return self.of(a, t)
            case Load(buffer, indices):
                at = tuple(int(i.value) if isinstance(i, Const) else None for i in indices)
                return self._element(next(r for r in t.reads if r.buffer is buffer), at)
            case Select(Binary("<", a, Const(0)), _, b) if self._least(a, t) >= 0:
                return self.of(b, t)
            case Binary("max", a, Const(value)) if self._least(a, t) >= value:
                return self.of(a, t)
            case Select(_, a, b) | Binary("max", a, b):
                x, y = self.of(a, t), self.of(b, t)
                return None if x is None or y is None else larger(x, y)
            case Binary("min", a, b):
                # Either is an upper bound; of an index that is clamped the first is the index.
                x = self.of(a, t)
                return self.of(b, t) if x is None else x
            case Binary("+", a, b):
                x, y = self.of(a, t), self.of(b, t)
                return None if x is None or y is None else size(x + y)
            case Binary("*", a, b) if self._least(a, t) >= 0 and self._least(b, t) >= 0:
                x, y = self.of(a, t), self.of(b, t)
                return None if x is None or y is None else size(x * y)
        return None

    def _element(self, t: Tensor, at: tuple[int | None, ...]) -> Size | None:
        """The largest element of `t` at the indices of `at` that are known."""
        key = t.buffer, at
        if key not in self._elements:
            self._elements[key] = self._of_elements(t, at)
        return self._elements[key]

    def _of_elements(self, t: Tensor, at: tuple[int | None, ...]) -> Size | None:
        if t.data is not None:
            return int(t.data.max()) if t.data.size and t.dtype.is_int else None
        if t.elements:
            return reduce(larger, t.elements)
        if t.body is None or isinstance(t.body, Reduce) or not t.dtype.is_int:
            return None
        known: dict[Var, Expr] = {v: Const(i) for v, i in zip(t.axes, at, strict=True) if i is not None}
        return self.of(simplify_expr(substitute(t.body, known)) if known else t.body, t)

    def _least(self, e: Expr, t: Tensor) -> int:
        if t.buffer not in self._facts:
            self._facts[t.buffer] = Facts({r.buffer: span_of(r) for r in t.reads if not r.dtype.is_float})
        return self._facts[t.buffer].of(e)[0]
