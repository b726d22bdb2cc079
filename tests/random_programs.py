"""Random ONNX programs: If, Loop and Scan, nested, around random graphs, whose sizes may be those of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import helper, numpy_helper
from onnx_models import Array, onnxruntime_results
from random_blocks import (
    DIMENSIONS,
    MOST_ELEMENTS,
    MOST_NESTED,
    MOST_TRIPS,
    NOISE,
    STEADY,
    TRIPS,
    Block,
    M,
    N,
    Program,
    Shape,
    declared,
    elements,
    may_be_empty,
    varies,
)
from random_nodes import STATEMENTS


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
        """Results of onnxruntime in each run, with so much noise on the inputs."""
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
    """Results of onnxruntime; None where it refuses to, or rounding may decide it."""
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
