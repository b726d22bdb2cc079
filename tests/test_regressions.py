"""Models that once compiled wrongly, or took time or memory without bound."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import webnn_compile
from onnx_models import Array, assert_close, model, node, onnxruntime_results, random

SHAPE = (1, 12, 8, 8)


class Chain:
    """Nodes behind each other, from `x` of SHAPE; integer lists become initialisers."""

    def __init__(self) -> None:
        self.last = "x"
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, Array] = {}

    def then(self, op: str, *integers: list[int], source: str | None = None, **attributes: object) -> str:
        names = [f"w{len(self.weights) + n}" for n in range(len(integers))]
        self.weights.update((n, np.array(v, np.int64)) for n, v in zip(names, integers, strict=True))
        made = f"v{len(self.nodes)}"
        self.nodes.append(node(op, [source or self.last, *names], [made], **attributes))
        self.last = made
        return made

    def check(self) -> None:
        proto = model(self.nodes, {"x": SHAPE}, [self.last], self.weights)
        feeds = {"x": random(SHAPE)}
        assert_close(webnn_compile.compile(proto).run(feeds), onnxruntime_results(proto, feeds))


@pytest.mark.parametrize("length", [3, 12])
def test_channel_shuffles_in_a_row(length: int) -> None:
    """Each divides the index of the one before: fused without a limit, the index doubled at every one."""
    c = Chain()
    for _ in range(length):
        c.then("Reshape", [1, 3, 4, 8, 8])
        c.then("Transpose", perm=[0, 2, 1, 3, 4])
        c.then("Reshape", list(SHAPE))
    c.check()


def test_reshapes_that_do_not_cancel() -> None:
    """12 does not divide into 8s: quotients and remainders nest."""
    c = Chain()
    for _ in range(6):
        c.then("Reshape", [1, 8, 12, 8])
        c.then("Reshape", [8, 8, 12])
        c.then("Transpose", perm=[2, 0, 1])
        c.then("Reshape", list(SHAPE))
    c.check()


def test_rolls_in_a_row() -> None:
    """Two slices and a concatenation read their operand twice: the list of nodes behind a kernel doubled each time."""
    c = Chain()
    for _ in range(30):
        start = c.last
        left = c.then("Slice", [3], [8], [3], source=start)
        right = c.then("Slice", [0], [3], [3], source=start)
        c.last = f"r{len(c.nodes)}"
        c.nodes.append(node("Concat", [left, right], [c.last], axis=3))
    c.check()


def test_many_layers_of_a_dense_block() -> None:
    """Each layer concatenates all before it: the chain of selections is cut in pieces, and those by halves."""
    generator = np.random.default_rng(0)
    nodes, weights = [], {}
    last, channels = "x", SHAPE[1]
    for n in range(12):
        weights[f"w{n}"] = (generator.standard_normal((5, channels, 3, 3)) * 0.1).astype(np.float32)
        nodes.append(node("Relu", [last], [f"r{n}"]))
        nodes.append(node("Conv", [f"r{n}", f"w{n}"], [f"c{n}"], pads=[1, 1, 1, 1]))
        nodes.append(node("Concat", [last, f"c{n}"], [f"t{n}"], axis=1))
        last, channels = f"t{n}", channels + 5
    proto = model(nodes, {"x": SHAPE}, [last], weights)
    feeds = {"x": random(SHAPE)}
    assert_close(webnn_compile.compile(proto).run(feeds), onnxruntime_results(proto, feeds), 1e-4)


def test_images_turned_around() -> None:
    """Elements read backwards lie below the pointer that a tile gets: before the memory of a wasm module, loads trapped
    whose constant made up for it."""
    shape = [2, 16, 40, 40]
    weights = {n: np.full(1, v, np.int64) for n, v in (("from", -1), ("to", -(2**31)), ("image", 0), ("step", -1))}
    nodes = [
        node("Slice", ["x", "from", "to", "image", "step"], ["turned"]),
        node("MaxPool", ["turned"], ["y"], kernel_shape=[3, 3]),
    ]
    proto = model(nodes, {"x": shape}, ["y"], weights)
    feeds = {"x": random(shape)}
    made = webnn_compile.compile(proto, target="wasm")
    assert made.backend == "wasm"
    assert_close(made.run(feeds), onnxruntime_results(proto, feeds))


@pytest.mark.parametrize("target", ["wasm", "wasm-relaxed"])
def test_a_sum_over_rows_backwards(target: str) -> None:
    """Steps of a sum that share an iteration moved the pointer down to before the memory."""
    weights = {n: np.full(1, v, np.int64) for n, v in (("from", -1), ("to", -(2**31)), ("rows", 0), ("step", -1))}
    nodes = [
        node("Slice", ["x", "from", "to", "rows", "step"], ["turned"]),
        node("Transpose", ["turned"], ["columns"], perm=[1, 0]),
        node("MatMul", ["columns", "w"], ["y"]),
    ]
    proto = model(nodes, {"x": [8, 20000]}, ["y"], weights | {"w": random((8, 8))})
    feeds = {"x": random((8, 20000))}
    made = webnn_compile.compile(proto, target=target)
    assert made.backend == target
    assert_close(made.run(feeds), onnxruntime_results(proto, feeds))


def test_a_convolution_over_images_of_any_size_gives_an_output() -> None:
    """The copy into row-major order took the size, which is an expression, for a number."""
    weights = {"w": random((4, 3, 3, 3))}
    nodes = [node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])]
    proto = model(nodes, {"x": [1, 3, "height", "width"]}, ["y"], weights)
    made = webnn_compile.compile(proto, dims={"height": (8, 32), "width": (8, 32)})
    for shape in ((1, 3, 8, 32), (1, 3, 17, 9)):
        feeds = {"x": random(shape)}
        assert_close(made.run(feeds), onnxruntime_results(proto, feeds))
