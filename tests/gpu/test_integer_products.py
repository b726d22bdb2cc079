"""Products of bytes on devices, which hold them in 32 bits, against NumPy in 64: they take the tiles of float32."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx import helper, numpy_helper
from webnn_compile.driver.build_device import DeviceBuild
from webnn_compile.driver.options import Options
from webnn_compile.driver.targets import TARGETS
from webnn_compile.driver.work import Work
from webnn_compile.execution.device_model import DeviceModel
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.pipeline.weights import Weights
from webnn_compile.system.cache import Cache
from webnn_compile.wgsl import WebGpu

DEVICES = ["cuda", "opencl", "webgl", "webgpu"]


def drawn(shape: tuple[int, ...], dtype: type[np.integer], seed: int) -> np.ndarray:
    info = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(info.min, info.max, shape, dtype, endpoint=True)


def integer_model(
    op: str, x: np.ndarray, w: np.ndarray, rank: int, w_zero: int = 3, **attributes: object
) -> onnx.ModelProto:
    """One operator on x less 131 and the constant w less `w_zero`."""
    zeros = {"x_zero": np.uint8(131), "w_zero": np.int8(w_zero), "w": w}
    graph = helper.make_graph(
        [helper.make_node(op, ["x", "w", "x_zero", "w_zero"], ["y"], **attributes)],
        "integers",
        [helper.make_tensor_value_info("x", onnx.TensorProto.UINT8, x.shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.INT32, [None] * rank)],
        [numpy_helper.from_array(np.asarray(a), name) for name, a in zeros.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def run(target: str, proto: onnx.ModelProto, x: np.ndarray) -> tuple[np.ndarray, DeviceModel]:
    need_driver(target)
    compiled = webnn_compile.compile(proto, target)
    assert isinstance(compiled, DeviceModel)
    return compiled.run({"x": x})["y"], compiled


@pytest.mark.parametrize("target", DEVICES)
@pytest.mark.parametrize(("rows", "depth", "columns"), [(1, 300, 37), (37, 61, 45), (120, 256, 64)])
def test_product_of_matrices(target: str, rows: int, depth: int, columns: int) -> None:
    x, w = drawn((rows, depth), np.uint8, 1), drawn((depth, columns), np.int8, 2)
    y, _ = run(target, integer_model("MatMulInteger", x, w, 2), x)
    np.testing.assert_array_equal(y, (x.astype(np.int64) - 131) @ (w.astype(np.int64) - 3))


@pytest.mark.parametrize("target", DEVICES)
def test_convolution(target: str) -> None:
    x, w = drawn((1, 6, 15, 17), np.uint8, 3), drawn((10, 3, 3, 3), np.int8, 4)
    y, _ = run(target, integer_model("ConvInteger", x, w, 4, group=2, strides=[2, 1], pads=[1, 1, 0, 1]), x)
    padded = np.pad(x.astype(np.int64) - 131, ((0, 0), (0, 0), (1, 0), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2]
    groups = [
        np.einsum("nchwij,ocij->nohw", windows[:, 3 * g : 3 * g + 3], w[5 * g : 5 * g + 5].astype(np.int64) - 3)
        for g in range(2)
    ]
    np.testing.assert_array_equal(y, np.concatenate(groups, 1))


def test_product_in_shared_memory(tmp_path: Path) -> None:
    need_driver("webgpu")
    x, w = drawn((256, 36), np.uint8, 5), drawn((36, 512), np.int8, 6)
    onnx.save(integer_model("MatMulInteger", x, w, 2, w_zero=0), tmp_path / "model.onnx")
    work = Work("model", Options(targets=("webgpu",), gpu_tiles="shared"), Cache(None), lambda _: None, str)
    weights = Weights()
    lowered = lower_model(run_graph_passes(import_model(tmp_path / "model.onnx")), policy=WebGpu().layouts)
    build = TARGETS["webgpu"].bundle(lowered, weights, work)
    assert isinstance(build, DeviceBuild)
    assert any("var<workgroup>" in k.source and "vec4i" in k.source for k in build.program.kernels)
    y = build.target.run(build.program, weights.blob()).run({"x": x})["y"]
    np.testing.assert_array_equal(y, (x.astype(np.int64) - 131) @ w.astype(np.int64))


@pytest.mark.parametrize(("target", "vector"), [("cuda", "int4"), ("opencl", "int4"), ("webgpu", "vec4i")])
def test_tiles_are_those_of_float32(target: str, vector: str) -> None:
    """Sums stand in registers, in vectors of four columns."""
    x, w = drawn((64, 64), np.uint8, 7), drawn((64, 64), np.int8, 8)
    _, compiled = run(target, integer_model("MatMulInteger", x, w, 2), x)
    (source,) = (k.source for k in compiled.program.kernels if "acc" in k.source)
    assert vector in source
