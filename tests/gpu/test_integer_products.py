"""Products of bytes on devices, which hold them in 32 bits, against NumPy in 64: they take the tiles of float32."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import integer_product, random_integers
from webnn_compile.execution.device_model import DeviceModel

DEVICES = ["cuda", "opencl", "webgl", "webgpu"]


def drawn(shape: tuple[int, ...], dtype: type[np.integer], seed: int) -> np.ndarray:
    return random_integers(np.random.default_rng(seed), shape, dtype)


def run(target: str, proto: onnx.ModelProto, x: np.ndarray) -> tuple[np.ndarray, DeviceModel]:
    need_driver(target)
    compiled = webnn_compile.compile(proto, target)
    assert isinstance(compiled, DeviceModel)
    return compiled.run({"x": x})["y"], compiled


@pytest.mark.parametrize("target", DEVICES)
@pytest.mark.parametrize(("rows", "depth", "columns"), [(1, 300, 37), (37, 61, 45), (120, 256, 64)])
def test_product_of_matrices(target: str, rows: int, depth: int, columns: int) -> None:
    x, w = drawn((rows, depth), np.uint8, 1), drawn((depth, columns), np.int8, 2)
    y, _ = run(target, integer_product("MatMulInteger", x.shape, w, (131, 3)), x)
    np.testing.assert_array_equal(y, (x.astype(np.int64) - 131) @ (w.astype(np.int64) - 3))


@pytest.mark.parametrize("target", DEVICES)
def test_convolution(target: str) -> None:
    x, w = drawn((1, 6, 15, 17), np.uint8, 3), drawn((10, 3, 3, 3), np.int8, 4)
    attributes = {"group": 2, "strides": [2, 1], "pads": [1, 1, 0, 1]}
    y, _ = run(target, integer_product("ConvInteger", x.shape, w, (131, 3), **attributes), x)
    padded = np.pad(x.astype(np.int64) - 131, ((0, 0), (0, 0), (1, 0), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2]
    groups = [
        np.einsum("nchwij,ocij->nohw", windows[:, 3 * g : 3 * g + 3], w[5 * g : 5 * g + 5].astype(np.int64) - 3)
        for g in range(2)
    ]
    np.testing.assert_array_equal(y, np.concatenate(groups, 1))


@pytest.mark.parametrize(("target", "vector"), [("cuda", "int4"), ("opencl", "int4"), ("webgpu", "vec4i")])
def test_tiles_are_those_of_float32(target: str, vector: str) -> None:
    """Sums stand in registers, in vectors of four columns."""
    x, w = drawn((64, 64), np.uint8, 7), drawn((64, 64), np.int8, 8)
    _, compiled = run(target, integer_product("MatMulInteger", x.shape, w, (131, 3)), x)
    (source,) = (k.source for k in compiled.program.kernels if "acc" in k.source)
    assert vector in source
