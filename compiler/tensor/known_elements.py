"""The elements of small integer tensors that are known as sizes: arithmetic on shapes that are known at run time only.

An operator's own definition says what its elements are; where each one comes down to numbers and scalars, later
operators may take them as shapes, positions and counts. `element_value` is symbolic where `ir/evaluate_expression`
computes numbers: its results are sizes, of scalars that have no value yet, or unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce as fold
from itertools import product
from math import prod

import numpy as np

from ..dtypes import BOOL, I64, DType
from ..ir.construct import select
from ..ir.facts import decide
from ..ir.memo import memo
from ..ir.name_size import name_size
from ..ir.nodes import Binary, Buffer, Cast, Const, Expr, Load, Scalar, Select, Unary, Var
from ..ir.reduction import COMBINE, Reduce
from ..ir.sizes import Size, divided, larger, number, size, smaller
from .exact_floats import combined, converted, is_zero, of_float, rounded
from .tensor import Tensor, compute, constant

MOST_ELEMENTS = 64
"""The largest tensor whose elements are known: a shape has only a few dimensions."""

Element = Size | bool


def with_known_elements(t: Tensor) -> Tensor:
    """`t`, with its elements where they are known as sizes."""
    elements = known_elements(t)
    if elements is None or t.elements is not None or t.data is not None:
        return t
    return replace(t, elements=tuple(name_size(n) for n in elements))


def from_sizes(name: str, sizes: Sequence[Size] | Size) -> Tensor:
    """An int64 tensor of sizes: a vector, or a scalar for one size alone."""
    alone = isinstance(sizes, int | Expr)
    elements: tuple[Size, ...] = (sizes,) if isinstance(sizes, int | Expr) else tuple(sizes)
    if all(isinstance(n, int) for n in elements):
        return constant(name, np.asarray(elements[0] if alone else elements, np.int64))

    def body(*at: Expr) -> Expr:
        result = number(elements[-1], I64)
        for i in reversed(range(len(elements) - 1)):
            result = select(at[0] <= i, number(elements[i], I64), result)
        return result

    return replace(compute(name, () if alone else (len(elements),), (), body), elements=elements)


def known_elements(t: Tensor) -> tuple[Size, ...] | None:
    """The elements, in row-major order, of an integer tensor or a tensor of bools; None where they are not known."""
    if t.elements is not None:
        return t.elements
    if t.dtype.is_float or t.is_dynamic or t.buffer.size > MOST_ELEMENTS:
        return None
    elements = _Elements().of(t)
    return None if elements is None else tuple(int(e) if isinstance(e, bool) else e for e in elements)


@memo
def exact_floats(t: Tensor) -> tuple[Size, ...] | None:
    """The elements, in row-major order, of a small float tensor that are sizes, or quotients of sizes, in every run
    (`exact_floats`); None where they are not known.

    Each tensor of a chain is asked for, the first one first: hence the memo, without which each would be as deep a
    recursion as the chain is long.
    """
    if t.is_dynamic or t.buffer.size > MOST_ELEMENTS:
        return None
    elements = _Elements().of(t)
    return None if elements is None else tuple(int(e) if isinstance(e, bool) else e for e in elements)


class _Elements:
    """The known elements of tensors, each computed once."""

    def __init__(self) -> None:
        self._known: dict[Buffer, tuple[Element, ...] | None] = {}

    def of(self, t: Tensor) -> tuple[Element, ...] | None:
        open_ = [t]  # operands first, without recursion: chains of integers are as long as a model
        while open_:
            operand = self._unknown_operand(open_[-1])
            if operand is not None:
                open_.append(operand)
                continue
            last = open_.pop()
            if last.buffer not in self._known:
                self._known[last.buffer] = self._find(last)
        return self._known[t.buffer]

    def _unknown_operand(self, t: Tensor) -> Tensor | None:
        """The first operand that `t` is made of and that is not computed yet; none where one is not known."""
        if t.buffer in self._known or t.elements is not None or t.data is not None or t.body is None:
            return None
        if t.is_dynamic or t.buffer.size > MOST_ELEMENTS:
            return None
        for r in t.reads:
            if not r.dtype.is_float and self._known.get(r.buffer, ()) is None:
                return None
            if not r.dtype.is_float and r.buffer not in self._known:
                return r
        return None

    def _find(self, t: Tensor) -> tuple[Element, ...] | None:
        if t.elements is not None:
            return _as_dtype(t.elements, t.dtype)
        if t.is_dynamic or t.buffer.size > MOST_ELEMENTS:
            return None
        if t.data is not None:
            if t.dtype.is_float:
                return _all_known([of_float(float(v)) for v in t.data.reshape(-1)])
            return _as_dtype(tuple(int(v) for v in t.data.reshape(-1)), t.dtype)
        if t.body is None:
            known = t.bounds.elements if t.dtype.is_float and t.bounds is not None else None
            return None if known is None else _all_known(known)
        operands: dict[Buffer, tuple[tuple[int, ...], tuple[Element, ...]]] = {}
        for r in t.reads:
            elements = exact_floats(r) if r.dtype.is_float else self.of(r)
            if elements is None:
                return None
            operands[r.buffer] = r.extents, elements
        values = []
        for at in product(*map(range, t.extents)):
            value = element_value(t.body, dict(zip(t.axes, at, strict=True)), operands)
            if value is None:
                return None
            values.append(value)
        return tuple(values)


def _all_known(elements: Sequence[Size | None]) -> tuple[Size, ...] | None:
    known = tuple(e for e in elements if e is not None)
    return known if len(known) == len(elements) else None


def _as_dtype(elements: tuple[Size, ...], dtype: DType) -> tuple[Element, ...]:
    """Numbers as bools where they are."""
    return tuple(bool(e) if dtype == BOOL and isinstance(e, int) else e for e in elements)


Operands = Mapping[Buffer, tuple[tuple[int, ...], Sequence[Element | None] | None]]
"""The extents of what a body reads, and its elements where they are known."""


def element_value(e: Expr, env: Mapping[Var, int], operands: Operands) -> Element | None:
    """The value of an expression where loop variables are numbers; None where it is no size."""
    match e:
        case Const(value, _):
            return of_float(value) if isinstance(value, float) else value
        case Scalar():
            return e
        case Var():
            return env[e]
        case Reduce(op, axes, value, init):
            if any(v.length is not None for v in axes) or prod(v.extent for v in axes) > MOST_ELEMENTS:
                return None
            parts: list[Element | None] = [element_value(init, env, operands)]
            for at in product(*(range(v.extent) for v in axes)):
                parts.append(element_value(value, {**env, **dict(zip(axes, at, strict=True))}, operands))
            return fold(lambda a, b: _combine(COMBINE[op], a, b), parts)
        case Load(buffer, indices, guard):
            inside = True if guard is None else element_value(guard, env, operands)
            if inside is False:
                return 0
            extents, elements = operands[buffer]
            flat = 0
            for index, extent in zip(indices, extents, strict=True):
                i = element_value(index, env, operands)
                if not isinstance(i, int):
                    return None
                flat = flat * extent + i
            return elements[flat] if inside is True and elements is not None else None
        case Cast(dtype, a):
            element = element_value(a, env, operands)
            if element is None or isinstance(element, bool) or dtype == BOOL:
                return int(element) if isinstance(element, bool) and dtype != BOOL else _is_true(element)
            return converted(dtype, element, a.dtype)
        case Unary(op, a) if a.dtype.is_float:
            element = element_value(a, env, operands)
            return None if element is None or isinstance(element, bool) else rounded(op, element, a.dtype)
        case Unary("neg", a):
            return _combine("-", 0, element_value(a, env, operands))
        case Unary("not", a) if e.dtype.name == "bool":
            truth = element_value(a, env, operands)
            return not truth if isinstance(truth, bool) else None
        case Binary(op, a, b) if a.dtype.is_float:
            x, y = element_value(a, env, operands), element_value(b, env, operands)
            if x is None or y is None or isinstance(x, bool) or isinstance(y, bool):
                return None
            return combined(op, x, y, a.dtype)
        case Binary("/", a, b):
            return _quotient(element_value(a, env, operands), element_value(b, env, operands))
        case Binary(op, a, b):
            return _combine(op, element_value(a, env, operands), element_value(b, env, operands))
        case Select(cond, a, b):
            chosen, then, otherwise = (element_value(x, env, operands) for x in (cond, a, b))
            if isinstance(chosen, bool):
                return then if chosen else otherwise
            return then if then is not None and then == otherwise else None
    return None


def _combine(op: str, a: Element | None, b: Element | None) -> Element | None:
    if a is None or b is None:
        return None
    if isinstance(a, bool) and isinstance(b, bool) and op in ("and", "or", "xor", "==", "!="):
        return {"and": a and b, "or": a or b, "xor": a != b, "==": a == b, "!=": a != b}[op]
    if op in ("<", "<=", "==", "!="):
        return decide(op, number(a), number(b))
    if op in ("//", "%") and isinstance(b, int) and b <= 0:
        return None
    apply = _ARITHMETIC.get(op)
    return None if apply is None else apply(a, b)


_ARITHMETIC: Mapping[str, Callable[[Size, Size], Size]] = {
    "+": lambda a, b: size(a + b),
    "-": lambda a, b: size(a - b),
    "*": lambda a, b: size(a * b),
    "//": divided,
    "%": lambda a, b: a % b if isinstance(a, int) and isinstance(b, int) else size(number(a) % b),
    "max": larger,
    "min": smaller,
}


def _is_true(element: Element | None) -> bool | None:
    """An element as a bool; None where that differs."""
    if element is None or isinstance(element, bool):
        return element
    zero = is_zero(element)
    return None if zero is None else not zero


def _quotient(a: Element | None, b: Element | None) -> Element | None:
    """The quotient of integers that are not negative, which truncates."""
    if a is None or b is None or not decide("<=", number(0), number(a)) or not decide("<", number(0), number(b)):
        return None
    return _combine("//", a, b)
