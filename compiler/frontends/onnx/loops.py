"""Loop: as a node with a region, or iteration by iteration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import onnx

from ...dtypes import BOOL, I64, DType
from ...errors import InputError, UnsupportedError
from ...graph.ir import Value
from ...ir.facts import range_of
from ...ir.nodes import Scalar
from ...ir.sizes import Size, counter_of, equal, number, product, scalars_of, shown, size
from ...text.escape import shell_word
from .growing_sequences import stack_sequences
from .import_nodes import Frame, Import
from .items import Items, Listed, Stacked, tensors
from .problems import Problems

ENDLESS = 2**31 - 1
"""Iterations of a loop that only a condition ends."""

MOST_UNROLLED = 10_000
"""Nodes that a loop may become whose iterations are added one by one."""

MOST_TRIES = 8
"""How often a body is imported to find how what it carries grows: each time values may grow with those found before."""

Shapes = Sequence[tuple[Size, ...]]


def import_loop(build: Import, node: onnx.NodeProto, name: str, inputs: Items, frame: Frame) -> Items:
    """As a node with a region. Where what one iteration passes to the next changes its shape, or is no tensor: one
    iteration after the other, if their number is known and small, else by shapes that grow, or by rows in place of
    sequences."""
    (body,) = (a.g for a in node.attribute if a.name == "body")
    first, second, *starts = [*inputs, None, None][: max(2, len(inputs))]
    trips, condition = tensors(name, [first, second])
    check_one_element(f"Loop (node {name!r}): its number of iterations", trips, I64)
    check_one_element(f"Loop (node {name!r}): its condition", condition, BOOL)
    constant = np.asarray(True) if condition is None else frame.builder.constant_of(condition)
    most = _trip_count(trips, frame)
    if most == ENDLESS:  # as exporters write it for a loop that its condition ends
        trips = most = None
    if constant is not None and not constant.item():
        most = 0
    counter = counter_of(f"{name}.iteration", ENDLESS if most is None else most)
    start = None if constant is not None else condition
    loop = _Loop(build, body, name, tuple(node.output), trips, most, counter, start, starts, frame)
    ways = [loop.as_region]
    if constant is not None and isinstance(most, int) and most * max(len(body.node), 1) <= MOST_UNROLLED:
        ways.append(loop.unrolled)
    problems: Problems | None = None
    for way in (*ways, loop.with_growth, loop.with_rows):
        with build.attempt(frame) as attempt:
            items = way()
            if items is None:
                attempt.drop()
        if attempt.is_good and items is not None:
            return items
        # Those of an iteration written out are of no use to the reader.
        if problems is None or (attempt.problems and way != loop.unrolled):
            problems = attempt.problems
    assert problems is not None
    build.report(problems)
    return [None] * len(node.output)


@dataclass(frozen=True, slots=True)
class _Region:
    """The body of a loop with a `condition` before its first iteration, if it has one: `results` are the condition
    after an iteration, what is carried on, and the rows."""

    frame: Frame
    carried: Sequence[Value]
    results: Sequence[Value]
    condition: Value | None

    @property
    def following(self) -> Sequence[Value]:
        """The carried values after an iteration."""
        first = 0 if self.condition is None else 1
        return self.results[first : first + len(self.carried)]


@dataclass(frozen=True, slots=True)
class _Loop:
    """`most` is the number of iterations, where it is known as a size; `condition` is that before the first one, None
    where it is true."""

    build: Import
    body: onnx.GraphProto
    name: str
    outputs: Sequence[str]
    trips: Value | None
    most: Size | None
    counter: Scalar
    condition: Value | None
    starts: Items
    frame: Frame

    def as_region(self) -> Items | None:
        own = [v for v in tensors(self.name, self.starts) if v is not None]
        region = self._region(own, [v.shape for v in own])
        return None if region is None else self._node(own, region)

    def with_growth(self) -> Items | None:
        """Imports a loop in which each iteration adds as many elements to a carried tensor: its shape goes by the
        counter, and is found by importing the body with the shapes of its previous results. None where nothing
        grows."""
        own = [v for v in tensors(self.name, self.starts) if v is not None]
        shapes: Shapes = [v.shape for v in own]
        if self.counter.extent == 1:  # nothing goes by a counter that is always 0
            return replace(self, counter=replace(self.counter, extent=2)).with_growth()
        for tried in range(MOST_TRIES):
            region, grown, final = None, [], False
            with self.build.attempt(self.frame) as attempt:
                region = self._region(own, shapes)
                if region is not None:
                    pairs = zip(own, region.carried, region.following, strict=True)
                    grown = [_grown(*each, self.counter) for each in pairs]
                    final = all(a is not None and _same(a, b) for a, b in zip(grown, shapes, strict=True))
                if not final or not tried:
                    attempt.drop()
            if region is None or attempt.problems:
                self.build.report(attempt.problems)
                return None
            if final:
                return self._node(own, region) if tried else None
            if any(shape is None for shape in grown):
                return None
            if self.most is None:
                raise _unbounded(self.build, self.name, self.trips)
            shapes = [shape for shape in grown if shape is not None]
        return None

    def with_rows(self) -> Items | None:
        """Imports a loop in which each iteration appends to sequences; None where it does something else with one, or
        with none."""
        sequences = [k for k, item in enumerate(self.starts) if isinstance(item, Listed)]
        rows = stack_sequences(self.body, sequences) if sequences else None
        if rows is None:
            return None
        build, frame = self.build, self.frame
        kept = [k for k in range(len(self.starts)) if k not in sequences]
        others = [*kept, *range(len(self.starts), len(self.body.output) - 1)]
        outputs = [*(self.outputs[k] for k in others), *(build.fresh(f"{self.name}.rows") for _ in sequences)]
        items = replace(self, body=rows, outputs=outputs, starts=[self.starts[k] for k in kept]).as_region()
        if items is None:
            return None
        results = dict(zip([*others, *sequences], items, strict=True))
        for k in sequences:
            start, stacked = self.starts[k], results[k]
            if isinstance(start, Listed) and isinstance(stacked, Value):
                first = [build.add("Unsqueeze", "row", [v, build.integers([0], frame)], frame) for v in start.items]
                whole = build.add("Concat", "rows", [*first, stacked], frame, {"axis": 0}) if first else stacked
                results[k] = Stacked(whole)
        return [results[k] for k in range(len(self.outputs))]

    def unrolled(self) -> Items | None:
        """The iterations one by one; None where a condition is not known, or a value that is carried could not be
        made."""
        assert isinstance(self.most, int)
        build, body, frame = self.build, self.body, self.frame
        names = [v.name for v in body.input]
        carried = self.starts
        rows: list[list[Value]] = [[] for _ in range(len(body.output) - 1 - len(self.starts))]
        for i in range(self.most):
            iteration = frame.builder.constant(build.fresh("iteration"), np.full(_shape(body.input[0]), i, np.int64))
            running = frame.builder.constant(build.fresh("condition"), np.ones(_shape(body.input[1]), np.bool_))
            arguments = dict(zip(names, [iteration, running, *carried], strict=True))
            following, *others = build.subgraph(body, arguments, frame)
            if any(v is None for v in others):
                return None
            carried = others[: len(self.starts)]
            for row, slices in zip(others[len(self.starts) :], rows, strict=True):
                assert isinstance(row, Value)
                slices.append(build.add("Unsqueeze", "row", [row, build.integers([0], frame)], frame))
            constant = frame.builder.constant_of(following) if isinstance(following, Value) else None
            if constant is None:
                return None
            if not constant.item():
                break
        if not all(rows):
            return None if rows else carried
        stacked = [build.add("Concat", "rows", slices, frame, {"axis": 0}) for slices in rows]
        return [*carried, *stacked]

    @property
    def _always(self) -> bool:
        """Whether nothing but the number of iterations ends it. Raises UnsupportedError where nothing does."""
        if self.most == 0:
            return True
        if self.condition is not None or not _passes_on_its_condition(self.body):
            return False
        if self.most is None and self.trips is None:
            raise UnsupportedError(f"Loop (node {self.name!r}): nothing ends it; the model is invalid")
        return self.most is not None

    def _region(self, own: Sequence[Value], shapes: Shapes) -> _Region | None:
        """The body, where what it carries has these shapes; None where a result could not be made."""
        build, body, name = self.build, self.body, self.name
        always = self._always
        if self.most is None and len(body.output) > 1 + len(own):
            raise _unbounded(build, name, self.trips)
        inner = build.inside(self.frame, name)
        iteration = inner.builder.input(build.fresh(f"{name}.iteration"), _shape(body.input[0]), I64, (self.counter,))
        condition = None if always else self._first_condition()
        if condition is None:
            running = inner.builder.constant(build.fresh(f"{name}.condition"), np.ones(_shape(body.input[1]), np.bool_))
        else:
            running = inner.builder.input(build.fresh(f"{name}.condition"), condition.shape, BOOL)
        carried = [
            inner.builder.input(build.fresh(declared.name), shape, v.dtype)
            for v, shape, declared in zip(own, shapes, body.input[2:], strict=True)
        ]
        arguments = dict(zip((v.name for v in body.input), [iteration, running, *carried], strict=True))
        values = tensors(name, build.subgraph(body, arguments, inner))
        if any(v is None for v in values):
            return None
        following, *others = (v for v in values if v is not None)
        check_one_element(f"Loop (node {name!r}): the condition after an iteration", following, BOOL)
        if not always and self.most is None and self.trips is not None:
            # The number of iterations, which is not known at build, is one more condition.
            after = build.add("Add", f"{name}.after", [iteration, build.integers(1, inner)], inner)
            more = build.add("Less", f"{name}.more", [after, self.trips], inner)
            following = build.add("And", f"{name}.condition", [following, more], inner)
        return _Region(inner, carried, others if always else [following, *others], condition)

    def _first_condition(self) -> Value:
        """The condition before the first iteration."""
        build, name, frame, condition = self.build, self.name, self.frame, self.condition
        if condition is None:
            true = np.ones(_shape(self.body.input[1]), np.bool_)
            condition = frame.builder.constant(build.fresh(f"{name}.condition"), true)
        if self.most is None and self.trips is not None:
            started = build.add("Less", f"{name}.started", [build.integers(0, frame), self.trips], frame)
            condition = build.add("And", f"{name}.condition", [condition, started], frame)
        return condition

    def _node(self, own: Sequence[Value], region: _Region) -> Items:
        trips = self.trips if self.most is not None and not isinstance(self.most, int) else None
        if isinstance(self.most, int):
            trips = self.build.integers(self.most, self.frame)
        operands = [trips, region.condition, *own]
        graph = region.frame.builder.build(region.results)
        return self.build.add_node("Loop", self.name, operands, self.outputs, self.frame, (graph,))


def _grown(start: Value, inside: Value, following: Value, counter: Scalar) -> tuple[Size, ...] | None:
    """The shape before each iteration, where all add as many elements as this one does; None where they do not."""
    if len(start.shape) != len(following.shape) or start.dtype != following.dtype:
        return None
    shape: list[Size] = []
    for n, a, b in zip(start.shape, inside.shape, following.shape, strict=True):
        step = _grows_by(a, b, counter)
        if step is None:
            return None
        shape.append(n if step == 0 else size(n + counter * number(step)))
    return tuple(shape)


def _grows_by(a: Size, b: Size, counter: Scalar) -> Size | None:
    """How much larger `b` is; None where it may be smaller, or it is not as much in each iteration."""
    if equal(a, b):
        return 0
    step = number(b) - a
    is_fixed = all(not s.computed and s is not counter for s in scalars_of(number(size(step))))
    return size(step) if is_fixed and (range_of(step) or (-1,))[0] >= 0 else None


def _same(a: Sequence[Size], b: Sequence[Size]) -> bool:
    return all(map(equal, a, b))


def check_one_element(what: str, value: Value | None, dtype: DType) -> None:
    """Raises InputError unless `value`, where it is there, is one element of `dtype`. A shape that varies passes: some
    run has one."""
    if value is not None and (value.dtype != dtype or equal(product(value.shape), 1) is False):
        raise InputError(
            f"{what} {value.name!r} is {value.dtype}{shown(value.shape)}, where one element of {dtype} is expected; "
            "the model is invalid: export it again"
        )


def _trip_count(trips: Value | None, frame: Frame) -> Size | None:
    """None where it is not known at build."""
    if trips is None:
        return None
    constant = frame.builder.constant_of(trips)
    if constant is not None:
        return min(max(int(constant.item()), 0), ENDLESS)
    return None if trips.elements is None else trips.elements[0]


def _unbounded(build: Import, name: str, trips: Value | None) -> UnsupportedError:
    if trips is None:
        return UnsupportedError(
            f"Loop (node {name!r}): nothing but its condition bounds the number of its iterations, and with it the "
            "size of its outputs: in the model, give it a number of iterations (input 0) that is never exceeded"
        )
    flag = f"--dim {shell_word(trips.name)}=0..MOST" if build.is_input(trips) else "--fix NAME=VALUE"
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
    constants = [t for t in body.initializer if t.name == name]
    if name in makers and makers[name].op_type == "Constant" and not makers[name].domain:
        constants += [a.t for a in makers[name].attribute if a.name == "value"]
    return any(bool(onnx.numpy_helper.to_array(t).all()) for t in constants)


def _shape(value: onnx.ValueInfoProto) -> tuple[int, ...]:
    """The shape of a subgraph's input that has one element."""
    return (1,) * len(value.type.tensor_type.shape.dim)
