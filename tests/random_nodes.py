"""Random statements of one ONNX node, or a few, for random programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import strategies as st
from onnx import TensorProto, numpy_helper
from random_blocks import MOST_ELEMENTS, Block, Shape, elements, is_even, may_be_empty, span, varies


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
