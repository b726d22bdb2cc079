"""Dynamically quantised layers on devices: few launches, and the same bits as on processors."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import Array, model, node, random_integers
from webnn_compile.execution.device_model import DeviceModel

DEVICES = ["cuda", "opencl", "webgl", "webgpu"]
COLUMNS = 8


def layers(shape: tuple[int | str, ...], count: int = 2) -> onnx.ModelProto:
    """Products of the same dynamically quantised tensor, each with a scale of its own."""
    generator = np.random.default_rng(1)
    depth = shape[-1]
    assert isinstance(depth, int)
    nodes = [node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"])]
    constants: dict[str, Array] = {}
    for i in range(count):
        constants[f"w{i}"] = random_integers(generator, (depth, COLUMNS), np.int8)
        constants[f"c{i}"] = np.asarray(0.01 * (i + 1), np.float32)
        nodes += [
            node("MatMulInteger", ["q", f"w{i}", "z"], [f"i{i}"]),
            node("Cast", [f"i{i}"], [f"f{i}"], to=onnx.TensorProto.FLOAT),
            node("Mul", ["s", f"c{i}"], [f"m{i}"]),
            node("Mul", [f"f{i}", f"m{i}"], [f"y{i}"]),
        ]
    return model(nodes, {"x": list(shape)}, [f"y{i}" for i in range(count)], constants)


def expected(x: Array, proto: onnx.ModelProto) -> list[Array]:
    """As ONNX defines it, in float32."""
    constants = {t.name: onnx.numpy_helper.to_array(t) for t in proto.graph.initializer}
    low, high = np.float32(min(x.min(initial=0), 0)), np.float32(max(x.max(initial=0), 0))
    scale = np.float32(1) if low == high else (high - low) / np.float32(255)
    zero = np.clip(np.rint(-low / scale), 0, 255)
    q = np.clip(np.rint(x / scale) + zero, 0, 255) - zero
    return [
        (q @ constants[f"w{i}"].astype(np.float32)) * (scale * constants[f"c{i}"])
        for i in range(len(proto.graph.output))
    ]


def compiled_for(target: str, proto: onnx.ModelProto, **options: object) -> DeviceModel:
    need_driver(target)
    compiled = webnn_compile.compile(proto, target, **options)  # type: ignore[arg-type]
    assert isinstance(compiled, DeviceModel)
    return compiled


def drawn(shape: tuple[int, ...]) -> Array:
    return np.random.default_rng(2).standard_normal(shape).astype(np.float32)


SHAPES = [(1, 1), (3, 5), (1, 999), (61, 67), (2, 40, 96)]


@pytest.mark.parametrize("target", DEVICES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bits(target: str, shape: tuple[int, ...]) -> None:
    proto = layers(shape)
    compiled = compiled_for(target, proto)
    for x in (drawn(shape), np.abs(drawn(shape)), -np.abs(drawn(shape)) - 1, np.zeros(shape, np.float32)):
        for y, z in zip(compiled.run({"x": x}).values(), expected(x, proto), strict=True):
            np.testing.assert_array_equal(y, z)


@pytest.mark.parametrize("target", DEVICES)
def test_bits_of_what_is_no_number(target: str) -> None:
    """As on processors."""
    x = drawn((5, 12))
    proto = layers(x.shape)
    native, compiled = webnn_compile.compile(proto), compiled_for(target, proto)
    for value in (np.nan, np.inf, -np.inf, 3e38, 1e-38):
        x[2, 3] = value
        results, others = compiled.run({"x": x}), native.run({"x": x})
        for name, y in results.items():
            np.testing.assert_array_equal(y, others[name])


@pytest.mark.parametrize("target", DEVICES)
def test_bits_of_sizes_that_vary(target: str) -> None:
    proto = layers(("n", 24))
    compiled = compiled_for(target, proto, dims={"n": (1, 50)})
    for n in (50, 1, 17):
        x = drawn((n, 24))
        for y, z in zip(compiled.run({"x": x}).values(), expected(x, proto), strict=True):
            np.testing.assert_array_equal(y, z)


@pytest.mark.parametrize(
    ("target", "shape", "launches"), [("webgpu", (40, 96), 2), ("webgl", (40, 96), 3), ("webgl", (8, 96), 2)]
)
def test_launches(target: str, shape: tuple[int, ...], launches: int) -> None:
    """Besides the products one for the range, or two where WebGL makes it in stages, and one that quantises. Products
    of all layers are one kernel."""
    for count in (1, 3):
        program = compiled_for(target, layers(shape, count)).program
        assert len(program.launches) == launches + count
        assert len(program.kernels) == launches + 1
