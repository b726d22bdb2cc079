"""Graphs under construction for random programs: what is computed so far, and sizes that runs decide."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import helper
from onnx_models import Array

Shape = tuple[int, ...]
"""A size is a number whose digits to the base `BASE` count 1, N, N N, M, M N, ..., and what only a run finds out."""

BASE = 10_007
N, M, TRIPS, FOUND = BASE, BASE**3, BASE**9, BASE**12
DIMENSIONS = {"N": (2, 9), "M": (1, 3)}
MOST_TRIPS = 5
"""Most trips of loops, except those over a dimension."""

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
    """A program's draws, and the state that all graphs of one model share."""

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
        """The block as a subgraph, with `others` as its first outputs. Those are values of its own, and the first of
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
