"""Models that are long or wide compile: no walk recurses as deep or as wide as a model, and sizes have limits."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import model, node, random
from webnn_compile.errors import InputError
from webnn_compile.system import recursion
from webnn_compile.system.limits import ELEMENTS
from webnn_compile.system.recursion import FRAMES

LONG, WIDE = 10_000, 5_000


def chain(ops: tuple[str, ...], length: int) -> onnx.ModelProto:
    """`length` nodes, each of which reads the one before; the operators of `ops` in turn."""
    nodes = [node(ops[i % len(ops)], [f"v{i}"], [f"v{i + 1}"]) for i in range(length)]
    return model(nodes, {"v0": [2, 3]}, [f"v{length}"])


def products(length: int) -> onnx.ModelProto:
    """A chain of kernels that cannot be fused: v @ a rotation."""
    nodes = [node("MatMul", [f"v{i}", "r"], [f"v{i + 1}"]) for i in range(length)]
    turn = np.asarray([[0.8, -0.6], [0.6, 0.8]], np.float32)
    return model(nodes, {"v0": [3, 2]}, [f"v{length}"], {"r": turn})


def wide(op: str, width: int, **attributes: object) -> onnx.ModelProto:
    names = [f"x{i}" for i in range(width)]
    return model([node(op, names, ["y"], **attributes)], {n: [2, 1] for n in names}, ["y"])


def test_room_for_recursion_is_less_than_a_level_for_each_node() -> None:
    """So that the tests below fail where a walk recurses as deep as a model is long, or as wide."""
    assert min(LONG, WIDE) >= FRAMES


@pytest.mark.parametrize("make", [lambda: chain(("Neg", "Abs", "Sqrt"), LONG), lambda: products(LONG)])
def test_long_chains(make: Callable[[], onnx.ModelProto]) -> None:
    proto = make()
    x = np.abs(random((3, 2) if "MatMul" in str(proto.graph.node[0]) else (2, 3), 1)) + 1
    (got,) = webnn_compile.compile(proto).run({"v0": x}).values()
    want = x
    if got.shape == (3, 2):
        turn = np.asarray([[0.8, -0.6], [0.6, 0.8]])
        want = x @ np.linalg.matrix_power(turn, LONG)
        np.testing.assert_allclose(got, want, atol=2e-3)
        return
    for i in range(LONG):
        want = (np.negative, np.abs, np.sqrt)[i % 3](want)
    np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("target", ["webgpu", "webgl", "wasm"])
def test_chains_on_other_targets(target: str) -> None:
    need_driver(target)
    proto = chain(("Neg", "Abs", "Sqrt"), 999)
    compiled = webnn_compile.compile(proto, target=target)
    assert compiled.backend == target
    x = np.abs(random((2, 3), 2)) + 1
    np.testing.assert_allclose(compiled.run({"v0": x})["v999"], np.ones_like(x), rtol=1e-4)


FEW_FRAMES, CHAIN = 550, 560
"""Python frames that are room enough for expressions, and not for a level for each node of a chain."""


def pool(i: int) -> list[onnx.NodeProto]:
    return [node("MaxPool", [f"v{i}"], [f"v{i + 1}"], kernel_shape=[3, 3], pads=[1] * 4)]


def cut(i: int) -> list[onnx.NodeProto]:
    """A value beside itself, of which the first half is taken."""
    joined = node("Concat", [f"v{i}", f"v{i}"], [f"j{i}"], axis=1)
    return [joined, node("Slice", [f"j{i}", "zero", "three", "one"], [f"v{i + 1}"])]


QUANTIZE = node("QuantizeLinear", ["x", "step", "point"], ["v0"])
DEQUANTIZE = node("DequantizeLinear", [f"v{CHAIN}", "step", "point"], ["y"])
CONV = [
    node("DequantizeLinear", [f"v{CHAIN}", "step", "point"], ["d"]),
    node("DequantizeLinear", ["taps", "step"], ["w"]),
    node("Conv", ["d", "w"], ["y"], pads=[1] * 4),
]
COPY = node("Identity", ["x"], ["v0"])
CHAINS: dict[str, tuple[list[onnx.NodeProto], Callable[[int], list[onnx.NodeProto]], list[onnx.NodeProto]]] = {
    "CumSum": ([COPY], lambda i: [node("CumSum", [f"v{i}", "axis"], [f"v{i + 1}"])], []),
    "elements that move": ([COPY], cut, []),
    "quanta that move": ([QUANTIZE], cut, [DEQUANTIZE]),
    "largest quanta": ([QUANTIZE], pool, CONV),
    "weights that are computed": (
        [node("DequantizeLinear", ["weights", "step"], ["v0"])],
        lambda i: [node("Mul", [f"v{i}", "factor"], [f"v{i + 1}"])],
        [node("MatMul", ["x", f"v{CHAIN}"], ["y"])],
    ),
}
"""Nodes that make v0 of x, each next value of the one before, and y of the last."""


@pytest.mark.parametrize("target", ["native", "webgpu"])
@pytest.mark.parametrize("name", CHAINS)
def test_no_walk_recurses_along_a_chain(name: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As thousands of nodes would find with the usual room, in a tenth of the time."""
    need_driver(target)
    constants = {
        "axis": np.asarray(1),
        "zero": np.asarray([0]),
        "three": np.asarray([3]),
        "one": np.asarray([1]),
        "step": np.float32(0.125).reshape(()),
        "point": np.int8(3).reshape(()),
        "taps": np.ones((1, 1, 3, 3), np.int8),
        "weights": np.ones((96, 128), np.int8),
        "factor": np.float32(1.01).reshape(()),
    }
    first, step, last = CHAINS[name]
    nodes = [*first, *(made for i in range(CHAIN) for made in step(i)), *last]
    read = {n for made in nodes for n in made.input}
    shape = {"largest quanta": [1, 1, 8, 8], "weights that are computed": [4, 96]}.get(name, [2, 3])
    known = {n: c for n, c in constants.items() if n in read}
    proto = model(nodes, {"x": shape}, ["y" if last else f"v{CHAIN}"], known)
    monkeypatch.setattr(recursion, "FRAMES", FEW_FRAMES)
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(FEW_FRAMES)
    try:
        webnn_compile.compile(proto, target=target)
    finally:
        sys.setrecursionlimit(before)


@pytest.mark.parametrize("target", ["native", "wasm", "webgpu", "webgl"])
@pytest.mark.parametrize(
    ("op", "attributes", "reference"),
    [
        ("Sum", {}, lambda xs: np.sum(np.asarray(xs, np.float64), axis=0)),
        ("Mean", {}, lambda xs: np.mean(np.asarray(xs, np.float64), axis=0)),
        ("Max", {}, lambda xs: np.max(xs, axis=0)),
        ("Concat", {"axis": 1}, lambda xs: np.concatenate(xs, axis=1)),
        ("Concat", {"axis": 0}, lambda xs: np.concatenate(xs, axis=0)),
    ],
)
def test_wide_nodes(
    op: str, attributes: dict[str, object], reference: Callable[[list[np.ndarray]], np.ndarray], target: str
) -> None:
    """Natively as wide as said; on others less, for time."""
    need_driver(target)
    width = WIDE if target == "native" else 150
    compiled = webnn_compile.compile(wide(op, width, **attributes), target=target)
    assert compiled.backend == target
    feeds = {f"x{i}": random((2, 1), i) for i in range(width)}
    if op == "Max":
        feeds[f"x{width - 1}"][0, 0] = np.nan
    np.testing.assert_allclose(compiled.run(feeds)["y"], reference(list(feeds.values())), rtol=1e-4, atol=1e-4)


HUGE = {
    "Tile by 2^31 x 2^31": ("Tile", [2**31, 2**31]),
    "Expand to 2^32 x 2^32": ("Expand", [2**32, 2**32]),
    "Expand to 2^62 + 1": ("Expand", [1, 2**62 + 1]),
    "Pad to 2^32 x 2^32": ("Pad", [0, 0, 2**32 - 1, 2**32 - 1]),
}


@pytest.mark.parametrize("target", ["native", "wasm", "webgpu", "webgl"])
@pytest.mark.parametrize("name", HUGE)
def test_sizes_do_not_overflow(name: str, target: str) -> None:
    op, operand = HUGE[name]
    proto = model([node(op, ["x", "s"], ["y"], "huge")], {"x": [1, 1]}, ["y"], {"s": np.asarray(operand)})
    with pytest.raises(InputError, match=rf"{op} \(node 'huge'\): its result of shape .* may have {ELEMENTS}"):
        webnn_compile.compile(proto, target=target)


def test_an_input_has_as_many_elements_as_indices_count() -> None:
    with pytest.raises(InputError, match=r"input 'x' of shape \[4294967296, 4294967296\] has 18446744073709551616"):
        webnn_compile.compile(model([node("Relu", ["x"], ["y"])], {"x": [2**32, 2**32]}, ["y"]))


def test_a_program_larger_than_the_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that is promised and not there would end the process."""
    monkeypatch.setattr("webnn_compile.execution.native_model.machine_memory", lambda: 2**20)
    proto = model([node("Relu", ["x"], ["y"])], {"x": [2**18]}, ["y"])
    with pytest.raises(InputError, match=r"needs 2 MiB of memory .* but this machine has 1 MiB: use a smaller input"):
        webnn_compile.compile(proto)


@pytest.mark.parametrize("target", ["native", "wasm"])
def test_states_count(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory of a session is as much as what runs leave at most."""
    monkeypatch.setattr("webnn_compile.execution.native_model.machine_memory", lambda: 2**20)
    monkeypatch.setattr("webnn_compile.program.program.WASM32_BYTES", 2**20)
    proto = model(
        [node("Concat", ["past_0", "x"], ["present_0"], axis=0)], {"x": [1, 64], "past_0": ["P", 64]}, ["present_0"]
    )
    proto.graph.node.append(node("ReduceSum", ["x"], ["y"]))
    proto.graph.output.append(onnx.helper.make_empty_tensor_value_info("y"))
    with pytest.raises(InputError, match=r"states (4 MiB|0\.00 GiB)\), but .*fewer rows of a state"):
        webnn_compile.compile(proto, target, dims={"P": (0, 2**14)})
