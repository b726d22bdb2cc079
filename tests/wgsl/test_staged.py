"""Products through shared memory on a device, against NumPy: real sizes are too much for the interpreter."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from drivers import need_driver
from kernel_checks import inputs_for, laid_out, taken_out
from nests import biased_product
from onnx_models import Array, integer_product, model, node, random, random_integers
from run_lowered import run_lowered
from tint import assert_valid
from webnn_compile.driver.build_device import DeviceBuild
from webnn_compile.driver.options import Options
from webnn_compile.driver.targets import TARGETS
from webnn_compile.driver.work import Work
from webnn_compile.errors import InputError
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.pipeline.weights import Weights
from webnn_compile.schedule.schedule_simt import schedule_simt
from webnn_compile.simt.lower import lower
from webnn_compile.system.cache import Cache
from webnn_compile.target import GpuTarget
from webnn_compile.wgsl import WebGpu, render

STAGED = GpuTarget("staged", minimum_occupancy=1, shared_tiles=True)


@pytest.mark.parametrize(("rows", "columns", "depth"), [(64, 64, 16), (70, 128, 20), (128, 64, 100)])
def test_product(rows: int, columns: int, depth: int) -> None:
    naive = biased_product(rows, columns, depth).kernel
    kernel = schedule_simt(naive, STAGED)
    lowered = lower(kernel)
    text = render(lowered)
    assert "var<workgroup> a_0: array<vec4f, 256>;" in text
    assert_valid([text])
    a, b, bias = inputs_for(naive)
    arrays = [laid_out(p, x) for p, x in zip(kernel.params, (a, b, bias), strict=False)]
    out = np.full(kernel.params[-1].shape, np.nan, np.float32)
    (result,) = run_lowered("webgpu", lowered, [*arrays, out])
    want = np.maximum(a.astype(np.float64) @ b + bias, 0)
    np.testing.assert_allclose(taken_out(kernel.params[-1], result), want, atol=1e-5 * np.abs(want).max())


def run_by_tiles(proto: onnx.ModelProto, tiles: str, x: Array) -> tuple[Array, list[str]]:
    """The result of a model's only input, with this `--gpu-tiles`, and the sources of its kernels."""
    need_driver("webgpu")
    work = Work("model", Options(targets=("webgpu",), gpu_tiles=tiles), Cache(None), lambda _: None, str)
    weights = Weights()
    lowered = lower_model(run_graph_passes(import_model(proto)), policy=WebGpu().layouts)
    build = TARGETS["webgpu"].bundle(lowered, weights, work)
    assert isinstance(build, DeviceBuild)
    y = build.target.run(build.program, weights.blob()).run({"x": x})["y"]
    return y, [k.source for k in build.program.kernels]


def test_the_option_reaches_the_kernels() -> None:
    x, w = random((256, 32), 1), random((32, 512), 2)
    proto = model([node("MatMul", ["x", "w"], ["y"])], {"x": list(x.shape)}, ["y"], {"w": w})
    for tiles in ("registers", "shared"):
        y, sources = run_by_tiles(proto, tiles, x)
        assert any("var<workgroup>" in s for s in sources) == (tiles == "shared")
        np.testing.assert_allclose(y, x.astype(np.float64) @ w, atol=1e-4)
    with pytest.raises(InputError, match="--gpu-tiles caches: choose one of registers, shared"):
        Options(gpu_tiles="caches").check()


def test_product_of_integers() -> None:
    generator = np.random.default_rng(5)
    x, w = random_integers(generator, (256, 36), np.uint8), random_integers(generator, (36, 512), np.int8)
    y, sources = run_by_tiles(integer_product("MatMulInteger", x.shape, w, (131, 0)), "shared", x)
    assert any("var<workgroup>" in s and "vec4i" in s for s in sources)
    np.testing.assert_array_equal(y, (x.astype(np.int64) - 131) @ w.astype(np.int64))
