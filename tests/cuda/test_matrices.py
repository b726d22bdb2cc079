"""Products by tensor cores: float16 under --precision f16, TF32 under tf32, quantised ones at any; what cannot take
them does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import integer_product, model, node, onnxruntime_results, random, random_integers
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


LARGE_ZEROS = 255, -128
"""Zero points of x and of w that leave quanta of nine bits."""


@pytest.mark.parametrize("precision", ["f32", "f16"])
@pytest.mark.parametrize("zeros", [(131, 0), LARGE_ZEROS, (0, 127)])
def test_sums_of_integers_are_exact(zeros: tuple[int, int], precision: str) -> None:
    """Operands of both ends of their range, too."""
    rng = np.random.default_rng(sum(zeros))
    x, w = random_integers(rng, (200, 176), np.uint8), random_integers(rng, (176, 192), np.int8)
    x[:3], x[3:6], w[:, :2], w[:, 2:4] = 0, 255, -128, 127
    found = compiled(integer_product("MatMulInteger", x.shape, w, zeros), precision)
    expected = (x.astype(np.int64) - zeros[0]) @ (w.astype(np.int64) - zeros[1])
    np.testing.assert_array_equal(found.run({"x": x})["y"], expected)
    assert products(found) == 1
    (product,) = (k for k in found.program.kernels if "multiply(c_" in k.source)
    assert product.params[0].dtype.name == "float16"


def quantised(symmetric: bool) -> onnx.ModelProto:
    """Two quantised convolutions with halos, strides and few rows in the last tile, in QDQ."""
    rng = np.random.default_rng(5)
    shapes = {"v": (64, 16, 3, 3), "w": (128, 64, 3, 3)}
    weights: dict[str, Array] = {name: random_integers(rng, s, np.int8) for name, s in shapes.items()}
    zero = 0 if symmetric else 7
    scales = {"s": np.float32(0.02), "r": np.float32(0.1), "ws": rng.uniform(1e-3, 4e-3, 1).astype(np.float32)[0]}
    zeros = {"z": np.uint8(120), "rz": np.uint8(0), "wz": np.int8(zero)}
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["xq"]),
        node("DequantizeLinear", ["xq", "s", "z"], ["xd"]),
        node("DequantizeLinear", ["v", "ws", "wz"], ["vd"]),
        node("Conv", ["xd", "vd"], ["h"], pads=[1, 1, 1, 1]),
        node("QuantizeLinear", ["h", "r", "rz"], ["hq"]),
        node("DequantizeLinear", ["hq", "r", "rz"], ["hd"]),
        node("DequantizeLinear", ["w", "ws", "wz"], ["wd"]),
        node("Conv", ["hd", "wd"], ["i"], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("QuantizeLinear", ["i", "r", "rz"], ["iq"]),
        node("DequantizeLinear", ["iq", "r", "rz"], ["y"]),
    ]
    constants = {k: np.asarray(v) for k, v in {**weights, **scales, **zeros}.items()}
    return model(nodes, {"x": [1, 16, 21, 26]}, ["y"], constants)


@pytest.mark.parametrize("symmetric", [True, False])
def test_quantised_convolutions(symmetric: bool) -> None:
    """The bits of the processor's kernels, and at most a step from onnxruntime."""
    made = quantised(symmetric)
    found, x = compiled(made, "f32"), random((1, 16, 21, 26), 9)
    got = found.run({"x": x})["y"]
    assert products(found) == 2
    assert len(np.unique(got)) > 20
    np.testing.assert_array_equal(got, webnn_compile.compile(made).run({"x": x})["y"])
    steps = np.abs(got - onnxruntime_results(made, {"x": x})["y"]) / 0.1
    assert steps.max() < 1.01
    assert (steps > 0.5).mean() < 1e-3


def test_scaled_operands_are_not_rounded() -> None:
    """float32 operands, which float16 would round, stay on the other units, beside quantised ones too."""
    rng = np.random.default_rng(6)
    w = random_integers(rng, (64, 64), np.int8)
    nodes = [
        node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        node("Add", ["d", "b"], ["e"]),
        node("DequantizeLinear", ["w", "ws"], ["wd"]),
        node("MatMul", ["e", "wd"], ["y"]),
    ]
    constants = {"w": w, "ws": np.float32(0.013), "b": random((64,), 1)}
    made = model(nodes, {"x": [256, 64]}, ["y"], {k: np.asarray(v) for k, v in constants.items()})
    found, x = compiled(made, "f32"), random((256, 64), 2)
    assert products(found) == 0
    expected = webnn_compile.compile(made).run({"x": x})["y"]
    np.testing.assert_allclose(found.run({"x": x})["y"], expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("capability", [75, 90])
def test_nvrtc_compiles_integers(capability: int) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    from webnn_compile.cuda.nvrtc import compile_source

    for kernel in compiled(quantised(symmetric=False), "f32").program.kernels:
        assert compile_source(kernel.with_subgroups or kernel.source, capability).startswith(b"\x7fELF")


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
    found = target_for(40, 75, "f32").matrix
    assert found is not None
    assert found.operands == "integers"


def test_other_targets_have_no_tf32() -> None:
    message = "precision 'tf32' is not known for the target opencl; choose one of f32, f16"
    with pytest.raises(InputError, match=message):
        webnn_compile.compile(dense(), "opencl", precision="tf32")
    with pytest.raises(InputError, match="--precision tf32: choose one of f32, f16"):
        Options(precision="tf32").check()
