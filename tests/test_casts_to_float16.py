"""A Cast to float16 rounds to its nearest value, also where the model computes in float32 before and behind it."""

from __future__ import annotations

import numpy as np
import pytest
import webnn_compile
from drivers import need_driver
from onnx import TensorProto, helper
from onnx_models import Array, model, node, random

HALVES = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float64)[::7]
"""Finite ones, subnormal ones and 0 too."""

TIES = ((HALVES[:-1] + HALVES[1:]) / 2).astype(np.float32)

VALUES = np.concatenate(
    [
        TIES,
        -np.nextafter(TIES, np.float32(0)),
        np.nextafter(TIES, np.float32(np.inf)),
        np.asarray([65504, 65519.996, 65520, -65536, 1e30, np.inf, -np.inf, np.nan, 0, -0.0], np.float32),
        np.asarray([2.0**-24, -(2.0**-25), 3 * 2.0**-26, 1e-30, -1e-40], np.float32),
    ]
)
"""Halfway between neighbours, a float32 step to each side, and the ends of the range."""

TO_HALF = {"to": TensorProto.FLOAT16}
TO_SINGLE = {"to": TensorProto.FLOAT}


def rounded(x: Array) -> Array:
    with np.errstate(over="ignore", under="ignore"):
        return x.astype(np.float16)


def assert_equal(got: Array, want: Array) -> None:
    """Equal bits, but for those of NaN."""
    assert got.dtype == want.dtype
    nan, bits = np.isnan(want), f"u{want.itemsize}"
    np.testing.assert_array_equal(np.isnan(got), nan)
    np.testing.assert_array_equal(got.view(bits)[~nan], want.view(bits)[~nan])


@pytest.mark.parametrize("target", webnn_compile.TARGETS)
def test_through_float16_and_back(target: str) -> None:
    """Alone, with the float16 an output too, and twice, which changes no more."""
    need_driver(target)
    nodes = [
        node("Cast", ["x"], ["h"], **TO_HALF),
        node("Cast", ["h"], ["y"], **TO_SINGLE),
        node("Cast", ["x"], ["inner"], **TO_HALF),
        node("Cast", ["inner"], ["z"], **TO_SINGLE),
        node("Cast", ["z"], ["again"], **TO_HALF),
        node("Cast", ["again"], ["u"], **TO_SINGLE),
    ]
    compiled = webnn_compile.compile(model(nodes, {"x": VALUES.shape}, ["h", "y", "z", "u"]), target=target)
    got, want = compiled.run({"x": VALUES}), rounded(VALUES)
    assert_equal(got["h"], want)
    for name in ("y", "z", "u"):
        assert_equal(got[name], want.astype(np.float32))


@pytest.mark.parametrize("target", webnn_compile.TARGETS)
def test_beside_operators(target: str) -> None:
    """In the kernel that sums, as the operand of one, and of integers; what float16 computes is not rounded."""
    need_driver(target)
    nodes = [
        node("MatMul", ["a", "b"], ["m"]),
        node("Cast", ["m"], ["h"], **TO_HALF),
        node("Add", ["h", "h"], ["twice"]),
        node("Cast", ["twice"], ["y"], **TO_SINGLE),
        node("CastLike", ["a", "h"], ["l"]),
        node("Cast", ["l"], ["lf"], **TO_SINGLE),
        node("MatMul", ["lf", "b"], ["z"]),
        node("Cast", ["n"], ["nh"], **TO_HALF),
        node("Mul", ["nh", "nh"], ["square"]),
        node("Cast", ["square"], ["w"], **TO_SINGLE),
    ]
    proto = model(nodes, {"a": (5, 8), "b": (8, 12)}, ["y", "z", "w"])
    proto.graph.input.append(helper.make_tensor_value_info("n", TensorProto.INT32, [4]))
    a, b, n = random((5, 8), 1), random((8, 12), 2), np.asarray([2049, 4099, -3, 70_000], np.int32)
    got = webnn_compile.compile(proto, target=target).run({"a": a, "b": b, "n": n})
    twice = 2 * rounded(a @ b).astype(np.float32)
    assert np.mean(got["y"] == twice) > 0.9  # sums in another order round to the neighbour now and then
    np.testing.assert_allclose(got["y"], twice, rtol=2e-3, atol=1e-4)
    np.testing.assert_allclose(got["z"], rounded(a).astype(np.float32) @ b, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(got["w"], np.square(rounded(n).astype(np.float32)))


@pytest.mark.parametrize("target", webnn_compile.TARGETS)
def test_of_constants_that_kernels_widen(target: str) -> None:
    """Constants of few bits are widened at load: a Cast of them rounds there, too."""
    need_driver(target)
    weights = {
        "q": np.arange(64 * 512, dtype=np.int32).astype(np.int8).reshape(64, 512),
        "s": random((64,), 4) * np.float32(0.1),
    }
    nodes = [
        node("DequantizeLinear", ["q", "s"], ["d"], axis=0),
        node("Cast", ["d"], ["h"], **TO_HALF),
        node("Cast", ["h"], ["f"], **TO_SINGLE),
        node("Add", ["f", "x"], ["y"]),
    ]
    compiled = webnn_compile.compile(model(nodes, {"x": (64, 512)}, ["y"], weights), target=target)
    (got,) = compiled.run({"x": np.zeros((64, 512), np.float32)}).values()
    wide = weights["q"].astype(np.float32) * weights["s"][:, None]
    np.testing.assert_array_equal(got, rounded(wide).astype(np.float32))


@pytest.mark.parametrize("target", webnn_compile.TARGETS)
def test_of_float64(target: str) -> None:
    """Rounded once: what lies beside the middle of two halves by less than float32 holds is no tie."""
    need_driver(target)
    ties = TIES.astype(np.float64)
    x = np.concatenate([ties * (1 + 2.0**-40), -ties * (1 - 2.0**-40), ties, VALUES.astype(np.float64)])
    x = np.concatenate([x, [65520 - 2.0**-20, 65520, 2.0**-25 * (1 + 2.0**-45), 5e-324, -1e-300, 1e300, -1e300]])
    want = rounded(x)
    with np.errstate(over="ignore"):
        twice = rounded(x.astype(np.float32))
    assert np.mean(want != twice) > 0.1
    nodes = [node("Cast", ["x"], ["h"], **TO_HALF), node("Cast", ["h"], ["y"], **TO_SINGLE)]
    proto = model(nodes, {"x": x.shape}, ["h", "y"])
    proto.graph.input[0].type.tensor_type.elem_type = TensorProto.DOUBLE
    got = webnn_compile.compile(proto, target=target).run({"x": x})
    assert_equal(got["h"], want)
    assert_equal(got["y"], want.astype(np.float32))


def test_of_constants_that_are_folded() -> None:
    nodes = [node("Cast", ["w"], ["h"], **TO_HALF), node("Cast", ["h"], ["f"], **TO_SINGLE)]
    nodes.append(node("Where", ["c", "f", "x"], ["y"]))
    chosen = np.ones(VALUES.shape, np.bool_)
    compiled = webnn_compile.compile(model(nodes, {"x": VALUES.shape}, ["y"], {"w": VALUES, "c": chosen}))
    assert_equal(compiled.run({"x": VALUES})["y"], rounded(VALUES).astype(np.float32))


def test_in_branches() -> None:
    cast = [node("Cast", ["x"], ["h"], **TO_HALF), node("Cast", ["h"], ["f"], **TO_SINGLE)]
    value = helper.make_tensor_value_info("f", TensorProto.FLOAT, ["n"])
    other = helper.make_tensor_value_info("o", TensorProto.FLOAT, ["n"])
    branches = {
        "then_branch": helper.make_graph(cast, "then", [], [value]),
        "else_branch": helper.make_graph([node("Neg", ["x"], ["o"])], "else", [], [other]),
    }
    proto = model([node("If", ["c"], ["y"], **branches)], {"x": VALUES.shape}, ["y"])
    proto.graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    compiled = webnn_compile.compile(proto)
    for chosen, want in ((True, rounded(VALUES).astype(np.float32)), (False, -VALUES)):
        assert_equal(compiled.run({"x": VALUES, "c": np.asarray(chosen)})["y"], want)
