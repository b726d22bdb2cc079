"""Small files of models that take minutes, or much memory, to compile: each in another part of the compiler."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx_models import model, node

_info = helper.make_tensor_value_info


def chain(count: int) -> onnx.ModelProto:
    """So many products, no two alike: schedules and code."""
    sizes = [4 + i * 37 % 61 for i in range(count + 1)]
    weights = {f"w{i}": np.ones((sizes[i], sizes[i + 1]), np.float32) for i in range(count)}
    nodes = [node("MatMul", [f"v{i}", f"w{i}"], [f"v{i + 1}"], f"product{i}") for i in range(count)]
    return model(nodes, {"v0": [3, sizes[0]]}, [f"v{count}"], weights)


def folded() -> onnx.ModelProto:
    """A minute of NumPy, to fold."""
    one = helper.make_tensor("value", TensorProto.FLOAT, [1], [1.5])
    nodes = [node("ConstantOfShape", ["s"], ["c0"], "fill", value=one)]
    nodes += [node("MatMul", ["c0", f"c{i}"], [f"c{i + 1}"], f"product{i}") for i in range(40)]
    nodes += [node("Add", ["x", "c40"], ["y"])]
    return model(nodes, {"x": [1400, 1400]}, ["y"], {"s": np.asarray([1400, 1400])})


def varying() -> onnx.ModelProto:
    """A long chain of sizes that each run decides."""
    nodes, constants = [], {"two": np.asarray([2]), "zero": np.asarray([0]), "seven": np.asarray([7])}
    for i in range(3000):
        nodes += [node("Shape", [f"v{i}"], [f"s{i}"]), node("Mod", [f"s{i}", "seven"], [f"m{i}"])]
        nodes += [
            node("Sub", [f"s{i}", f"m{i}"], [f"e{i}"]),
            node("Slice", [f"v{i}", "zero", f"e{i}", "zero"], [f"t{i}"]),
        ]
        nodes += [node("Concat", [f"t{i}", f"v{i}"], [f"v{i + 1}"], axis=0)]
    return model(nodes, {"v0": ["N"]}, ["v3000"], constants)


def unrolled() -> onnx.ModelProto:
    """Loops in each other, a million iterations in all: since each changes the state's sizes, they are added one by
    one."""
    inner = _body("p", [node("Transpose", ["a"], ["t"]), node("Sin", ["t"], ["b"])], "a", "b")
    outer = _body("q", [node("Loop", ["count", "", "c"], ["d"], "inner", body=inner)], "c", "d")
    loop = node("Loop", ["count", "", "x"], ["y"], "outer", body=outer)
    return model([loop], {"x": [2, 3]}, ["y"], {"count": np.asarray(1001)})


def _body(prefix: str, nodes: Sequence[onnx.NodeProto], start: str, result: str) -> onnx.GraphProto:
    """The body of a loop with one tensor as its state."""
    counter, before, after = f"{prefix}i", f"{prefix}go", f"{prefix}on"
    inputs = [_info(counter, TensorProto.INT64, []), _info(before, TensorProto.BOOL, [])]
    outputs = [_info(after, TensorProto.BOOL, []), _info(result, TensorProto.FLOAT, None)]
    return helper.make_graph(
        [node("Identity", [before], [after]), *nodes],
        f"{prefix}body",
        [*inputs, _info(start, TensorProto.FLOAT, None)],
        outputs,
    )


def rows() -> onnx.ModelProto:
    """A tensor as thousands of its rows, each of which is computed for itself."""
    names = [f"r{i}" for i in range(5000)]
    nodes = [node("Split", ["x"], names, "split", axis=0)]
    nodes += [node("Sin" if i % 2 else "Cos", [name], [f"{name}s"]) for i, name in enumerate(names)]
    nodes += [node("Concat", [f"{name}s" for name in names], ["y"], axis=0)]
    return model(nodes, {"x": [5000, 2]}, ["y"])


def inlined() -> onnx.ModelProto:
    """Functions that call each other twice: 65,536 nodes."""
    return with_functions(doubling(16))


def branches() -> onnx.ModelProto:
    """Functions of branches that call each other, of which one side is taken: 4**8 calls."""

    def branch(name: str, i: int) -> onnx.GraphProto:
        calls = [call(i, "a", f"{name}t"), call(i, f"{name}t", f"{name}b")]
        return helper.make_graph(calls, name, [], [_info(f"{name}b", TensorProto.FLOAT, [4])])

    def body(i: int) -> list[onnx.NodeProto]:
        true = helper.make_tensor("c", TensorProto.BOOL, [], [True])
        sides = {f"{side}_branch": branch(side, i + 1) for side in ("then", "else")}
        return [node("Constant", [], ["c"], value=true), node("If", ["c"], ["b"], f"choice{i}", **sides)]

    return with_functions([*map(body, range(8)), [node("Relu", ["a"], ["t"]), node("Neg", ["t"], ["b"])]])


def doubling(count: int) -> list[list[onnx.NodeProto]]:
    """The bodies of so many functions, of which each calls the next one twice: 2**count nodes."""
    return [
        *([call(i + 1, "a", "t"), call(i + 1, "t", "b")] for i in range(count - 1)),
        [node("Relu", ["a"], ["t"]), node("Neg", ["t"], ["b"])],
    ]


def with_functions(bodies: Sequence[Sequence[onnx.NodeProto]]) -> onnx.ModelProto:
    """A model of one node, which calls the first of these functions: each from a to b."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
    made = [helper.make_function("my", f"F{i}", ["a"], ["b"], body, opsets) for i, body in enumerate(bodies)]
    nodes = [node("F0", ["x"], ["y"], "root", domain="my")]
    return model(nodes, {"x": [4]}, ["y"], functions=made, imports=opsets[1:])


def call(i: int, source: str, result: str) -> onnx.NodeProto:
    return node(f"F{i}", [source], [result], domain="my")


HOSTILE: Mapping[str, Callable[[], onnx.ModelProto]] = {
    "chain": lambda: chain(4000),
    "folded": folded,
    "varying": varying,
    "unrolled": unrolled,
    "rows": rows,
    "inlined": inlined,
    "branches": branches,
}
DIMS = {"varying": (8, 300)}
"""The range of N, by the model whose sizes vary."""
