"""Small models with If, Loop and Scan, over a number of rows that each run decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx_models import Array, model, node, onnxruntime_results, random

MOST_ROWS, WIDTH = 24, 4
LIMIT = 12.0
"""Limit of the sum at which `loop_until` and `loop_while` end."""


def scalar(name: str, dtype: int = TensorProto.BOOL) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, [])


def matrix(name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", WIDTH])


def graph(
    nodes: Sequence[onnx.NodeProto], inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[str]
) -> onnx.GraphProto:
    return helper.make_graph(nodes, "graph", inputs, [helper.make_empty_tensor_value_info(n) for n in outputs])


def _with_inputs(
    nodes: Sequence[onnx.NodeProto], more: Sequence[onnx.ValueInfoProto], outputs: Sequence[str], **weights: Any
) -> onnx.ModelProto:
    made = model(nodes, {"x": ["rows", WIDTH]}, outputs, {n: np.asarray(a) for n, a in weights.items()})
    made.graph.input.extend(more)
    return made


def branch() -> onnx.ModelProto:
    """Values that both branches read and values that only one of them computes; another branch inside."""
    inner = {
        "then_branch": graph([node("Exp", ["x"], ["e"])], [], ["e"]),
        "else_branch": graph([node("Neg", ["shared"], ["n"])], [], ["n"]),
    }
    then = graph([node("If", ["deep"], ["d"], **inner), node("Add", ["d", "shared"], ["t"])], [], ["t"])
    other = graph([node("Softmax", ["shared"], ["s"])], [], ["s"])
    nodes = [
        node("MatMul", ["x", "w"], ["shared"]),
        node("If", ["choose"], ["y"], then_branch=then, else_branch=other),
        node("Abs", ["y"], ["z"]),
    ]
    return _with_inputs(nodes, [scalar("choose"), scalar("deep")], ["y", "z"], w=random((WIDTH, WIDTH)))


def loop_until() -> onnx.ModelProto:
    """A loop that the data ends, with a row for each iteration that was."""
    body = graph(
        [
            node("Add", ["a", "step"], ["b"]),
            node("ReduceSum", ["b"], ["sum"], keepdims=0),
            node("Less", ["sum", "limit"], ["goes_on"]),
        ],
        [scalar("i", TensorProto.INT64), scalar("c"), matrix("a")],
        ["goes_on", "b", "sum"],
    )
    nodes = [node("Abs", ["x"], ["step"]), node("Loop", ["most", "", "x"], ["last", "sums"], body=body)]
    return _with_inputs(nodes, [], ["last", "sums"], most=np.int64(9), limit=np.float32(LIMIT))


def loop_while() -> onnx.ModelProto:
    """A loop of which nothing but the data bounds the iterations, which add the columns in turn."""
    body = graph(
        [
            node("Mod", ["i", "three"], ["at"]),
            node("Gather", ["step", "at"], ["column"], axis=1),
            node("ReduceSum", ["column"], ["more"], keepdims=0),
            node("Add", ["a", "more"], ["b"]),
            node("ReduceMax", ["b"], ["largest"], keepdims=0),
            node("Less", ["largest", "limit"], ["goes_on"]),
        ],
        [scalar("i", TensorProto.INT64), scalar("c"), matrix("a")],
        ["goes_on", "b"],
    )
    nodes = [node("Abs", ["x"], ["step"]), node("Loop", ["", "yes", "x"], ["last"], body=body)]
    return _with_inputs(nodes, [], ["last"], yes=np.array(True), three=np.int64(3), limit=np.float32(LIMIT))


def loop_times() -> onnx.ModelProto:
    """As many iterations as an input says, which captures a tensor, and another loop inside that runs `i` times."""
    inner = graph(
        [node("Add", ["p", "one"], ["q"]), node("Identity", ["c2"], ["same2"])],
        [scalar("j", TensorProto.INT64), scalar("c2"), matrix("p")],
        ["same2", "q"],
    )
    body = graph(
        [
            node("Loop", ["i", "", "a"], ["more"], body=inner),
            node("MatMul", ["more", "w"], ["m"]),
            node("Tanh", ["m"], ["b"]),
            node("Identity", ["c"], ["same"]),
        ],
        [scalar("i", TensorProto.INT64), scalar("c"), matrix("a")],
        ["same", "b", "m"],
    )
    nodes = [node("Loop", ["times", "", "x"], ["last", "stack"], body=body)]
    more = [scalar("times", TensorProto.INT64)]
    return _with_inputs(nodes, more, ["last", "stack"], w=random((WIDTH, WIDTH)), one=np.float32(1))


def scan() -> onnx.ModelProto:
    """Rows forwards and backwards at once, results in another order and along another axis."""
    body = graph(
        [
            node("Add", ["sum", "forward"], ["next"]),
            node("Mul", ["next", "backward"], ["product"]),
            node("Sub", ["next", "backward"], ["difference"]),
        ],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [WIDTH]) for n in ("sum", "forward", "backward")],
        ["next", "product", "difference"],
    )
    scanned = node(
        "Scan",
        ["start", "x", "x"],
        ["sum_of_all", "products", "differences"],
        num_scan_inputs=2,
        body=body,
        scan_input_directions=[0, 1],
        scan_output_directions=[1, 0],
        scan_output_axes=[0, 1],
    )
    return _with_inputs([scanned], [], ["sum_of_all", "products", "differences"], start=random((WIDTH,), 1))


def found() -> onnx.ModelProto:
    """Results as long as the data says: where elements are positive, and these in order."""
    nodes = [
        node("Greater", ["x", "zero"], ["positive"]),
        node("NonZero", ["positive"], ["at"]),
        node("Compress", ["x", "keep"], ["kept"], axis=1),
        node("ReduceSum", ["kept"], ["sum"], keepdims=0),
    ]
    keep = helper.make_tensor_value_info("keep", TensorProto.BOOL, [WIDTH])
    return _with_inputs(nodes, [keep], ["at", "kept", "sum"], zero=np.float32(0))


def branch_of_sizes() -> onnx.ModelProto:
    """Branches whose results differ in size: one is as long as the data says, of one both results are longer."""
    some = graph(
        [node("Compress", ["x", "keep"], ["kept"], axis=1), node("Concat", ["x", "x"], ["twice"], axis=0)],
        [],
        ["kept", "twice"],
    )
    all_of = graph([node("Exp", ["x"], ["e"]), node("Concat", ["first", "x"], ["more"], axis=0)], [], ["e", "more"])
    nodes = [
        node("If", ["choose"], ["y", "z"], then_branch=some, else_branch=all_of),
        node("Softmax", ["y"], ["of_y"], axis=1),
        node("ReduceMean", ["z"], ["of_z"], axes=[1], keepdims=0),
    ]
    keep = helper.make_tensor_value_info("keep", TensorProto.BOOL, [WIDTH])
    return _with_inputs(nodes, [scalar("choose"), keep], ["of_y", "z", "of_z"], first=random((1, WIDTH), 2))


def _growing(nodes: Sequence[onnx.NodeProto], goes_on: str) -> onnx.GraphProto:
    """A body that appends a row to `a`, and two columns to `b`, which depend on all there is."""
    steps = [
        node("ReduceMax", ["a"], ["row"], axes=[0]),
        node("Neg", ["row"], ["turned"]),
        node("Concat", ["a", "turned"], ["a2"], axis=0),
        node("ReduceMean", ["a2"], ["mean"], axes=[0, 1]),
        node("Concat", ["b", "mean", "mean"], ["b2"], axis=1),
    ]
    carried = [matrix("a"), helper.make_tensor_value_info("b", TensorProto.FLOAT, [1, None])]
    inputs = [scalar("i", TensorProto.INT64), scalar("c"), *carried]
    return graph([*steps, *nodes], inputs, [goes_on, "a2", "b2"])


def grow_times() -> onnx.ModelProto:
    """Rows that an iteration reads all of, and adds to, as often as an input says."""
    body = _growing([node("Identity", ["c"], ["same"])], "same")
    nodes = [node("Loop", ["times", "", "x", "none"], ["last", "means"], body=body)]
    none = np.zeros((1, 0), np.float32)
    return _with_inputs(nodes, [scalar("times", TensorProto.INT64)], ["last", "means"], none=none)


def grow_until() -> onnx.ModelProto:
    """Rows as in `grow_times`, until the data ends the loop, then a product with the rows."""
    least = [node("ReduceSum", ["a2"], ["sum"], keepdims=0), node("Less", ["sum", "limit"], ["goes_on"])]
    nodes = [
        node("Loop", ["most", "", "x", "none"], ["last", "means"], body=_growing(least, "goes_on")),
        node("MatMul", ["last", "w"], ["product"]),
    ]
    weights = {"none": np.zeros((1, 0), np.float32), "most": np.int64(6), "limit": np.float32(-2)}
    weights |= {"w": random((WIDTH, 3), 3)}
    return _with_inputs(nodes, [], ["product", "means"], **weights)


MODELS: Mapping[str, Callable[[], onnx.ModelProto]] = {
    f.__name__: f
    for f in (branch, loop_until, loop_while, loop_times, scan, found, branch_of_sizes, grow_times, grow_until)
}
SIZES: Mapping[str, Mapping[str, tuple[int, int]]] = {
    name: {"rows": (1, MOST_ROWS)} | ({"times": (0, 5)} if name.endswith("_times") else {}) for name in MODELS
}


def feeds(name: str, rows: int, seed: int = 0) -> dict[str, Array]:
    """Inputs of a run; what is chosen and how often depends on the seed."""
    generator = np.random.default_rng(seed)
    others: Mapping[str, dict[str, Array]] = {
        "branch": {"choose": np.array(seed % 2 == 0), "deep": np.array(seed % 4 < 2)},
        "loop_times": {"times": np.array(seed % 6, np.int64)},
        "grow_times": {"times": np.array(seed % 6, np.int64)},
        "found": {"keep": generator.random(WIDTH) < 0.6},
        "branch_of_sizes": {"choose": np.array(seed % 2 == 0), "keep": generator.random(WIDTH) < 0.6},
    }
    x = generator.standard_normal((rows, WIDTH)).astype(np.float32)
    return {"x": x / rows if name == "loop_until" else x} | others.get(name, {})


def results(made: onnx.ModelProto, given: Mapping[str, Array]) -> dict[str, Array]:
    """As onnxruntime has them, which does not know the shape of a row where there is none."""
    found = onnxruntime_results(made, given)
    return {n: a.reshape(0, *given["x"].shape) if a.shape == (0,) and n == "stack" else a for n, a in found.items()}
