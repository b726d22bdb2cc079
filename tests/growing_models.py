"""Models that grow along one dimension, and the work that compiling them takes, as calls of functions: a number that
the machine's load does not change."""

from __future__ import annotations

import cProfile
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from onnx import helper, numpy_helper
from onnx_models import Array, node
from webnn_compile.errors import UnsupportedError
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes

Node = onnx.NodeProto
CONSTANTS: Mapping[str, Any] = {
    **{
        name: np.array([n])
        for name, n in (("zero", 0), ("one", 1), ("two", 2), ("three", 3), ("seven", 7), ("minus", -5), ("big", 2**31))
    },
    "first": np.array(0),
    "row": np.ones((1, 4), np.float32),
    "half": np.float32(0.5),
    "weight": np.full((4, 4, 1, 1), 0.1, np.float32),
    "square": np.full((4, 4), 0.1, np.float32),
}


def _compile(model: onnx.ModelProto, dims: Mapping[str, Any]) -> None:
    webnn_compile.compile(model, dims=dims, cache=False)


def _simplify(model: onnx.ModelProto, _: Mapping[str, Any]) -> None:
    run_graph_passes(import_model(model))


def _report(model: onnx.ModelProto, _: Mapping[str, Any]) -> None:
    """Up to the message that says what is not supported."""
    with pytest.raises(UnsupportedError):
        import_model(model)


@dataclass(frozen=True)
class Growing:
    """`build(n)` gives the nodes of a model of size n, from the input `v0` to `output(n)`. `shape` is that of `v0`, in
    which names are dimensions, of 1 to 300 where `dims` has no other range; `inputs(n)` are further ones, and
    `conditions(n)` inputs of one bool. The calls of functions in `work`, by default compiling, are counted at sizes
    from `base` to `size`: so far apart that most of them depend on the size. Where `module` is given, only calls of
    its functions and by them count: a part of the work that is small but for large models."""

    build: Callable[[int], Sequence[Node]]
    shape: Sequence[int | str] | Callable[[int], Sequence[int | str]] = (8, 4)
    size: int = 16
    base: int = 2
    output: Callable[[int], str] = lambda n: f"v{n}"
    inputs: Callable[[int], Mapping[str, Sequence[int | str]]] = lambda n: {}
    conditions: Callable[[int], Sequence[str]] = lambda n: ()
    weights: Callable[[int], Mapping[str, Array]] = lambda n: {}
    dims: Mapping[str, Any] = field(default_factory=lambda: {"N": (1, 300)})
    work: Callable[[onnx.ModelProto, Mapping[str, Any]], object] = _compile
    module: str | None = None

    def model(self, n: int) -> onnx.ModelProto:
        given = self.given(n)
        typed = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in given.items()]
        typed += [helper.make_tensor_value_info(c, onnx.TensorProto.BOOL, []) for c in self.conditions(n)]
        nodes = self.build(n)
        read = set(_reads(nodes))
        weights = {**{k: v for k, v in CONSTANTS.items() if k in read}, **self.weights(n)}
        graph = helper.make_graph(
            nodes,
            "growing",
            typed,
            [helper.make_empty_tensor_value_info(self.output(n))],
            [numpy_helper.from_array(np.asarray(data), name) for name, data in weights.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)

    def given(self, n: int) -> dict[str, Sequence[int | str]]:
        return {"v0": self.shape(n) if callable(self.shape) else self.shape, **self.inputs(n)}

    def sizes(self, n: int) -> dict[str, Any]:
        named = {d for shape in self.given(n).values() for d in shape if isinstance(d, str)}
        return {d: self.dims.get(d, (1, 300)) for d in named}


def _reads(nodes: Sequence[Node]) -> list[str]:
    found = [name for n in nodes for name in n.input]
    return found + [name for n in nodes for a in n.attribute for name in _reads(a.g.node) if a.type == a.GRAPH]


def count_calls(growing: Growing, n: int) -> int:
    """Calls of functions while the model of size n is compiled."""
    proto, dims = growing.model(n), growing.sizes(n)
    profile = cProfile.Profile()
    profile.enable()
    try:
        growing.work(proto, dims)
    finally:
        profile.disable()
    rows = profile.getstats()
    if growing.module is None:
        return sum(row.callcount for row in rows)
    own = [row for row in rows if not isinstance(row.code, str) and Path(row.code.co_filename).stem == growing.module]
    return sum(row.callcount + sum(called.callcount for called in row.calls or ()) for row in own)


@dataclass(frozen=True)
class Growth:
    """The work of models of three sizes."""

    sizes: tuple[int, int, int]
    calls: tuple[int, int, int]

    @property
    def factor(self) -> float:
        """The factor of the work, from the smallest to the largest."""
        return self.calls[2] / self.calls[0]

    @property
    def exponent(self) -> float:
        """The exponent of the size by which work grows, without that of the smallest. Where it hardly grows, that is
        the quotient of two small numbers, and says nothing: see `factor`."""
        sizes, calls = ([n - row[0] for n in row[1:]] for row in (self.sizes, self.calls))
        return math.log(calls[1] / calls[0]) / math.log(sizes[1] / sizes[0]) if min(calls) > 0 else 0


def growth(growing: Growing, size: int) -> Growth:
    """From `growing.base` over half of `size` to `size`."""
    sizes = (growing.base, size // 2, size)
    count_calls(growing, growing.base)  # what is imported late, and kept for good
    base, some, more = (count_calls(growing, n) for n in sizes)
    return Growth(sizes, (base, some, more))


def repeated(names: Sequence[str], shape: Sequence[int | str]) -> Growing:
    """Steps of these names in a row, so many times."""

    def step(k: int) -> Sequence[Node]:
        return [made for j, name in enumerate(names) for made in STEPS[name](len(names) * k + j)]

    # The first steps work on the largest tensors: from the third on all are alike.
    return Growing(_chain(step), shape, base=3, output=lambda n: f"v{n * len(names)}", conditions=lambda _: ["c"])


def _chain(make: Callable[[int], Sequence[Node]]) -> Callable[[int], list[Node]]:
    return lambda n: [made for k in range(n) for made in make(k)]


def _step(op: str, *operands: str, **attributes: Any) -> Callable[[int], list[Node]]:
    return lambda k: [node(op, [f"v{k}", *operands], [f"v{k + 1}"], **attributes)]


def _each(op: str, *operands: str, **attributes: Any) -> Callable[[int], list[Node]]:
    return _chain(_step(op, *operands, **attributes))


def _branch(k: int, nodes: Sequence[Node], output: str) -> onnx.GraphProto:
    return helper.make_graph(nodes, f"region{k}", [], [helper.make_empty_tensor_value_info(output)])


def _if(k: int, condition: str, then: Sequence[Node]) -> Node:
    other = [node("Relu", [f"v{k}"], [f"e{k}"])]
    return node(
        "If",
        [condition],
        [f"v{k + 1}"],
        then_branch=_branch(k, then, f"t{k}"),
        else_branch=_branch(k, other, f"e{k}"),
    )


def _cut_or_add(k: int) -> list[Node]:
    """An If of which one branch is a row shorter, the other one a row longer."""
    return [
        node(
            "If",
            [f"c{k}"],
            [f"v{k + 1}"],
            then_branch=_branch(k, [node("Slice", [f"v{k}", "one", "big", "zero"], [f"t{k}"])], f"t{k}"),
            else_branch=_branch(k, [node("Concat", [f"v{k}", "row"], [f"e{k}"], axis=0)], f"e{k}"),
        )
    ]


def _length(k: int, to: str) -> Node:
    return node("Shape", [f"v{k}"], [to], start=0, end=1)


def _cut(k: int, arithmetic: Sequence[Node]) -> list[Node]:
    """v = v[: end], where `arithmetic` makes end of the length."""
    return [_length(k, f"s{k}"), *arithmetic, node("Slice", [f"v{k}", "zero", f"h{k}", "zero"], [f"v{k + 1}"])]


def _halves(k: int) -> list[Node]:
    return _cut(k, [node("Div", [f"s{k}", "two"], [f"h{k}"])])


def _remainders(k: int) -> list[Node]:
    return _cut(
        k,
        [
            node("Mod", [f"s{k}", "seven"], [f"m{k}"]),
            node("Div", [f"s{k}", "three"], [f"d{k}"]),
            node("Add", [f"m{k}", f"d{k}"], [f"h{k}"]),
        ],
    )


def _if_of_sum(k: int) -> list[Node]:
    return [
        node("ReduceSum", [f"v{k}"], [f"m{k}"], keepdims=0),
        node("Greater", [f"m{k}", "half"], [f"c{k}"]),
        _if(k, f"c{k}", [node("Concat", [f"v{k}", "row"], [f"t{k}"], axis=0)]),
    ]


def _refused(k: int) -> list[Node]:
    """An If of which one branch does not fit; its condition is that of the one before, negated."""
    return [
        node("Not", [f"c{k}"], [f"c{k + 1}"]),
        _if(k, f"c{k + 1}", [node("MatMul", [f"v{k}", "matrix"], [f"t{k}"])]),
    ]


def _not_known(k: int) -> list[Node]:
    """A shape that a run computes, from the one before."""
    return [
        node("Cast", [f"v{k}"], [f"v{k + 1}"], to=onnx.TensorProto.INT64),
        node("ConstantOfShape", [f"v{k + 1}"], [f"y{k + 1}"]),
    ]


def _nested(n: int) -> list[Node]:
    inner: list[Node] = [node("Exp", ["v0"], ["x0"])]
    for k in range(n):
        then = _branch(k, inner, f"x{k}")
        other = _branch(k, [node("Neg", ["v0"], [f"e{k}"])], f"e{k}")
        inner = [node("If", ["c"], [f"x{k + 1}"], then_branch=then, else_branch=other)]
    return inner


def _split(n: int) -> list[Node]:
    return [
        node("SplitToSequence", ["v0"], ["s"], axis=0, keepdims=1),
        node("SequenceAt", ["s", "first"], [f"v{n}"]),
    ]


def _cut_by_run(n: int) -> list[Node]:
    """Parts of v0, of n rows, by sizes that a run computes."""
    return [
        node("ReduceSum", ["v0", "one"], ["m"], keepdims=0),
        node("Cast", ["m"], ["sizes"], to=onnx.TensorProto.INT64),
        node("Split", ["v0", "sizes"], [f"x{k}" for k in range(n)], axis=0),
    ]


def _joined_again(cut: Callable[[int], Sequence[Node]]) -> Callable[[int], list[Node]]:
    return lambda n: [*cut(n), node("Concat", [f"x{k}" for k in range(n)], [f"v{n}"], axis=0)]


def _cut_evenly(n: int) -> list[Node]:
    return [node("Split", ["v0"], [f"x{k}" for k in range(n)], axis=0, num_outputs=n)]


def _inserted(n: int) -> list[Node]:
    made = [node("SequenceEmpty", [], ["q0"])]
    made += [node("SequenceInsert", [f"q{k}", "v0"], [f"q{k + 1}"]) for k in range(n)]
    return [*made, node("ConcatFromSequence", [f"q{n}"], [f"v{n}"], axis=0)]


def _dense(k: int) -> list[Node]:
    return [
        node("Relu", [f"v{k}"], [f"r{k}"]),
        node("Add", [f"r{k}", f"v{k}"], [f"a{k}"]),
        node("Mul", [f"a{k}", f"r{k}"], [f"v{k + 1}"]),
    ]


def _sizes_added(n: int) -> list[Node]:
    made = [_length(0, "s0")]
    made += [node("Add", [f"s{k}", "one"], [f"s{k + 1}"]) for k in range(n)]
    return [*made, node("Slice", ["v0", "zero", f"s{n}", "zero"], [f"v{n}"])]


def _sizes_nested(n: int) -> list[Node]:
    made = [_length(0, "s0")]
    for k in range(n):
        made += [
            node("Div", [f"s{k}", "two"], [f"d{k}"]),
            node("Max", [f"d{k}", "three"], [f"x{k}"]),
            node("Add", [f"x{k}", f"s{k}"], [f"s{k + 1}"]),
        ]
    return [*made, node("Slice", ["v0", "zero", f"s{n}", "zero"], [f"v{n}"])]


def _loop(n: int) -> list[Node]:
    carried = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [8, 4])
    counter = helper.make_tensor_value_info("i", onnx.TensorProto.INT64, [])
    condition = helper.make_tensor_value_info("go", onnx.TensorProto.BOOL, [])
    body = helper.make_graph(
        [node("Exp", ["x"], ["y"]), node("Identity", ["go"], ["more"]), node("Neg", ["y"], ["rows"])],
        "body",
        [counter, condition, carried],
        [helper.make_empty_tensor_value_info(name) for name in ("more", "y", "rows")],
    )
    return [node("Loop", ["trips", "", "v0"], ["last", f"v{n}"], body=body)]


def _tables_and_matrices(k: int) -> list[Node]:
    return [
        node("MatMul", [f"v{k}", f"matrix{k}"], [f"p{k}"]),
        node("Add", [f"p{k}", f"table{k}"], [f"v{k + 1}"]),
    ]


def _of_one_shape(n: int) -> dict[str, Array]:
    """Tables and matrices that differ in the last element alone."""
    made = {f"{kind}{k}": np.ones((128, 128), np.float32) for k in range(n) for kind in ("table", "matrix")}
    for i, data in enumerate(made.values()):
        data[-1, -1] = i
    return made


def _rank(n: int) -> list[Node]:
    return [
        node("Transpose", ["v0"], ["t"], perm=list(reversed(range(n)))),
        node("Softmax", ["t"], ["p"], axis=0),
        node("Add", ["p", "v0"], [f"v{n}"]),
    ]


def _with_input(k: int) -> list[Node]:
    return [node("Add", [f"v{k}", f"x{k}"], [f"v{k + 1}"])]


def _operands(op: str, **attributes: Any) -> Callable[[int], list[Node]]:
    return lambda n: [node(op, ["v0", *(f"x{k}" for k in range(n))], [f"v{n}"], **attributes)]


def _integers(n: int) -> list[Node]:
    """The largest of so many integers that may be sizes."""
    return [node("Cast", ["v0"], ["i"], to=onnx.TensorProto.INT64), node("Max", ["i"] * n, [f"v{n}"])]


def _inputs(shape: Sequence[int | str]) -> Callable[[int], Mapping[str, Sequence[int | str]]]:
    return lambda n: {f"x{k}": shape for k in range(n)}


STEPS: Mapping[str, Callable[[int], Sequence[Node]]] = {
    "map": _step("Exp"),
    "sums of maps": _dense,
    "product": _step("MatMul", "square"),
    "normalisation": _step("Softmax", axis=1),
    "running sum": _step("CumSum", "first"),
    "padding": _step("Concat", "row", axis=0),
    "slice": _step("Slice", "one", "big", "zero"),
    "slice from the end": _step("Slice", "minus", "big", "zero"),
    "every other row": _step("Slice", "zero", "big", "zero", "two"),
    "half": _halves,
    "remainder": _remainders,
    "an If that cuts": lambda k: [_if(k, "c", [node("Slice", [f"v{k}", "one", "big", "zero"], [f"t{k}"])])],
    "an If that adds": _if_of_sum,
    "doubling and halving": lambda k: [
        node("Concat", [f"v{k}", f"v{k}"], [f"w{k}"], axis=0),
        node("Slice", [f"w{k}", "zero", "big", "zero", "two"], [f"v{k + 1}"]),
    ],
}
"""Nodes from `v<k>` to `v<k + 1>`, of rows of four elements."""

GROWING: Mapping[str, Growing] = {
    "maps": Growing(_each("Exp")),
    "sums of maps": Growing(_chain(_dense)),
    "convolutions": Growing(_each("Conv", "weight"), shape=(1, 4, 8, 8), size=48),
    "products of a size that varies": Growing(_each("MatMul", "square"), shape=("N", 4), size=160),
    "transposes": Growing(_each("Transpose", perm=[1, 0]), shape=(4, 4)),
    "paddings": Growing(_chain(STEPS["padding"]), shape=("N", 4)),
    "slices": Growing(_chain(STEPS["slice"]), shape=(300, 4), size=32),
    "slices that may be empty": Growing(_chain(STEPS["slice"]), shape=("N", 4)),
    "halves": Growing(_chain(_halves), shape=("N", 4), base=16, size=128),
    "remainders": Growing(_chain(_remainders), shape=("N", 4), size=8),
    "additions of sizes": Growing(_sizes_added, shape=("N", 4), size=128),
    "minima of sizes": Growing(_sizes_nested, shape=("N", 4), base=12, size=32),
    "inputs": Growing(_chain(_with_input), inputs=_inputs((8, 4))),
    "operands of a sum": Growing(_operands("Sum"), inputs=_inputs((8, 4))),
    "integers": Growing(_integers, shape=(4,), size=800),
    "parts": Growing(_operands("Concat", axis=0), inputs=_inputs((3, 4))),
    "parts of sizes that vary": Growing(
        _operands("Concat", axis=0), size=28, inputs=lambda n: {f"x{k}": (f"N{k}", 4) for k in range(n)}
    ),
    "parts by sizes of a run": Growing(_cut_by_run, shape=lambda n: (n, 4), size=128, output=lambda n: f"x{n - 1}"),
    "parts by sizes of a run, joined": Growing(_joined_again(_cut_by_run), shape=lambda n: (n, 4)),
    "even parts of a size that varies, joined": Growing(_joined_again(_cut_evenly), shape=("N", 4), size=32),
    "nested Ifs": Growing(_nested, size=20, output=lambda n: f"x{n}", conditions=lambda _: ["c"]),
    "Ifs that cut": Growing(_chain(STEPS["an If that cuts"]), (300, 4), size=8, conditions=lambda _: ["c"]),
    "Ifs that cut or add": Growing(
        _chain(_cut_or_add), ("N", 4), size=12, conditions=lambda n: [f"c{k}" for k in range(n)]
    ),
    "Ifs that add": Growing(_chain(_if_of_sum), ("N", 4), size=8),
    "refused Ifs": Growing(
        _chain(_refused),
        size=64,
        conditions=lambda _: ["c0"],
        weights=lambda _: {"matrix": np.ones((3, 3), np.float32)},
        work=_simplify,
        module="deciding_inputs",
    ),
    "shapes that are not known": Growing(
        _chain(_not_known), shape=(3,), size=64, output=lambda n: f"y{n}", work=_report, module="deciding_inputs"
    ),
    "tables and matrices": Growing(
        _chain(_tables_and_matrices),
        shape=(128, 128),
        size=64,
        weights=_of_one_shape,
        work=_simplify,
        module="share_transposes",
    ),
    "dimensions": Growing(_rank, shape=lambda n: (2, *[1] * (n - 1))),
    "insertions": Growing(_inserted),
}

CONSTANT: Mapping[str, Growing] = {
    "iterations": Growing(_loop, base=8, weights=lambda n: {"trips": np.array(n)}),
    "rows of a sequence": Growing(_split, shape=lambda n: (n,), size=2000),
}
"""Models of which the work does not depend on the size, from `base` on."""
