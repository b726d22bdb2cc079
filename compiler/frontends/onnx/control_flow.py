"""If, Loop and Scan: nodes with subgraphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper

from ...dtypes import BOOL, I64
from ...errors import UnsupportedError
from ...graph.ir import Graph, Value
from ...ir.sizes import Size, counter_of
from .growing_sequences import stack_sequences
from .sequences import Item, Listed, Stacked

if TYPE_CHECKING:
    from .build_graph import Frame, Import

Items = Sequence[Item | None]
Importer = Callable[["Import", onnx.NodeProto, str, Items, "Frame"], Items]

ENDLESS = 2**31 - 1
"""Iterations of a loop that only a condition ends."""

MOST_UNROLLED = 10_000
"""Nodes that a loop may become whose iterations are added one by one."""


def _if(build: Import, node: onnx.NodeProto, name: str, inputs: Items, frame: Frame) -> Items:
    """Where the condition is known, the outputs of the branch that it takes."""
    (condition,) = _tensors(name, inputs)
    assert condition is not None
    graphs = {a.name: a.g for a in node.attribute}
    known = frame.builder.constant_of(condition)
    if known is not None:
        return build.subgraph(graphs["then_branch" if known.item() else "else_branch"], {}, frame)
    regions = []
    for side in ("then_branch", "else_branch"):
        inner = build.inside(frame, f"{name}.{side}")
        outputs = build.subgraph(graphs[side], {}, inner)
        made = _tensors(name, outputs)
        if any(v is None for v in made):
            return [None] * len(outputs)
        regions.append(inner.builder.build([v for v in made if v is not None]))
    return build.add_node("If", name, [condition], node.output, frame, tuple(regions))


def _loop(build: Import, node: onnx.NodeProto, name: str, inputs: Items, frame: Frame) -> Items:
    """As a node with a region, or iteration by iteration where the number of these is known and what one passes to the
    next changes its shape, or is no tensor."""
    (body,) = (a.g for a in node.attribute if a.name == "body")
    first, second, *starts = [*inputs, None, None][: max(2, len(inputs))]
    trips, condition = _tensors(name, [first, second])
    known = np.asarray(True) if condition is None else frame.builder.constant_of(condition)
    most = _trip_count(trips, frame)
    if known is not None and not known.item():
        most = 0
    with build.attempt() as problems:
        limits = (trips, most, None if known is not None else condition)
        made = _as_region(build, body, name, node, limits, starts, frame)
    if not problems:
        return made
    nodes = len(body.node)
    if known is not None and isinstance(most, int) and most * max(nodes, 1) <= MOST_UNROLLED:
        with build.attempt() as others:
            unrolled = _unrolled(build, body, most, starts, frame)
        if not others and unrolled is not None:
            return unrolled
    with build.attempt() as grown:
        stacked = _with_rows(build, body, name, node, limits, starts, frame)
    if not grown and stacked is not None:
        return stacked
    build.report(problems)
    return [None] * len(node.output)


def _as_region(
    build: Import,
    body: onnx.GraphProto,
    name: str,
    node: onnx.NodeProto,
    limits: tuple[Value | None, Size | None, Value | None],
    starts: Items,
    frame: Frame,
) -> Items:
    """`limits` are the number of iterations, where it is known as a size, too, and the condition, None where it is true
    at first."""
    trips, most, condition = limits
    stacks = len(body.output) > 1 + len(starts)
    if most is None and stacks:
        raise _unbounded(build, name, trips)
    always = condition is None and _passes_on_its_condition(body) and (most is not None or trips is None)
    always = always or most == 0
    if always and most is None:
        raise UnsupportedError(f"Loop (node {name!r}): nothing ends it; the model is invalid")
    counter = counter_of(f"{name}.iteration", ENDLESS if most is None else most)
    inner = build.inside(frame, name)
    iteration = inner.builder.input(build.fresh(f"{name}.iteration"), _shape(body.input[0]), I64, (counter,))
    true = np.ones(_shape(body.input[1]), np.bool_)
    if always:
        running = inner.builder.constant(build.fresh(f"{name}.condition"), true)
    else:
        if condition is None:
            condition = frame.builder.constant(build.fresh(f"{name}.condition"), true)
        if most is None and trips is not None:
            started = build.add("Less", f"{name}.started", [_int64(build, 0, frame), trips], frame)
            condition = build.add("And", f"{name}.condition", [condition, started], frame)
        running = inner.builder.input(build.fresh(f"{name}.condition"), condition.shape, BOOL)
    carried: list[Value] = []
    own = _tensors(name, starts)
    for v, declared in zip(own, body.input[2:], strict=True):
        assert v is not None
        carried.append(inner.builder.input(build.fresh(declared.name), v.shape, v.dtype))
    names = [v.name for v in body.input]
    outputs = build.subgraph(body, dict(zip(names, [iteration, running, *carried], strict=True)), inner)
    made = _tensors(name, outputs)
    if any(v is None for v in made):
        return [None] * len(node.output)
    following, *others = (v for v in made if v is not None)
    if not always and most is None and trips is not None:
        # The number of iterations, which is not known at build, is one more condition.
        after = build.add("Add", f"{name}.after", [iteration, _int64(build, 1, inner)], inner)
        more = build.add("Less", f"{name}.more", [after, trips], inner)
        following = build.add("And", f"{name}.condition", [following, more], inner)
    region: Graph = inner.builder.build(others if always else [following, *others])
    given = trips if most is not None and not isinstance(most, int) else None
    if isinstance(most, int):
        given = _int64(build, most, frame)
    operands = [given, None if always else condition, *own]
    return build.add_node("Loop", name, operands, node.output, frame, (region,))


def _with_rows(
    build: Import,
    body: onnx.GraphProto,
    name: str,
    node: onnx.NodeProto,
    limits: tuple[Value | None, Size | None, Value | None],
    starts: Items,
    frame: Frame,
) -> Items | None:
    """The same where each iteration appends to sequences; None where it does something else with one, or with none."""
    sequences = [k for k, item in enumerate(starts) if isinstance(item, Listed)]
    rows = stack_sequences(body, sequences) if sequences else None
    if rows is None:
        return None
    kept = [k for k in range(len(starts)) if k not in sequences]
    loop = onnx.NodeProto(name=node.name, op_type=node.op_type)
    others = [*kept, *range(len(starts), len(body.output) - 1)]
    loop.output.extend([*(node.output[k] for k in others), *(build.fresh(f"{name}.rows") for _ in sequences)])
    made = _as_region(build, rows, name, loop, limits, [starts[k] for k in kept], frame)
    results: dict[int, Item | None] = dict(zip([*others, *sequences], made, strict=True))
    for k in sequences:
        start, stacked = starts[k], results[k]
        if isinstance(start, Listed) and isinstance(stacked, Value):
            first = [build.add("Unsqueeze", "row", [v, _ints(build, [0], frame)], frame) for v in start.items]
            whole = build.add("Concat", "rows", [*first, stacked], frame, {"axis": 0}) if first else stacked
            results[k] = Stacked(whole)
    return [results[k] for k in range(len(node.output))]


def _unrolled(build: Import, body: onnx.GraphProto, most: int, starts: Items, frame: Frame) -> Items | None:
    """The iterations one by one; None where a condition is not known, or a value that is carried could not be made."""
    names = [v.name for v in body.input]
    carried: Items = starts
    rows: list[list[Value]] = [[] for _ in range(len(body.output) - 1 - len(starts))]
    for i in range(most):
        iteration = frame.builder.constant(build.fresh("iteration"), np.full(_shape(body.input[0]), i, np.int64))
        running = frame.builder.constant(build.fresh("condition"), np.ones(_shape(body.input[1]), np.bool_))
        given = dict(zip(names, [iteration, running, *carried], strict=True))
        following, *others = build.subgraph(body, given, frame)
        if any(v is None for v in others):
            return None
        carried = others[: len(starts)]
        for row, found in zip(others[len(starts) :], rows, strict=True):
            assert isinstance(row, Value)
            found.append(build.add("Unsqueeze", "row", [row, _ints(build, [0], frame)], frame))
        known = frame.builder.constant_of(following) if isinstance(following, Value) else None
        if known is None:
            return None
        if not known.item():
            break
    if not all(rows):
        return None if rows else carried
    stacked = [build.add("Concat", "rows", found, frame, {"axis": 0}) for found in rows]
    return [*carried, *stacked]


def _tensors(name: str, items: Items) -> list[Value | None]:
    """The items. Raises UnsupportedError for a sequence, whose length a region cannot change."""
    found = [v for v in items if v is None or isinstance(v, Value)]
    if len(found) < len(items):
        raise UnsupportedError(f"node {name!r}: a sequence, or an optional, passes through it at run time")
    return found


def _trip_count(trips: Value | None, frame: Frame) -> Size | None:
    """None where it is not known at build."""
    if trips is None:
        return None
    known = frame.builder.constant_of(trips)
    if known is not None:
        return min(max(int(known.item()), 0), ENDLESS)
    return None if trips.elements is None else trips.elements[0]


def _unbounded(build: Import, name: str, trips: Value | None) -> UnsupportedError:
    flag = f"--dim {trips.name}=0..MOST" if trips is not None and build.is_input(trips) else "--fix NAME=VALUE"
    return UnsupportedError(
        f"Loop (node {name!r}): the number of its iterations is computed at run time, and with it the size of its "
        f"outputs: bound it by {flag}"
    )


def _passes_on_its_condition(body: onnx.GraphProto) -> bool:
    """Whether the condition after an iteration is that before it, or always true."""
    makers = {output: node for node in body.node for output in node.output}
    name = body.output[0].name
    while name in makers and makers[name].op_type == "Identity" and not makers[name].domain:
        name = makers[name].input[0]
    if name == body.input[1].name:
        return True
    tensors = [t for t in body.initializer if t.name == name]
    if name in makers and makers[name].op_type == "Constant" and not makers[name].domain:
        tensors += [a.t for a in makers[name].attribute if a.name == "value"]
    return any(bool(onnx.numpy_helper.to_array(t).all()) for t in tensors)


def _shape(value: onnx.ValueInfoProto) -> tuple[int, ...]:
    """Of a subgraph's input that has one element."""
    return (1,) * len(value.type.tensor_type.shape.dim)


def _scan(build: Import, node: onnx.NodeProto, name: str, inputs: Items, frame: Frame) -> Items:
    """A loop whose body takes a slice of each scanned input. Before opset 9 each element of a batch is scanned by
    itself."""
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    if build.opset >= 9:
        return _scan_one(build, attributes, name, [v for v in _tensors(name, inputs) if v is not None], frame)
    lengths, *operands = _tensors(name, inputs)
    batched = [v for v in operands if v is not None]
    inner = build.inside(frame, name)
    index = _counter(build, name, batched[0].shape[0], inner)
    own = [build.add("Gather", "element", [v, index], inner, {"axis": 0}) for v in batched]
    length = None if lengths is None else build.add("Gather", "length", [lengths, index], inner, {"axis": 0})
    directions = attributes.pop("directions", None)
    if directions:
        attributes["scan_input_directions"] = directions
    results = _scan_one(build, attributes, f"{name}.scan", own, inner, length)
    made = [v for v in results if v is not None]
    if len(made) < len(results):
        return results
    return _stacked(build, name, batched[0], 0, inner, made, frame)


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
        given = attributes.get(key)
        found = [int(n) for n in given] if isinstance(given, Sequence) and given else [0] * number
        if len(found) != number:
            raise _invalid(name, f"attribute {key} has {len(found)} numbers where {number} are expected")
        return found

    if not 0 < scanned <= len(inputs) or len(body.input) != len(inputs) or rows < 0:
        raise _invalid(name, f"num_scan_inputs={scanned} does not fit its inputs and its body")
    axes = [_axis(name, a, len(v.shape)) for a, v in zip(per("scan_input_axes", scanned), slices, strict=True)]
    inner = build.inside(frame, name)
    trips = slices[0].shape[axes[0]]
    index = _counter(build, name, trips, inner)
    given: dict[str, Item | None] = {}
    for v, declared in zip(states, body.input, strict=False):
        given[declared.name] = inner.builder.input(build.fresh(declared.name), v.shape, v.dtype)
    for v, declared, axis, backward in zip(
        slices, body.input[len(states) :], axes, per("scan_input_directions", scanned), strict=True
    ):
        at = index
        if backward:
            end = _length(build, v, axis, inner) if length is None else length
            last = build.add("Sub", "last", [end, _int64(build, 1, inner)], inner)
            at = build.add("Sub", "backward", [last, index], inner)
            if length is not None:  # where the scan is over, any element does
                at = build.add("Max", "element", [at, _int64(build, 0, inner)], inner)
        slice_of = _none if trips == 0 else _slice
        given[declared.name] = slice_of(build, v, at, axis, inner)
    outputs = _tensors(name, build.subgraph(body, given, inner))
    made = [v for v in outputs if v is not None]
    if len(made) < len(outputs):
        return outputs
    if length is not None:
        goes_on = build.add("Less", "goes_on", [index, length], inner)
        before = [given[declared.name] for declared in body.input[: len(states)]]
        ended = [*before, *(_zero(build, v, inner) for v in made[len(states) :])]
        made = [
            build.add("Where", v.name, [goes_on, v, e], inner) for v, e in zip(made, _tensors(name, ended), strict=True)
        ]
    results = _stacked(build, name, slices[0], axes[0], inner, made, frame, states)
    finals, stacks = results[: len(states)], results[len(states) :]
    for i, (backward, axis) in enumerate(
        zip(per("scan_output_directions", rows), per("scan_output_axes", rows), strict=True)
    ):
        whole = stacks[i]
        if backward:
            ends = [_ints(build, [n], frame) for n in (-1, -(2**31), 0, -1)]
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
    """What has the shape of a slice, where there is none."""
    rest = _ints(build, [a for a in range(len(v.shape)) if a != axis], frame)
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
    made: Sequence[Value],
    frame: Frame,
    states: Sequence[Value] = (),
) -> list[Value]:
    """The loop over a dimension of `scanned`, with `inner` as its body: the states, and all rows."""
    region = inner.builder.build(made)
    operands = [_length(build, scanned, axis, frame), None, *states]
    outputs = [build.fresh(f"{name}.output{i}") for i in range(len(made))]
    return [v for v in frame.builder.node("Loop", name, operands, {}, outputs, build.opset, "", (region,)) if v]


def _counter(build: Import, name: str, trips: Size, inner: Frame) -> Value:
    """The iteration of a loop, as an input of its body."""
    counter = counter_of(f"{name}.iteration", trips)
    return inner.builder.input(build.fresh(f"{name}.iteration"), (), I64, (counter,))


def _length(build: Import, v: Value, axis: int, frame: Frame) -> Value:
    """The size of a dimension, as a value."""
    n = v.shape[axis]
    if isinstance(n, int):
        return _int64(build, n, frame)
    shape = build.add("Shape", "shape", [v], frame)
    return build.add("Gather", "length", [shape, _int64(build, axis, frame)], frame, {"axis": 0})


def _zero(build: Import, like: Value, frame: Frame) -> Value:
    return frame.builder.constant(build.fresh("zero"), np.zeros((), like.dtype.numpy))


def _int64(build: Import, number: int, frame: Frame) -> Value:
    return frame.builder.constant(build.fresh("number"), np.asarray(number, np.int64))


def _ints(build: Import, numbers: Sequence[int], frame: Frame) -> Value:
    return frame.builder.constant(build.fresh("numbers"), np.asarray(numbers, np.int64))


CONTROL_FLOW: Mapping[str, Importer] = {"If": _if, "Loop": _loop, "Scan": _scan}
