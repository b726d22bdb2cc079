"""Random ONNX programs: If, Loop and Scan, nested, around random graphs, whose sizes may be those of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnx_models import Array, onnxruntime_results

Shape = tuple[int, ...]
"""A size is a number whose digits to the base `BASE` count 1, N, N N, M, M N, ..., and what only a run finds out."""

BASE = 10_007
N, M, TRIPS, FOUND = BASE, BASE**3, BASE**9, BASE**12
DIMENSIONS = {"N": (2, 9), "M": (1, 3)}
MOST_TRIPS = 5
"""Of loops, but for those over a dimension."""

NOISE, STEADY = 3e-6, 2e-5
"""So much change of inputs may change results by so much."""

MOST_ELEMENTS, MOST_NESTED = 3000, 2


def span(n: int) -> tuple[int, int]:
    """The least and the most that a size may be."""

    def unit(power: int, end: int) -> int:
        of_n, of_m = (DIMENSIONS[name][end] for name in "NM")
        return (0, MOST_TRIPS)[end] if power >= 9 else of_n ** (power % 3) * of_m ** (power // 3)

    least = most = power = 0
    while n:
        digit = (n + BASE // 2) % BASE - BASE // 2
        least += digit * unit(power, int(digit < 0))
        most += digit * unit(power, int(digit > 0))
        n, power = (n - digit) // BASE, power + 1
    return least, most


def varies(n: int) -> bool:
    """Whether runs decide a size."""
    return n > BASE // 2


def is_even(n: int) -> bool:
    """Whatever the sizes are."""
    digit = (n + BASE // 2) % BASE - BASE // 2
    return n == 0 or (digit % 2 == 0 and is_even((n - digit) // BASE))


def may_be_empty(n: int) -> bool:
    return span(n)[0] <= 0


def elements(shape: Shape) -> int:
    """At most."""
    return prod(span(n)[1] for n in shape)


@dataclass
class Program:
    """What is drawn, and what all graphs of one model share."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    inputs: dict[str, tuple[Shape, Any]] = field(default_factory=dict)
    weights: dict[str, Array] = field(default_factory=dict)
    names: int = 0
    found: int = 0

    def __post_init__(self) -> None:
        self.arrays = np.random.default_rng(0)

    def pick(self, options: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(options))

    def fresh(self, stem: str = "v") -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def normal(self, *shape: int) -> Array:
        return (self.arrays.standard_normal(shape) * 0.5).astype(np.float32)

    def weight(self, data: Any, dtype: Any = None) -> str:
        name = self.fresh("w")
        self.weights[name] = np.asarray(data, dtype)
        return name

    def ints(self, *numbers: int) -> str:
        return self.weight(numbers, np.int64)

    def unknown(self) -> int:
        """A size that only a run finds out."""
        self.found += 1
        return FOUND * BASE**self.found


def reads(node: onnx.NodeProto) -> Iterator[str]:
    """Its inputs, and those of the nodes in its graphs."""
    yield from node.input
    for attribute in node.attribute:
        for inner in attribute.g.node:
            yield from reads(inner)


@dataclass
class Block:
    """A graph in the making: `floats` are the values that its nodes may read, `counters` iterations around it."""

    program: Program
    floats: dict[str, Shape]
    counters: tuple[str, ...] = ()
    depth: int = 0
    nodes: list[onnx.NodeProto] = field(default_factory=list)

    def inside(self, counters: tuple[str, ...] = ()) -> Block:
        """A graph that may read what this one may."""
        return Block(self.program, dict(self.floats), self.counters + counters, self.depth + 1)

    def value(self, fits: Callable[[Shape], bool] = lambda _: True) -> str | None:
        """One of the latest values whose shape fits."""
        fit = [n for n, shape in self.floats.items() if fits(shape)]
        return self.program.pick(fit[:-6:-1]) if fit else None

    def emit(self, op: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> list[str]:
        names = [self.program.fresh() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        return names

    def one(self, op: str, *inputs: str, **attributes: Any) -> str:
        return self.emit(op, inputs, **attributes)[0]

    def add(self, shape: Shape, op: str, *inputs: str, **attributes: Any) -> str:
        """A float value of this shape."""
        name = self.one(op, *inputs, **attributes)
        self.floats[name] = shape
        return name

    def mean(self, name: str) -> str:
        """A number that depends on all of a value, which may be empty."""
        share = self.program.weight(1 / max(elements(self.floats[name]), 1), np.float32)
        return self.one("Tanh", self.one("Mul", self.one("ReduceSum", name, keepdims=0), share))

    def like(self, shape: Shape) -> str:
        """A value of this shape: a late one, or one that is made of another."""
        found = self.value(lambda s: s == shape)
        if found is not None and self.program.draw(st.booleans()):
            return found
        fixed = tuple(1 if varies(n) else n for n in shape)
        name = self.one("Add", self.mean(self.value() or ""), self.program.weight(self.program.normal(*fixed)))
        if fixed != shape:
            source = self.value(lambda s: s == shape)
            assert source is not None
            name = self.one("Add", name, self.one("Sigmoid", source))
        self.floats[name] = shape
        return name

    def condition(self) -> str:
        """A bool of the run: of data, of an iteration or of an input."""
        p = self.program
        kind = p.pick(["data", "input", *(["counter"] if self.counters else []), "constant"])
        if kind == "constant":
            return p.weight(p.draw(st.booleans()))
        if kind == "input":
            name = p.fresh("c")
            p.inputs[name] = ((), np.bool_)
            return name
        if kind == "counter":
            number: str = p.pick(self.counters)
            return self.one("Less", self.one("Mod", number, p.weight(3, np.int64)), p.weight(2, np.int64))
        limit = p.weight(p.pick([0.123, -0.456, 0.9]), np.float32)
        return self.one("Less", self.mean(self.value() or ""), limit)

    def unread(self, outputs: Sequence[str]) -> list[str]:
        """Values of its own that are neither read nor among the outputs."""
        read = {*outputs, *(n for node in self.nodes for n in reads(node))}
        return [n for node in self.nodes for n in node.output if n in self.floats and n not in read]

    def graph(
        self, name: str, inputs: Sequence[onnx.ValueInfoProto], others: Sequence[str], outputs: Sequence[str]
    ) -> onnx.GraphProto:
        """What it is as a subgraph, with `others` as its first outputs. Those are values of its own, and the first of
        `outputs` depends on all that is computed."""
        shapes = [self.floats[n] for n in outputs]
        first = outputs[0]
        for n in self.unread(outputs):
            first = self.one("Add", first, self.mean(n))
        outputs = [*others, first, *outputs[1:]]
        own = {n for node in self.nodes for n in node.output}
        results = [n if n in own and outputs.count(n) == 1 else self.one("Identity", n) for n in outputs]
        types = [helper.make_empty_tensor_value_info(n) for n in results[: len(others)]]
        types += [declared(n, shape) for n, shape in zip(results[len(others) :], shapes, strict=True)]
        return helper.make_graph(self.nodes, name, inputs, types)


def declared(name: str, shape: Shape, dtype: Any = np.float32, names: Sequence[str] = ()) -> onnx.ValueInfoProto:
    """Sizes that vary have names, or none."""
    dims = [None if varies(n) else n for n in shape]
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), names or dims)


def unary(b: Block) -> None:
    x = b.value()
    if x:
        b.add(b.floats[x], b.program.pick(["Tanh", "Sigmoid", "Neg", "Abs", "Relu", "Sin", "Identity"]), x)


def broadcast(a: Shape, c: Shape) -> Shape | None:
    """Numpy's rule."""
    rank = max(len(a), len(c))
    pairs = zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(c)) + c, strict=True)
    found = [n if m in (1, n) else m if n == 1 else None for n, m in pairs]
    return None if None in found else tuple(n for n in found if n is not None)


def binary(b: Block) -> None:
    p, x = b.program, b.value()
    if not x:
        return
    shape = b.floats[x]
    other = b.value(lambda s: broadcast(shape, s) is not None)
    own = tuple(1 if varies(n) or p.draw(st.booleans()) else n for n in shape)
    y = other if other and p.draw(st.booleans()) else p.weight(p.normal(*own))
    result = broadcast(shape, b.floats.get(y, own))
    if result is None or elements(result) > MOST_ELEMENTS:
        return
    operands = p.pick([(x, y), (y, x)])
    if p.pick([False, False, True]):
        b.add(result, "Where", b.one("Greater", *operands), *operands)
    else:
        b.add(result, p.pick(["Add", "Sub", "Mul", "Max", "Min"]), *operands)


def product(b: Block) -> None:
    p, x = b.program, b.value(lambda s: len(s) >= 2)
    if not x:
        return
    shape = b.floats[x]
    *lead, m, k = shape
    if not varies(k) and p.draw(st.booleans()):
        columns = p.pick([1, 3, 4, 8])
        b.add((*lead, m, columns), "MatMul", x, p.weight(p.normal(k, columns) / np.float32(k**0.5)))
        return
    order = [*range(len(lead)), len(lead) + 1, len(lead)]
    turned = b.add((*lead, k, m), "Transpose", x, perm=order)
    side, first, second = p.pick([(m, x, turned), (k, turned, x)])
    if elements((*lead, side, side)) <= MOST_ELEMENTS:
        found = b.one("Mul", b.one("MatMul", first, second), p.weight(0.2, np.float32))
        b.add((*lead, side, side), "Tanh", found)


def reduction(b: Block) -> None:
    p, x = b.program, b.value(lambda s: len(s) > 0)
    if not x:
        return
    shape = b.floats[x]
    axis, keep = p.pick(range(len(shape))), p.pick([0, 1])
    ops = ["ReduceSum"] if may_be_empty(shape[axis]) else ["ReduceSum", "ReduceMean", "ReduceMax"]
    made = b.one(p.pick(ops), x, p.ints(axis), keepdims=keep)
    made = b.one("Mul", made, p.weight(0.4, np.float32))
    b.add((*shape[:axis], *[1] * keep, *shape[axis + 1 :]), "Tanh", made)


def running(b: Block) -> None:
    """Softmax and sums up to each element."""
    p, x = b.program, b.value(lambda s: len(s) > 0)
    if x:
        shape = b.floats[x]
        axis = p.pick(range(len(shape)))
        if p.draw(st.booleans()):
            b.add(shape, "Softmax", x, axis=axis)
        else:
            b.add(shape, "CumSum", x, p.weight(axis, np.int64), reverse=p.pick([0, 1]), exclusive=p.pick([0, 1]))


def joining(b: Block) -> None:
    p, x = b.program, b.value(lambda s: len(s) > 0)
    if not x:
        return
    shape = b.floats[x]
    axis = p.pick(range(len(shape)))
    rest = (*shape[:axis], *shape[axis + 1 :])
    y = b.value(lambda s: len(s) == len(shape) and (*s[:axis], *s[axis + 1 :]) == rest) or x
    joined = (*shape[:axis], shape[axis] + b.floats[y][axis], *shape[axis + 1 :])
    if elements(joined) <= MOST_ELEMENTS:
        b.add(joined, "Concat", x, y, axis=axis)


def cut(b: Block) -> None:
    p, x = b.program, b.value(lambda s: len(s) > 0)
    if not x:
        return
    shape = b.floats[x]
    axis = p.pick(range(len(shape)))
    n, step = shape[axis], p.pick([1, 2, -1])
    if step == -1:
        first, last, left = -1, -(2**31), n
    elif varies(n):
        if span(n)[0] < 2:  # at least one element stays
            return
        (first, last), step = p.pick([(1, 2**31), (0, -1)]), 1
        left = n - 1
    else:
        first, last = p.pick(range(n)), 2**31
        left = len(range(first, n, step))
    ends = (p.ints(v) for v in (first, last, axis, step))
    b.add((*shape[:axis], left, *shape[axis + 1 :]), "Slice", x, *ends)


def transpose(b: Block) -> None:
    x = b.value(lambda s: len(s) > 1)
    if x:
        shape = b.floats[x]
        order = list(b.program.draw(st.permutations(range(len(shape)))))
        b.add(tuple(shape[i] for i in order), "Transpose", x, perm=order)


def reshape(b: Block) -> None:
    """Joins two dimensions, or splits one; the new shape is a constant, or computed of the operand's."""
    p = b.program
    x = b.value(lambda s: 0 < len(s) < 5)
    if not x:
        return
    shape = b.floats[x]
    if len(shape) > 1 and p.draw(st.booleans()):
        at = p.pick(range(len(shape) - 1))
        if any(map(may_be_empty, shape)):
            return
        made = (*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :])
        if p.draw(st.booleans()):
            sizes = b.one("Shape", x)
            parts = [b.one("Gather", sizes, p.ints(i)) for i in range(len(shape))]
            both = b.one("Mul", parts[at], parts[at + 1])
            target = b.one("Concat", *parts[:at], both, *parts[at + 2 :], axis=0)
        else:
            target = p.ints(*[0] * at, -1, *(-1 if varies(n) else n for n in shape[at + 2 :]))
            if any(map(varies, shape[at + 2 :])):
                return
    else:
        at = p.pick(range(len(shape)))
        if not is_even(shape[at]):
            return
        made = (*shape[:at], 2, shape[at] // 2, *shape[at + 1 :])
        if any(map(varies, made[at + 2 :])) or any(map(may_be_empty, made)):
            return
        target = p.ints(*[0] * at, 2, -1, *made[at + 2 :])
    b.add(made, "Reshape", x, target)


def pad(b: Block) -> None:
    p, x = b.program, b.value(lambda s: 0 < len(s) < 5)
    if not x:
        return
    shape = b.floats[x]
    pads = [p.pick([0, 1]) for _ in range(2 * len(shape))]
    made = tuple(n + lo + hi for n, lo, hi in zip(shape, pads, pads[len(shape) :], strict=False))
    if elements(made) <= MOST_ELEMENTS:
        b.add(made, "Pad", x, p.ints(*pads))


def gather(b: Block) -> None:
    """By constant places, by the iteration, or by the places of largest elements."""
    p, x = b.program, b.value(lambda s: len(s) > 0)
    if not x:
        return
    shape = b.floats[x]
    axis = p.pick(range(len(shape)))
    n, rest = shape[axis], (shape[:axis], shape[axis + 1 :])
    if may_be_empty(n):
        return
    kind = p.pick(["constant", "largest", *(["counter"] if b.counters and not varies(n) else [])])
    if kind == "counter":
        at = b.one("Mod", p.pick(b.counters), p.weight(n, np.int64))
        b.add((*rest[0], *rest[1]), "Gather", x, at, axis=axis)
    elif kind == "largest":
        found = b.one("ArgMax", x, axis=axis, keepdims=1)
        b.add((*rest[0], 1, *rest[1]), "GatherElements", x, found, axis=axis)
    else:
        places = [p.pick([0, -1, *([n // 2] if not varies(n) else [])]) for _ in range(p.pick([1, 2, 3]))]
        b.add((*rest[0], len(places), *rest[1]), "Gather", x, p.ints(*places), axis=axis)


def filling(b: Block) -> None:
    """Values of computed shapes: Range, Expand, ConstantOfShape, Tile."""
    p, x = b.program, b.value(lambda s: 0 < len(s) < 4)
    if not x:
        return
    shape = b.floats[x]
    match p.pick(["range", "expand", "constant", "tile", "unsqueeze"]):
        case "range":
            axis = p.pick(range(len(shape)))
            size = b.one("Gather", b.one("Shape", x), p.weight(axis, np.int64))
            whole = b.one("Range", p.weight(0, np.int64), size, p.weight(1, np.int64))
            made = b.one("Mul", b.one("Cast", whole, to=TensorProto.FLOAT), p.weight(0.3, np.float32))
            b.add((shape[axis],), "Sin", made)
        case "expand":
            target = b.one("Concat", p.ints(3), b.one("Shape", x), axis=0)
            if elements((3, *shape)) <= MOST_ELEMENTS:
                b.add((3, *shape), "Expand", x, target)
        case "constant":
            value = numpy_helper.from_array(np.asarray([0.25], np.float32))
            b.add(shape, "ConstantOfShape", b.one("Shape", x), value=value)
        case "tile":
            repeats = [p.pick([1, 1, 2]) for _ in shape]
            made_shape = tuple(n * k for n, k in zip(shape, repeats, strict=True))
            if elements(made_shape) <= MOST_ELEMENTS:
                b.add(made_shape, "Tile", x, p.ints(*repeats))
        case "unsqueeze":
            axis = p.pick(range(len(shape) + 1))
            b.add((*shape[:axis], 1, *shape[axis:]), "Unsqueeze", x, p.ints(axis))


def convolution(b: Block) -> None:
    p, x = b.program, b.value(lambda s: len(s) == 3 and not varies(s[1]) and not may_be_empty(s[2]))
    if not x:
        return
    batch, channels, n = b.floats[x]
    columns = p.pick([2, 5])
    w = p.weight(p.normal(columns, channels, 3) / np.float32((3 * channels) ** 0.5))
    b.add((batch, columns, n), "Conv", x, w, p.weight(p.normal(columns)), pads=[1, 1])


def recurrent(b: Block) -> None:
    """A layer over the first dimension, its states row by row."""
    p, x = b.program, b.value(lambda s: len(s) == 3 and not may_be_empty(s[0]) and not varies(s[2]))
    if not x:
        return
    length, batch, width = b.floats[x]
    op, gates = p.pick([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    hidden, direction = p.pick([3, 8]), p.pick(["forward", "reverse", "bidirectional"])
    sides = 2 if direction == "bidirectional" else 1
    weights = [p.weight(p.normal(sides, gates * hidden, n) / np.float32(n**0.5)) for n in (width, hidden)]
    shape = (length, sides, batch, hidden)
    if elements(shape) <= MOST_ELEMENTS:
        b.add(shape, op, x, *weights, hidden_size=hidden, direction=direction)


def choice(b: Block) -> None:
    """If, with one or two results, of which the first may be of another size where the condition does not hold."""
    p = b.program
    condition = b.condition()
    then = grow(b.inside(), 1, 3)
    wanted = [then.value(lambda _: True) for _ in range(p.pick([1, 1, 2]))]
    if None in wanted:
        return
    names = [n for n in wanted if n is not None]
    shapes = [then.floats[n] for n in names]
    if any(varies(n) for shape in shapes for n in shape) and not all(shape in b.floats.values() for shape in shapes):
        return
    otherwise = grow(b.inside(), 0, 3)
    others = [otherwise.like(shape) for shape in shapes]
    if shapes[0] and p.pick([False, False, True]):
        axis = p.pick(range(len(shapes[0])))
        longer = resized(shapes[0], axis, 2 * shapes[0][axis])
        if elements(longer) <= MOST_ELEMENTS:
            others[0] = otherwise.add(longer, "Concat", others[0], others[0], axis=axis)
            shapes[0] = resized(shapes[0], axis, p.unknown())
    outputs = b.emit(
        "If",
        [condition],
        len(names),
        then_branch=then.graph("then", (), (), names),
        else_branch=otherwise.graph("otherwise", (), (), others),
    )
    b.floats.update(zip(outputs, shapes, strict=True))


def resized(shape: Shape, axis: int, size: int) -> Shape:
    return (*shape[:axis], size, *shape[axis + 1 :])


def iterate(b: Block) -> None:
    """Loop: so many iterations, or while a condition holds; with values that are carried, the first of which may grow,
    and rows that are stacked."""
    p = b.program
    kind = p.pick(["constant", "size", "input", "while", "both"])
    trips, size = "", 0
    if kind in ("constant", "both"):
        size = p.pick([3, 1, 0, 5])
        trips = p.weight(size, np.int64)
    elif kind == "input":
        trips, size = "trips", TRIPS
        p.inputs["trips"] = ((), np.int64)
    elif kind == "size":
        x = b.value(lambda s: len(s) > 0)
        if not x:
            return
        axis = p.pick(range(len(b.floats[x])))
        size = b.floats[x][axis]
        trips = b.one("Gather", b.one("Shape", x), p.weight(axis, np.int64))
    until = kind in ("while", "both")
    counter, asked = p.fresh("i"), p.fresh("c")
    body = b.inside((counter,))
    starts = [n for n in (b.value() for _ in range(p.pick([1, 1, 2]))) if n]
    inside = [p.fresh("s") for _ in starts]
    shapes = [b.floats[n] for n in starts]
    grown = 0
    if shapes and shapes[0] and kind != "while" and p.pick([False, False, True]):
        along, grown = p.pick(range(len(shapes[0]))), p.unknown()
        shapes[0] = resized(shapes[0], along, grown)
    body.floats.update(zip(inside, shapes, strict=True))
    grow(body, 1, 4)
    following = [body.add(shape, p.pick(["Tanh", "Sin"]), body.like(shape)) for shape in shapes]
    if grown:
        row = body.one("Tanh", body.one("ReduceSum", inside[0], p.ints(along), keepdims=1))
        following[0] = body.add(resized(shapes[0], along, grown + 1), "Concat", following[0], row, axis=along)
        shapes[0] = resized(shapes[0], along, p.unknown())
    stacked = kind != "while" and p.draw(st.booleans())
    # Of no row onnxruntime knows the declared sizes alone.
    known = not until and not may_be_empty(size)

    def is_row(shape: Shape) -> bool:
        return not any(map(varies, shape)) if not known else not any(grown and n >= grown for n in shape)

    rows = [n for n in [body.value(is_row)] if n and stacked]
    if kind == "while":  # ends for certain: the condition is false from some iteration on
        limit = body.one("Less", counter, p.weight(p.pick([4, 2]), np.int64))
        after = body.one("And", body.condition(), limit)
    else:
        after = body.condition() if until else body.one("Identity", asked)
    inputs = [declared(counter, (), np.int64), declared(asked, (), np.bool_)]
    inputs += [declared(n, body.floats[n]) for n in inside]
    graph = body.graph("body", inputs, [after], [*following, *rows])
    begins = b.condition() if until else ""
    outputs = b.emit("Loop", [trips, begins, *starts], len(starts) + len(rows), body=graph)
    b.floats.update(zip(outputs, shapes, strict=False))
    for output, row in zip(outputs[len(starts) :], rows, strict=True):
        shape = (p.unknown() if until else size, *body.floats[row])
        if elements(shape) <= MOST_ELEMENTS:
            b.floats[output] = shape


def scan(b: Block) -> None:
    p = b.program
    x = b.value(lambda s: len(s) > 0)
    if not x:
        return
    axis = p.pick(range(len(b.floats[x])))
    size = b.floats[x][axis]
    pairs = [(x, axis)]
    if p.draw(st.booleans()):
        other = b.value(lambda s: size in s)
        if other:
            pairs.append((other, b.floats[other].index(size)))
    starts = [n for n in (b.value() for _ in range(p.pick([0, 1]))) if n]
    body = b.inside()
    inside = {p.fresh("s"): b.floats[n] for n in starts}
    inside.update((p.fresh("x"), (*b.floats[n][:a], *b.floats[n][a + 1 :])) for n, a in pairs)
    body.floats.update(inside)
    grow(body, 1, 4)
    shapes = [b.floats[n] for n in starts]
    following = [body.add(shape, "Tanh", body.like(shape)) for shape in shapes]
    rows = [n for n in (body.value() for _ in range(p.pick([1, 2]))) if n]
    graph = body.graph("body", [declared(n, shape) for n, shape in inside.items()], (), [*following, *rows])
    # onnxruntime dies where it has to move rows that have no elements.
    empty = [any(map(may_be_empty, (size, *body.floats[n]))) for n in rows]
    at = [0 if none else p.pick(range(len(body.floats[n]) + 1)) for n, none in zip(rows, empty, strict=True)]
    outputs = b.emit(
        "Scan",
        [*starts, *(n for n, _ in pairs)],
        len(starts) + len(rows),
        body=graph,
        num_scan_inputs=len(pairs),
        scan_input_axes=[a for _, a in pairs],
        scan_input_directions=[p.pick([0, 1]) for _ in pairs],
        scan_output_axes=at,
        scan_output_directions=[0 if none else p.pick([0, 1]) for none in empty],
    )
    b.floats.update(zip(outputs, shapes, strict=False))
    for output, row, place in zip(outputs[len(starts) :], rows, at, strict=True):
        shape = body.floats[row]
        whole = (*shape[:place], size, *shape[place:])
        if elements(whole) <= MOST_ELEMENTS:
            b.floats[output] = whole


STATEMENTS: Sequence[Callable[[Block], None]] = (
    unary,
    binary,
    binary,
    product,
    reduction,
    running,
    joining,
    cut,
    transpose,
    reshape,
    pad,
    gather,
    filling,
    convolution,
    recurrent,
)
STRUCTURES: Sequence[Callable[[Block], None]] = (choice, iterate, iterate, scan)


def grow(b: Block, least: int, most: int) -> Block:
    """The block with so many statements more, or fewer where they do not fit."""
    p = b.program
    for _ in range(p.draw(st.integers(least, most))):
        structured = b.depth < MOST_NESTED and p.draw(st.integers(0, 3)) == 0
        p.pick(STRUCTURES if structured else STATEMENTS)(b)
    return b


@dataclass(frozen=True)
class Made:
    """A model, what is drawn for some runs of it, and how long its dimensions are there."""

    proto: onnx.ModelProto
    dims: dict[str, tuple[int, int]]
    runs: tuple[dict[str, Array], ...]
    lengths: tuple[dict[str, int], ...]

    def results(self, noise: float = 0) -> list[dict[str, Array]]:
        """What onnxruntime computes in each run, with so much noise on the inputs."""
        generator = np.random.default_rng(1)
        return [
            onnxruntime_results(
                self.proto,
                {
                    n: a * (1 + noise * generator.standard_normal(a.shape)).astype(a.dtype)
                    if a.dtype.kind == "f"
                    else a
                    for n, a in given.items()
                },
            )
            for given in self.runs
        ]

    def __repr__(self) -> str:
        return f"{onnx.printer.to_text(self.proto)}\ndims = {self.dims}, lengths = {self.lengths}"


@st.composite
def programs(draw: Callable[[st.SearchStrategy[Any]], Any], structured: bool, runs: int = 2) -> Made:
    """Around an If, Loop or Scan where `structured`; else each run decides the size of a dimension, as it may there."""
    p = Program(draw)
    dynamic = not structured or draw(st.booleans())
    main = Block(p, {})
    for i in range(p.pick([1, 2])):
        shape = [p.pick([3, 1, 4, 2, 8]) for _ in range(p.pick([2, 3, 1]))]
        if dynamic and (i == 0 or p.draw(st.booleans())):
            for _ in range(p.pick([1, 2])):
                shape[p.pick(range(len(shape)))] = p.pick([N, N, M])
        p.inputs[f"x{i}"] = (tuple(shape), np.float32)
        main.floats[f"x{i}"] = tuple(shape)
    if structured:
        grow(main, 0, 2)
        p.pick(STRUCTURES)(main)
        grow(main, 0, 3)
    else:
        main.depth = MOST_NESTED
        grow(main, 3, 8)
    outputs = main.unread(()) or [main.add(main.floats["x0"], "Tanh", "x0")]
    outputs = [main.one("Identity", n) for n in outputs]
    graph = helper.make_graph(
        main.nodes,
        "program",
        [
            declared(n, shape, dtype, [named(m) for m in shape] if shape else ())
            for n, (shape, dtype) in p.inputs.items()
        ],
        [helper.make_empty_tensor_value_info(n) for n in outputs],
        [numpy_helper.from_array(a, n) for n, a in p.weights.items()],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    used = {named(n) for shape, _ in p.inputs.values() for n in shape}
    bounds = {n: bound for n, bound in DIMENSIONS.items() if n in used}
    if "trips" in p.inputs:
        bounds["trips"] = (0, MOST_TRIPS)
    lengths = tuple({n: draw(st.integers(*ends)) for n, ends in bounds.items()} for _ in range(runs))
    return Made(proto, bounds, tuple(feeds(p, own) for own in lengths), lengths)


def references(made: Made) -> list[dict[str, Array]] | None:
    """What onnxruntime computes; None where it refuses to, or rounding may decide it."""
    try:
        found, moved = made.results(), made.results(NOISE)
    except Exception:  # onnxruntime's exceptions share no base class
        return None
    steady = all(alike(a, b[n]) for want, b in zip(found, moved, strict=True) for n, a in want.items())
    return found if steady else None


def alike(a: Array, b: Array) -> bool:
    """Whether a result is one that rounding changes little, and no condition on the way is."""
    return (
        a.shape == b.shape
        and bool(np.isfinite(a).all())
        and np.allclose(a, b, rtol=0, atol=STEADY * max(1, np.abs(a).max(initial=0)))
    )


def named(n: int) -> Any:
    return {N: "N", M: "M"}.get(n, n)


def feeds(p: Program, lengths: dict[str, int]) -> dict[str, Array]:
    """Arrays for a run of these lengths."""
    found: dict[str, Array] = {}
    for name, (shape, dtype) in p.inputs.items():
        if name == "trips":
            found[name] = np.asarray(lengths["trips"], np.int64)
        elif dtype is np.bool_:
            found[name] = np.asarray(p.draw(st.booleans()))
        else:
            found[name] = p.normal(*(lengths.get(named(n), n) for n in shape))
    return found
