"""Products by tensor cores: float16 under --precision f16, TF32 under tf32; what cannot take them does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import model, node, random
from webnn_compile.cuda.facts import target_for
from webnn_compile.driver.options import Options
from webnn_compile.errors import InputError
from webnn_compile.execution.device_model import DeviceModel

Array = np.ndarray[Any, np.dtype[Any]]
ERRORS = {"f16": 4e-3, "tf32": 4e-3, "f32": 1e-5}
"""Tolerances, relative to the largest result."""


@pytest.fixture(autouse=True)
def small_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few multiprocessors, which the products below keep busy: by default others take no tensor cores."""
    monkeypatch.setattr("webnn_compile.cuda.facts.target_for", lambda _, *rest: target_for(4, *rest))


def dense(rows: int = 200, depth: int = 100, columns: int = 128) -> onnx.ModelProto:
    """Two layers: between them is a tensor that halves can store."""
    nodes = [
        node("MatMul", ["x", "w"], ["h"]),
        node("Add", ["h", "b"], ["i"]),
        node("Relu", ["i"], ["j"]),
        node("MatMul", ["j", "v"], ["k"]),
        node("Add", ["k", "j"], ["y"]),
    ]
    weights = {"w": random((depth, columns)), "b": random((columns,), 1), "v": random((columns, columns), 2)}
    return model(nodes, {"x": [rows, depth]}, ["y"], weights)


def convolution() -> onnx.ModelProto:
    """Rows in the last tile are few, K is no whole number of turns, and there is a halo."""
    nodes = [
        node("Conv", ["x", "w"], ["h"], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("Conv", ["h", "v", "b"], ["i"], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("LeakyRelu", ["i"], ["y"]),
    ]
    weights = {"w": random((20, 8, 3, 3)), "v": random((128, 20, 3, 3), 1) / 5, "b": random((128,), 2)}
    return model(nodes, {"x": [1, 8, 41, 50]}, ["y"], weights)


def compiled(made: onnx.ModelProto, precision: str) -> DeviceModel:
    need_driver("cuda")
    found = webnn_compile.compile(made, "cuda", precision=precision, fast_math=False, cache=False)
    assert isinstance(found, DeviceModel)
    return found


def products(found: DeviceModel) -> int:
    """Kernels that multiply by tensor cores."""
    return sum("multiply(c_" in k.source for k in found.program.kernels)


@pytest.mark.parametrize("precision", ERRORS)
@pytest.mark.parametrize("make", [dense, convolution])
def test_results(make: Any, precision: str) -> None:
    made = make()
    found = compiled(made, precision)
    x = random([d.dim_value for d in made.graph.input[0].type.tensor_type.shape.dim], 3)
    expected = webnn_compile.compile(made).run({"x": x})["y"]
    got = found.run({"x": x})["y"]
    error = np.abs(got - expected).max() / np.abs(expected).max()
    assert error < ERRORS[precision]
    assert products(found) == {"f32": 0, "f16": 1, "tf32": 2 if make is dense else 1}[precision]
    assert (error > ERRORS["f32"]) == (precision != "f32")


def test_sums_are_float32() -> None:
    """Sums of 2048 numbers, which in float16 would stop growing."""
    ones = model([node("MatMul", ["x", "w"], ["y"])], {"x": [256, 2048]}, ["y"], {"w": np.ones((2048, 64), np.float32)})
    x = np.ones((256, 2048), np.float32) * np.float32(1 + 2**-9)
    np.testing.assert_array_equal(compiled(ones, "tf32").run({"x": x})["y"], np.full((256, 64), 2048 + 4, np.float32))


def test_tf32_is_rounded_to_nearest() -> None:
    """1 + 2^-11 is half way to the next number of ten bits: away from zero; what is less, towards it."""
    eye = model([node("MatMul", ["x", "w"], ["y"])], {"x": [256, 64]}, ["y"], {"w": np.eye(64, dtype=np.float32)})
    x = np.zeros((256, 64), np.float32)
    x[0, :4] = 1 + 2**-11, 1 + 2**-12, -1 - 2**-11, np.float32(3e38)
    found = compiled(eye, "tf32")
    assert products(found) == 1
    np.testing.assert_array_equal(found.run({"x": x})["y"][0, :3], np.float32([1 + 2**-10, 1, -1 - 2**-10]))
    x[0, 0], x[1, 1], x[2, 2] = np.uint32([0x7FFFFFFF, 0x7F800000, 0x7F800001]).view(np.float32)
    y = found.run({"x": x})["y"]
    assert not np.isfinite(y[:3]).any()
    assert np.isfinite(y[3:]).all()


@pytest.mark.parametrize(("precision", "capability"), [("f16", 75), ("f16", 90), ("tf32", 80), ("tf32", 90)])
def test_nvrtc_compiles(precision: str, capability: int) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    from webnn_compile.cuda.nvrtc import compile_source

    for make in (dense, convolution):
        for kernel in compiled(make(), precision).program.kernels:
            assert compile_source(kernel.with_subgroups or kernel.source, capability).startswith(b"\x7fELF")


def test_a_gpu_without_tf32() -> None:
    with pytest.raises(
        InputError, match=r"precision tf32 needs compute capability 8.0, this GPU has 7.5: use f16 or f"
    ):
        target_for(40, 75, "tf32")
    assert target_for(40, 75, "f16").matrix is not None
    assert target_for(40, 90, "f32").matrix is None


def test_other_targets_have_no_tf32() -> None:
    message = "precision 'tf32' is not known for the target opencl; choose one of f32, f16"
    with pytest.raises(InputError, match=message):
        webnn_compile.compile(dense(), "opencl", precision="tf32")
    with pytest.raises(InputError, match="--precision tf32: choose one of f32, f16"):
        Options(precision="tf32").check()
