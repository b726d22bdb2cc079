"""webnn_compile.compile: element types, unusual graphs, and what it says about wrong arguments, on every target."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from onnx import TensorProto, helper, numpy_helper
from onnx_models import assert_close, model, node, onnxruntime_results, random
from webnn_compile import InputError, UnsupportedError
from webnn_compile.driver.device_target import DeviceTarget
from webnn_compile.driver.targets import TARGETS

Array = np.ndarray[Any, np.dtype[Any]]

targets = pytest.mark.parametrize("target", webnn_compile.TARGETS)


def check(proto: onnx.ModelProto, feeds: Mapping[str, Array], target: str, tolerance: float = 1e-5) -> None:
    """Compiles `proto` for the shapes of `feeds`, and compares with onnxruntime."""
    compiled = webnn_compile.compile(proto, target=target, shapes={name: a.shape for name, a in feeds.items()})
    assert compiled.backend == target
    assert_close(compiled.run(feeds), onnxruntime_results(proto, feeds), tolerance)


def integers(shape: tuple[int, ...], dtype: Any) -> Array:
    """Over the whole range of the type."""
    if dtype is np.bool_:
        return np.random.default_rng(0).integers(0, 2, shape).astype(bool)
    info = np.iinfo(dtype)
    return np.random.default_rng(0).integers(info.min, info.max, shape, dtype, endpoint=True)


# Element types


@targets
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.uint8, np.int32, np.int64, np.bool_])
def test_every_dtype_goes_in_and_out(dtype: Any, target: str) -> None:
    code = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    x = random((3, 37), dtype=dtype) if np.dtype(dtype).kind == "f" else integers((3, 37), dtype)
    if dtype is np.int64 and isinstance(TARGETS[target], DeviceTarget):
        x >>= 32  # what does not fit int32 is refused
    check(model([node("Transpose", ["x"], ["y"])], {"x": [3, 37]}, ["y"], dtype=code), {"x": x}, target)


@targets
def test_integers_that_overflow(target: str) -> None:
    """In C and its relatives that is undefined, and optimised away."""
    x = np.array([2**31 - 1, -(2**31), 7, -1, 2**30, -5], np.int32)
    nodes = [
        node("Mul", ["x", "six"], ["m"]),
        node("Div", ["m", "six"], ["y"]),
        node("Abs", ["x"], ["a"]),
        node("Neg", ["x"], ["n"]),
        node("Less", ["a", "zero"], ["below"]),
        node("Less", ["n", "zero"], ["negative"]),
        node("Cast", ["below"], ["b"], to=6),
        node("Cast", ["negative"], ["c"], to=6),
    ]
    constants = {"six": np.array([6], np.int32), "zero": np.array([0], np.int32)}
    proto = model(nodes, {"x": [6]}, ["y", "b", "c"], constants, dtype=TensorProto.INT32)
    made = webnn_compile.compile(proto, target).run({"x": x})
    np.testing.assert_array_equal(made["y"], np.trunc((x * np.int32(6)) / 6).astype(np.int32))
    np.testing.assert_array_equal(made["b"], [0, 1, 0, 0, 0, 0])
    np.testing.assert_array_equal(made["c"], [1, 1, 1, 0, 1, 0])


@targets
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
def test_integer_arithmetic_wraps_around(dtype: Any, target: str) -> None:
    code = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes = [node("Mul", ["x", "w"], ["m"]), node("Sub", ["m", "x"], ["s"]), node("Max", ["s", "w"], ["y"])]
    proto = model(nodes, {"x": [5, 19]}, ["y"], {"w": integers((5, 19), dtype)[::-1].copy()}, opset=14, dtype=code)
    x = integers((5, 19), dtype)
    made = webnn_compile.compile(proto, target=target).run({"x": x})["y"]
    w = numpy_helper.to_array(proto.graph.initializer[0])
    np.testing.assert_array_equal(made, np.maximum(x * w - x, w))
    assert made.dtype == dtype


@targets
def test_float16_model(target: str) -> None:
    nodes = [
        node("Conv", ["x", "k"], ["c"], pads=[1, 1, 1, 1]),
        node("Relu", ["c"], ["r"]),
        node("GlobalAveragePool", ["r"], ["p"]),
        node("Flatten", ["p"], ["f"]),
        node("Gemm", ["f", "g", "b"], ["y"]),
    ]
    weights = {"k": random((8, 3, 3, 3), 1), "g": random((8, 5), 2), "b": random((5,), 3)}
    halves = {name: a.astype(np.float16) for name, a in weights.items()}
    proto = model(nodes, {"x": [1, 3, 9, 9]}, ["y", "r"], halves, dtype=TensorProto.FLOAT16)
    x = random((1, 3, 9, 9)).astype(np.float16)
    check(proto, {"x": x}, target, tolerance=2e-3)  # onnxruntime rounds between the operators
    exact = model(nodes, {"x": [1, 3, 9, 9]}, ["y"], {name: a.astype(np.float32) for name, a in halves.items()})
    want = onnxruntime_results(exact, {"x": x.astype(np.float32)})["y"]
    got = webnn_compile.compile(proto, target=target).run({"x": x})["y"]
    np.testing.assert_allclose(got.astype(np.float32), want, rtol=2**-11, atol=1e-5)


@targets
def test_float16_at_the_edges_of_its_range(target: str) -> None:
    edges = [0.0, -0.0, 65504, -65504, 6e-8, -6e-8, 6.1e-5, np.inf, -np.inf, np.nan, 1 / 3, 2048, 2049, 4097]
    x = np.array(edges, np.float16)
    proto = model([node("Neg", ["x"], ["y"])], {"x": [len(edges)]}, ["y"], dtype=TensorProto.FLOAT16)
    got = webnn_compile.compile(proto, target=target).run({"x": x})["y"]
    np.testing.assert_array_equal(got, -x)
    np.testing.assert_array_equal(np.signbit(got)[:2], [True, False])


@targets
def test_mixed_dtypes_in_one_model(target: str) -> None:
    nodes = [
        node("Greater", ["x", "zero"], ["mask"]),
        node("Where", ["mask", "x", "zero"], ["kept"]),
        node("Cast", ["x"], ["whole"], to=TensorProto.INT32),
        node("ArgMax", ["x"], ["best"], axis=1, keepdims=0),
        node("Gather", ["table", "best"], ["names"]),
        node("Cast", ["mask"], ["bytes"], to=TensorProto.UINT8),
    ]
    weights = {"zero": np.float32(0), "table": np.arange(50, 81, dtype=np.int64)}
    proto = model(nodes, {"x": [4, 31]}, ["mask", "kept", "whole", "names", "bytes"], weights)
    check(proto, {"x": 3 * random((4, 31))}, target)


# Unusual graphs


@targets
def test_output_that_is_an_input(target: str) -> None:
    check(model([node("Relu", ["x"], ["y"])], {"x": [2, 3]}, ["x", "y"]), {"x": random((2, 3))}, target)


@targets
def test_model_without_nodes(target: str) -> None:
    check(model([], {"x": [2, 3]}, ["x"]), {"x": random((2, 3))}, target)


@targets
def test_outputs_of_one_value(target: str) -> None:
    nodes = [node("Relu", ["x"], ["y"]), node("Identity", ["y"], ["z"]), node("Relu", ["x"], ["w"])]
    check(model(nodes, {"x": [2, 3]}, ["y", "z", "w"]), {"x": random((2, 3))}, target)


@targets
def test_outputs_that_are_views_of_each_other(target: str) -> None:
    nodes = [node("Neg", ["x"], ["n"]), node("Reshape", ["n", "to"], ["y"]), node("Reshape", ["x", "to"], ["z"])]
    check(model(nodes, {"x": [2, 3]}, ["n", "y", "z"], {"to": np.array([3, 2])}), {"x": random((2, 3))}, target)


@targets
def test_constant_output_and_no_inputs(target: str) -> None:
    proto = model([node("Exp", ["c"], ["y"])], {}, ["y", "c"], {"c": random((4,))})
    check(proto, {}, target)


@targets
def test_input_that_nothing_reads(target: str) -> None:
    proto = model([node("Relu", ["x"], ["y"])], {"x": [2], "unused": [5]}, ["y"])
    check(proto, {"x": random((2,)), "unused": random((5,))}, target)


@targets
def test_scalars(target: str) -> None:
    x = random((1,)).reshape(())
    check(model([node("Exp", ["x"], ["y"])], {"x": []}, ["y"]), {"x": np.asarray(x)}, target)


@targets
@pytest.mark.parametrize(
    ("op", "shapes", "attributes"),
    [
        ("Relu", [(0, 3)], {}),
        ("Concat", [(0, 3), (2, 3)], {"axis": 0}),
        ("MatMul", [(2, 0), (0, 3)], {}),
        ("ReduceSum", [(2, 0)], {}),
        ("ReduceMax", [(0, 2)], {"axes": [1]}),
        ("Conv", [(0, 3, 8, 8), (4, 3, 3, 3)], {}),
        ("MaxPool", [(0, 3, 8, 8)], {"kernel_shape": [2, 2]}),
        ("Softmax", [(0, 5)], {}),
        ("Transpose", [(3, 0, 2)], {}),
    ],
)
def test_tensors_without_elements(
    op: str, shapes: list[tuple[int, ...]], attributes: dict[str, Any], target: str
) -> None:
    feeds = {f"x{i}": random(shape, i) for i, shape in enumerate(shapes)}
    proto = model([node(op, list(feeds), ["y"], **attributes)], {k: a.shape for k, a in feeds.items()}, ["y"])
    check(proto, feeds, target)


@targets
def test_names_that_no_language_likes(target: str) -> None:
    proto = model([node("Relu", ["x y/é:0"], ['"run"\n'], "*/ node")], {"x y/é:0": [3]}, ['"run"\n'])
    check(proto, {"x y/é:0": random((3,))}, target)


@targets
def test_runs_do_not_disturb_each_other(target: str) -> None:
    proto = model([node("Softmax", ["x"], ["y"])], {"x": [2, 9]}, ["y"])
    compiled = webnn_compile.compile(proto, target=target)
    first = compiled.run({"x": random((2, 9), 1)})
    kept = first["y"].copy()
    second = compiled.run({"x": random((2, 9), 2)})
    np.testing.assert_array_equal(first["y"], kept)
    np.testing.assert_array_equal(compiled.run({"x": random((2, 9), 1)})["y"], kept)
    assert not np.array_equal(second["y"], kept)


CYCLES = """
import gc, sys
import drivers, webnn_compile
drivers.missing(sys.argv[2])
for _ in range(20):
    model = webnn_compile.compile(sys.argv[1], target=sys.argv[2], shapes={"x": (2, 3)})
    model.itself = getattr(model, "_code", model).model = model
    del model
    gc.collect()
"""


@targets
def test_garbage_collection(target: str, tmp_path: Path) -> None:
    """The collector frees what a cycle of references holds in any order, which LLVM does not bear by itself."""
    onnx.save(relu(), tmp_path / "relu.onnx")
    command = [sys.executable, "-c", CYCLES, str(tmp_path / "relu.onnx"), target]
    tests = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(command, capture_output=True, text=True, env=tests)
    assert done.returncode == 0, done.stderr


# Arguments


def relu() -> onnx.ModelProto:
    return model([node("Relu", ["x"], ["y"])], {"x": ["n", 3]}, ["y"])


def test_path_bytes_and_message_are_one_model(tmp_path: Path) -> None:
    path = tmp_path / "relu.onnx"
    onnx.save(relu(), path)
    x = random((2, 3))
    for given in (relu(), path, str(path), path.read_bytes()):
        compiled = webnn_compile.compile(given, shapes={"x": (2, 3)})
        np.testing.assert_array_equal(compiled.run({"x": x})["y"], np.maximum(x, 0))


def test_unknown_target() -> None:
    with pytest.raises(InputError, match="target 'metal' is not known; choose one of native, c, wasm"):
        webnn_compile.compile(relu(), target="metal", shapes={"x": (2, 3)})


def test_free_dimension() -> None:
    with pytest.raises(InputError, match=r"dims={'n': 1}"):
        webnn_compile.compile(relu())


def test_unsupported_operator() -> None:
    with pytest.raises(UnsupportedError, match="ImageDecoder"):
        webnn_compile.compile(model([node("ImageDecoder", ["x"], ["y"])], {"x": [1, 4, 4]}, ["y"]))


@targets
@pytest.mark.parametrize(
    ("feeds", "reason"),
    [
        ({}, "input 'x' is missing"),
        ({"x": np.zeros((2, 3), np.float32), "z": np.zeros(1)}, "no input 'z'; the model has 'x'"),
        ({"x": np.zeros((3, 2), np.float32)}, r"input 'x': expected float32\[2, 3\], got float32\[3, 2\]"),
        ({"x": np.zeros((2, 3))}, r"input 'x': expected float32\[2, 3\], got float64\[2, 3\]"),
    ],
)
def test_wrong_arrays(feeds: dict[str, Array], reason: str, target: str) -> None:
    compiled = webnn_compile.compile(relu(), target=target, shapes={"x": (2, 3)})
    with pytest.raises(InputError, match=reason):
        compiled.run(feeds)


@pytest.mark.parametrize("target", ["wasm", "wasm-relaxed"])
def test_model_too_large_for_wasm32(target: str) -> None:
    nodes = [node("MatMul", ["x", "w"], ["m"]), node("Softmax", ["m"], ["s"]), node("ReduceMax", ["s"], ["y"])]
    proto = model(nodes, {"x": [40000, 2]}, ["y", "s"], {"w": random((2, 40000))})
    with pytest.raises(InputError, match=r"needs 5\.9\d GiB of memory .* but wasm32 has 4 GiB: use a smaller input"):
        webnn_compile.compile(proto, target=target)
