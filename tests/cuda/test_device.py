"""The CUDA device, on a GPU or its emulation: memory, graphs, and what the user reads where something is missing."""

from __future__ import annotations

import gc
import importlib.util
from collections.abc import Iterator

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import model, node, random
from webnn_compile.cuda.facts import target_for
from webnn_compile.driver import device_target
from webnn_compile.errors import InputError, InternalError
from webnn_compile.execution.device_model import DeviceModel

X = random((3, 40))


def product(rows: int | str = 3) -> onnx.ModelProto:
    nodes = [node("MatMul", ["x", "w"], ["m"]), node("Relu", ["m"], ["y"])]
    return model(nodes, {"x": [rows, 40]}, ["y"], {"w": random((40, 7), 1)})


def compiled() -> DeviceModel:
    need_driver("cuda")
    made = webnn_compile.compile(product(), "cuda", cache=False)
    assert isinstance(made, DeviceModel)
    return made


EXPECTED = np.maximum(X @ random((40, 7), 1), 0)


def test_facts_decide_the_target() -> None:
    small, large = target_for(10), target_for(132)
    assert small.minimum_occupancy < large.minimum_occupancy
    assert (large.workgroup_bytes, large.workgroups) == (49152, 65535)


def test_launches_of_a_run_are_one_graph() -> None:
    import emulated_cuda
    from webnn_compile.cuda import device

    made = compiled()
    if not isinstance(device.driver, emulated_cuda.EmulatedDriver):
        pytest.skip("a GPU does not tell its graphs")
    before = device.driver.graphs_launched
    for _ in range(3):
        np.testing.assert_allclose(made.run({"x": X})["y"], EXPECTED, rtol=1e-5, atol=1e-5)
    assert device.driver.graphs_launched - before == 3


REPEATED = """
<ir_version: 10, opset_import: ["" : 21]>
repeated (float[4] x, int64 n) => (float[4] y)
<bool c = {1}>
{
  y = Loop(n, c, x) <body = body (int64 i, bool before, float[4] a) => (bool after, float[4] b) {
    after = Identity(before)
    double = Add(a, a)
    b = Sin(double)
  }>
}
"""


def test_an_iteration_is_a_graph() -> None:
    import emulated_cuda
    from webnn_compile.cuda import device

    need_driver("cuda")
    made = webnn_compile.compile(onnx.parser.parse_model(REPEATED), "cuda", dims={"n": (0, 9)}, cache=False)
    launched = []
    for iterations in (2, 5):
        before = device.driver.graphs_launched if isinstance(device.driver, emulated_cuda.EmulatedDriver) else 0
        x = expected = np.linspace(-1, 1, 4, dtype=np.float32)
        for _ in range(iterations):
            expected = np.sin(expected + expected)
        found = made.run({"x": x, "n": np.int64(iterations)})["y"]
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
        if isinstance(device.driver, emulated_cuda.EmulatedDriver):
            launched.append(device.driver.graphs_launched - before)
    assert not launched or launched[1] - launched[0] == 3


def test_sizes_of_a_run_are_arguments() -> None:
    need_driver("cuda")
    made = webnn_compile.compile(product("rows"), "cuda", dims={"rows": (1, 3)}, cache=False)
    for rows in (3, 1):
        np.testing.assert_allclose(made.run({"x": X[:rows]})["y"], EXPECTED[:rows], rtol=1e-5, atol=1e-5)


def test_memory_is_given_back() -> None:
    import emulated_cuda
    from webnn_compile.cuda import device

    made = compiled()
    if not isinstance(device.driver, emulated_cuda.EmulatedDriver):
        pytest.skip("a GPU does not tell what is allocated")
    gc.collect()
    before = len(device.driver.memory)
    other = compiled()
    assert len(device.driver.memory) > before
    del other
    assert len(device.driver.memory) == before
    made.close()
    assert len(device.driver.memory) < before
    with pytest.raises(InputError, match="the model is closed"):
        made.run({"x": X})


@pytest.fixture
def fresh_device() -> Iterator[None]:
    """The device is opened anew, before and after."""
    need_driver("cuda")
    from webnn_compile.cuda import device

    device.open_device.cache_clear()
    yield
    device.open_device.cache_clear()


def test_no_driver(fresh_device: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from webnn_compile.cuda import device

    def missing(_: int) -> tuple[object]:
        raise RuntimeError("libcuda.so.1: cannot open shared object file")

    monkeypatch.setattr(device.driver, "cuInit", missing)
    with pytest.raises(InputError, match=r"no CUDA device \(.* libcuda .*\); install NVIDIA's driver"):
        compiled()


def test_no_gpu(fresh_device: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from webnn_compile.cuda import device

    none = device.driver.CUresult.CUDA_ERROR_NO_DEVICE
    monkeypatch.setattr(device.driver, "cuDeviceGet", lambda _: (none, None))
    with pytest.raises(InputError, match=r"no CUDA device \(.*CUDA_ERROR_NO_DEVICE\)"):
        compiled()


def test_a_driver_older_than_nvrtc(monkeypatch: pytest.MonkeyPatch) -> None:
    need_driver("cuda")
    from webnn_compile.cuda import device

    old = device.driver.CUresult.CUDA_ERROR_UNSUPPORTED_PTX_VERSION
    monkeypatch.setattr(device.driver, "cuModuleLoadData", lambda _: (old, None))
    with pytest.raises(InputError, match=r"driver of .* is older than NVRTC \(CUDA_ERROR_UNSUPPORTED.*: update"):
        compiled()


def test_gpus_that_nvrtc_does_not_know() -> None:
    """Newer ones get PTX, for the driver to compile; older ones are refused."""
    need_driver("cuda")
    from webnn_compile.cuda.nvrtc import compile_source

    text = 'extern "C" __global__ void run(float *a) { a[0] = 1.0f; }'
    assert compile_source(text, 90).startswith(b"\x7fELF")
    assert b".target sm_" in compile_source(text, 999)
    with pytest.raises(InputError, match=r"compute capability 3\.5, NVRTC \d+\.\d+ compiles for 7\.5 and newer"):
        compile_source(text, 35)
    with pytest.raises(InternalError, match=r'NVRTC refuses the generated code: .*identifier "b" is undefined'):
        compile_source(text.replace("1.0f", "b"), 90)


@pytest.mark.parametrize(("target", "package"), [("cuda", "cuda.bindings"), ("opencl", "pyopencl")])
def test_a_package_is_missing(target: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(device_target.importlib.util, "find_spec", lambda name: None if name == package else find(name))
    with pytest.raises(InputError, match=rf"target {target} needs the package {package}: .*webnn-compile\[{target}\]"):
        webnn_compile.compile(product(), target)
