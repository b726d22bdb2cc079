"""Scan, as a loop whose body takes a slice of each scanned input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import helper

from ...dtypes import I64
from ...errors import UnsupportedError
from ...graph.ir import Value
from ...ir.sizes import Size, counter_of
from .import_nodes import Frame, Import
from .items import Item, Items, tensors


def import_scan(build: Import, node: onnx.NodeProto, name: str, inputs: Items, frame: Frame) -> Items:
    """Before opset 9 each element of a batch is scanned by itself."""
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    if build.opset >= 9:
        return _scan_one(build, attributes, name, [v for v in tensors(name, inputs) if v is not None], frame)
    lengths, *operands = tensors(name, inputs)
    batched = [v for v in operands if v is not None]
    inner = build.inside(frame, name)
    index = _counter(build, name, batched[0].shape[0], inner)
    own = [build.add("Gather", "element", [v, index], inner, {"axis": 0}) for v in batched]
    length = None if lengths is None else build.add("Gather", "length", [lengths, index], inner, {"axis": 0})
    directions = attributes.pop("directions", None)
    if directions:
        attributes["scan_input_directions"] = directions
    results = _scan_one(build, attributes, f"{name}.scan", own, inner, length)
    values = [v for v in results if v is not None]
    if len(values) < len(results):
        return results
    return _stacked(build, name, batched[0], 0, inner, values, frame)


def _scan_one(
    build: Import,
    attributes: Mapping[str, object],
    name: str,
    inputs: Sequence[Value],
    frame: Frame,
    length: Value | None = None,
) -> list[Value | None]:
    """The final states and the stacked rows. Of iterations from `length` on the states are those before, the rows zero;
    a scan backwards begins with the last one before that."""
    body = attributes["body"]
    assert isinstance(body, onnx.GraphProto)
    scanned = int(str(attributes["num_scan_inputs"]))
    states, slices = inputs[: len(inputs) - scanned], inputs[len(inputs) - scanned :]
    rows = len(body.output) - len(states)

    def per(key: str, number: int) -> list[int]:
        value = attributes.get(key)
        numbers = [int(n) for n in value] if isinstance(value, Sequence) and value else [0] * number
        if len(numbers) != number:
            raise _invalid(name, f"attribute {key} has {len(numbers)} numbers where {number} are expected")
        return numbers

    if not 0 < scanned <= len(inputs) or len(body.input) != len(inputs) or rows < 0:
        raise _invalid(name, f"num_scan_inputs={scanned} does not fit its inputs and its body")
    axes = [_axis(name, a, len(v.shape)) for a, v in zip(per("scan_input_axes", scanned), slices, strict=True)]
    inner = build.inside(frame, name)
    trips = slices[0].shape[axes[0]]
    index = _counter(build, name, trips, inner)
    arguments: dict[str, Item | None] = {}
    for v, declared in zip(states, body.input, strict=False):
        arguments[declared.name] = inner.builder.input(build.fresh(declared.name), v.shape, v.dtype)
    for v, declared, axis, backward in zip(
        slices, body.input[len(states) :], axes, per("scan_input_directions", scanned), strict=True
    ):
        at = index
        if backward:
            end = _length(build, v, axis, inner) if length is None else length
            last = build.add("Sub", "last", [end, build.integers(1, inner)], inner)
            at = build.add("Sub", "backward", [last, index], inner)
            if length is not None:  # where the scan is over, any element does
                at = build.add("Max", "element", [at, build.integers(0, inner)], inner)
        slice_of = _none if trips == 0 else _slice
        arguments[declared.name] = slice_of(build, v, at, axis, inner)
    outputs = tensors(name, build.subgraph(body, arguments, inner))
    values = [v for v in outputs if v is not None]
    if len(values) < len(outputs):
        return outputs
    if length is not None:
        goes_on = build.add("Less", "goes_on", [index, length], inner)
        before = [arguments[declared.name] for declared in body.input[: len(states)]]
        ended = [*before, *(_zero(build, v, inner) for v in values[len(states) :])]
        values = [
            build.add("Where", v.name, [goes_on, v, e], inner)
            for v, e in zip(values, tensors(name, ended), strict=True)
        ]
    results = _stacked(build, name, slices[0], axes[0], inner, values, frame, states)
    finals, stacks = results[: len(states)], results[len(states) :]
    for i, (backward, axis) in enumerate(
        zip(per("scan_output_directions", rows), per("scan_output_axes", rows), strict=True)
    ):
        whole = stacks[i]
        if backward:
            ends = [build.integers([n], frame) for n in (-1, -(2**31), 0, -1)]
            whole = build.add("Slice", "reversed", [whole, *ends], frame)
        place = _axis(name, axis, len(whole.shape))
        if place:
            order = list(range(1, len(whole.shape)))
            order.insert(place, 0)
            whole = build.add("Transpose", "moved", [whole], frame, {"perm": tuple(order)})
        stacks[i] = whole
    return [*finals, *stacks]


def _slice(build: Import, v: Value, at: Value, axis: int, frame: Frame) -> Value:
    return build.add("Gather", "slice", [v, at], frame, {"axis": axis})


def _none(build: Import, v: Value, _: Value, axis: int, frame: Frame) -> Value:
    """Zeros of the shape of a slice, where there is none."""
    rest = build.integers([a for a in range(len(v.shape)) if a != axis], frame)
    shape = build.add("Gather", "shape", [build.add("Shape", "shape", [v], frame), rest], frame, {"axis": 0})
    zero = frame.builder.constant(build.fresh("zero"), np.zeros((), v.dtype.numpy))
    return build.add("Expand", "slice", [zero, shape], frame)


def _axis(name: str, axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise _invalid(name, f"axis {axis} does not exist in a tensor of rank {rank}")
    return axis % rank


def _invalid(name: str, reason: str) -> UnsupportedError:
    return UnsupportedError(f"Scan (node {name!r}): {reason}; the model is invalid")


def _stacked(
    build: Import,
    name: str,
    scanned: Value,
    axis: int,
    inner: Frame,
    values: Sequence[Value],
    frame: Frame,
    states: Sequence[Value] = (),
) -> list[Value]:
    """The loop over a dimension of `scanned`, with `inner` as its body: the states, and all rows."""
    region = inner.builder.build(values)
    operands = [_length(build, scanned, axis, frame), None, *states]
    outputs = [build.fresh(f"{name}.output{i}") for i in range(len(values))]
    return [v for v in frame.builder.node("Loop", name, operands, {}, outputs, build.opset, "", (region,)) if v]


def _counter(build: Import, name: str, trips: Size, inner: Frame) -> Value:
    """The iteration of a loop, as an input of its body."""
    counter = counter_of(f"{name}.iteration", trips)
    return inner.builder.input(build.fresh(f"{name}.iteration"), (), I64, (counter,))


def _length(build: Import, v: Value, axis: int, frame: Frame) -> Value:
    """The size of a dimension, as a value."""
    n = v.shape[axis]
    if isinstance(n, int):
        return build.integers(n, frame)
    shape = build.add("Shape", "shape", [v], frame)
    return build.add("Gather", "length", [shape, build.integers(axis, frame)], frame, {"axis": 0})


def _zero(build: Import, like: Value, frame: Frame) -> Value:
    return frame.builder.constant(build.fresh("zero"), np.zeros((), like.dtype.numpy))
