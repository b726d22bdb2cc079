"""Operators on sequences and optionals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

import numpy as np
import onnx
from onnx import helper

from ...errors import UnsupportedError
from ...graph.ir import Value
from .import_nodes import Frame, Handler, Import
from .items import Item, Items, Listed, Nothing, Parts, Stacked

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Use:
    """One use of an operator on sequences."""

    build: Import
    node: onnx.NodeProto
    name: str
    inputs: tuple[Item | None, ...]
    frame: Frame

    def unsupported(self, reason: str) -> UnsupportedError:
        return UnsupportedError(f"{self.node.op_type} (node {self.name!r}): {reason}")

    def attribute(self, name: str, default: T) -> T:
        values = [helper.get_attribute_value(a) for a in self.node.attribute if a.name == name]
        return values[0] if values else default

    def listed(self, index: int) -> Sequence[Value]:
        """An input that is a sequence."""
        item = self.inputs[index]
        if isinstance(item, Stacked):
            raise self.unsupported(
                "how many tensors the sequence has is known at run time only: it can be read, counted and concatenated"
            )
        if not isinstance(item, Listed):
            raise self.unsupported(f"input {index} is no sequence; the model is invalid")
        return item.items

    def tensor(self, index: int) -> Value | None:
        """An input that is a tensor, if it is there."""
        item = self.inputs[index] if index < len(self.inputs) else None
        if item is not None and not isinstance(item, Value):
            raise self.unsupported(f"input {index} is no tensor; the model is invalid")
        return item

    def required(self, index: int) -> Value:
        """An input that is a tensor."""
        value = self.tensor(index)
        if value is None:
            raise self.unsupported(f"input {index} is missing; the model is invalid")
        return value

    def numbers(self, index: int) -> np.ndarray | None:
        """The elements of an input, if it is there, which have to be known at build."""
        value = self.tensor(index)
        constant = None if value is None else self.frame.builder.constant_of(value)
        if value is not None and constant is None:
            raise self.unsupported(f"its input {index} is computed at run time; fix it by --fix, or export without it")
        return constant

    def constant(self, array: np.ndarray) -> Value:
        return self.frame.builder.constant(self.build.fresh(f"{self.name}.number"), array)

    def ints(self, *numbers: int) -> Value:
        return self.constant(np.asarray(numbers, np.int64))

    def add(self, op_type: str, *inputs: Value, **attributes: int | tuple[int, ...]) -> Value:
        return self.build.add(op_type, f"{self.name}.{op_type.lower()}", list(inputs), self.frame, attributes)


def _construct(use: Use) -> Item:
    return Listed(tuple(use.required(i) for i in range(len(use.inputs))))


def _empty(_: Use) -> Item:
    return Listed(())


def _insert(use: Use) -> Item:
    items, place = use.listed(0), use.numbers(2)
    at = len(items) if place is None else _place(use, int(place.item()), len(items) + 1)
    return Listed((*items[:at], use.required(1), *items[at:]))


def _erase(use: Use) -> Item:
    items, place = use.listed(0), use.numbers(1)
    at = _place(use, -1 if place is None else int(place.item()), len(items))
    return Listed((*items[:at], *items[at + 1 :]))


def _at(use: Use) -> Item:
    """Where the place is known at run time only, the items must be of one shape."""
    whole, place = use.inputs[0], use.required(1)
    if isinstance(whole, Stacked):
        return use.add("Gather", whole.rows, place, axis=0)
    items = use.listed(0)
    constant = use.frame.builder.constant_of(place)
    if constant is not None:
        return items[_place(use, int(constant.item()), len(items))]
    if len({(v.shape, v.dtype) for v in items}) != 1:
        raise use.unsupported("the place is computed at run time, and the tensors differ in shape; fix it by --fix")
    return use.add("Gather", use.add("Concat", *_as_rows(use, items), axis=0), place, axis=0)


def _length(use: Use) -> Item:
    whole = use.inputs[0]
    if isinstance(whole, Stacked):
        return use.add("Gather", use.add("Shape", whole.rows), use.constant(np.asarray(0, np.int64)), axis=0)
    return use.constant(np.asarray(len(use.listed(0)), np.int64))


def _split(use: Use) -> Item:
    t, sizes = use.required(0), use.numbers(1)
    axis = use.attribute("axis", 0) % max(len(t.shape), 1)
    extent = t.shape[axis]
    if not isinstance(extent, int):
        raise use.unsupported(f"the size of axis {axis} is known at run time only, and with it how many there are")
    if sizes is None:
        lengths = [1] * extent
    elif sizes.ndim == 0:
        whole, rest = divmod(extent, int(sizes))
        lengths = [int(sizes)] * whole + [rest] * (rest > 0)
    else:
        lengths = [int(n) for n in sizes]
    ends = list(accumulate(lengths))
    squeezed = sizes is None and not use.attribute("keepdims", 1)

    def part(i: int) -> Value:
        part_rows = use.add("Slice", t, use.ints(ends[i] - lengths[i]), use.ints(ends[i]), use.ints(axis))
        return use.add("Squeeze", part_rows, use.ints(axis)) if squeezed else part_rows

    return Listed(Parts(len(lengths), part))


def _concat(use: Use) -> Item:
    whole, axis = use.inputs[0], use.attribute("axis", 0)
    if isinstance(whole, Stacked):
        return _joined(use, whole.rows, axis, new=bool(use.attribute("new_axis", 0)))
    items = use.listed(0)
    if not items:
        raise use.unsupported("the sequence is empty; the model is invalid")
    if use.attribute("new_axis", 0):
        axis %= len(items[0].shape) + 1
        items = tuple(use.add("Unsqueeze", v, use.ints(axis)) for v in items)
    return use.add("Concat", *items, axis=axis)


def _joined(use: Use, rows: Value, axis: int, *, new: bool) -> Value:
    """All rows along an axis of their own, or one after the other along one that they have."""
    rank = len(rows.shape) - 1
    axis %= rank + new
    moved = rows
    if axis:
        order = [*range(1, axis + 1), 0, *range(axis + 1, rank + 1)]
        moved = use.add("Transpose", rows, perm=tuple(order))
    if new:
        return moved
    shape = use.add("Shape", moved)
    before, after = (use.add("Slice", shape, use.ints(a), use.ints(b)) for a, b in ((0, axis), (axis + 2, rank + 1)))
    return use.add("Reshape", moved, use.add("Concat", before, use.ints(-1), after, axis=0))


def _as_rows(use: Use, items: Sequence[Value]) -> list[Value]:
    return [use.add("Unsqueeze", v, use.ints(0)) for v in items]


def _place(use: Use, at: int, count: int) -> int:
    if not -count <= at < count:
        raise use.unsupported(f"place {at} does not exist in a sequence of {count}; the model is invalid")
    return at % count


def _optional(use: Use) -> Item:
    return use.inputs[0] if use.inputs and use.inputs[0] is not None else Nothing()


def _has_element(use: Use) -> Item:
    has = bool(use.inputs) and use.inputs[0] is not None and not isinstance(use.inputs[0], Nothing)
    return use.constant(np.asarray(has))


def _get_element(use: Use) -> Item:
    item = use.inputs[0]
    if item is None or isinstance(item, Nothing):
        raise use.unsupported("the optional has no element; the model is invalid")
    return item


_OPERATORS: Mapping[str, Callable[[Use], Item]] = {
    "ConcatFromSequence": _concat,
    "Optional": _optional,
    "OptionalGetElement": _get_element,
    "OptionalHasElement": _has_element,
    "SequenceAt": _at,
    "SequenceConstruct": _construct,
    "SequenceEmpty": _empty,
    "SequenceErase": _erase,
    "SequenceInsert": _insert,
    "SequenceLength": _length,
    "SplitToSequence": _split,
}


def _handler(operator: Callable[[Use], Item]) -> Handler:
    def handle(build: Import, node: onnx.NodeProto, name: str, inputs: Items, frame: Frame) -> Items:
        return [operator(Use(build, node, name, tuple(inputs), frame))]

    return handle


SEQUENCES: Mapping[str, Handler] = {op_type: _handler(operator) for op_type, operator in _OPERATORS.items()}
