"""The facts of OpenCL devices, and what the user reads where there is none."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import model, node, random
from webnn_compile.errors import InputError, InternalError
from webnn_compile.opencl.facts import CPU, target_of

GPU = 4
FACTS = {
    "type": GPU,
    "max_compute_units": 10,
    "max_parameter_size": 1024,
    "local_mem_size": 65536,
    "max_work_group_size": 1024,
    "max_work_item_sizes": [1024, 1024, 64],
    "max_mem_alloc_size": 2**33,
    "extensions": "cl_khr_byte_addressable_store cl_khr_fp16",
}


def test_facts_decide_the_target() -> None:
    gpu = target_of(SimpleNamespace(**FACTS))
    assert (gpu.storage_buffers, gpu.workgroup_bytes, gpu.invocations) == (64, 32768, 256)
    assert gpu.binding_bytes == 2**31 - 1
    small = {"max_work_group_size": 64, "local_mem_size": 16384, "max_parameter_size": 256, "max_mem_alloc_size": 2**28}
    limited = target_of(SimpleNamespace(**{**FACTS, **small}))
    assert (limited.storage_buffers, limited.workgroup_bytes, limited.invocations) == (32, 16384, 64)
    assert limited.binding_bytes == 2**28
    assert not gpu.subgroups
    assert target_of(SimpleNamespace(**{**FACTS, "extensions": "cl_khr_fp64 cl_khr_subgroups"})).subgroups
    assert target_of(SimpleNamespace(**{**FACTS, "type": CPU})).minimum_occupancy < gpu.minimum_occupancy


def product() -> bytes:
    nodes = [node("MatMul", ["x", "w"], ["y"])]
    proto = model(nodes, {"x": [3, 40]}, ["y"], {"w": random((40, 7), 1)})
    return bytes(proto.SerializeToString())


def test_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    cl = pytest.importorskip("pyopencl")
    from webnn_compile.opencl import device

    def none() -> list[object]:
        raise cl.LogicError("clGetPlatformIDs failed: PLATFORM_NOT_FOUND_KHR")

    device.open_device.cache_clear()
    monkeypatch.setattr(cl, "get_platforms", none)
    with pytest.raises(InputError, match=r"target opencl: no OpenCL device \(.*PLATFORM_NOT_FOUND.*pocl-opencl-icd"):
        webnn_compile.compile(product(), "opencl", cache=False)


def test_a_device_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    need_driver("opencl")
    from webnn_compile.opencl import device

    device.open_device.cache_clear()
    monkeypatch.setenv(device.VARIABLE, "no such device")
    with pytest.raises(InputError, match=r"no OpenCL device is called 'no such device'; there are: "):
        webnn_compile.compile(product(), "opencl", cache=False)
    name = device.devices()[0].name
    device.open_device.cache_clear()
    monkeypatch.setenv(device.VARIABLE, name[:4].upper())
    x = random((3, 40))
    made = webnn_compile.compile(product(), "opencl", cache=False)
    assert made.backend == "opencl"
    np.testing.assert_allclose(made.run({"x": x})["y"], x @ random((40, 7), 1), rtol=1e-5, atol=1e-5)


def test_memory_is_given_back() -> None:
    need_driver("opencl")
    made = webnn_compile.compile(product(), "opencl", cache=False)
    made.close()  # type: ignore[union-attr]
    with pytest.raises(InputError, match="the model is closed"):
        made.run({"x": random((3, 40))})


def test_what_the_driver_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lack of memory is no fault of the compiler."""
    need_driver("opencl")
    import pyopencl as cl

    def fails(error: type[Exception]) -> None:
        def make(*_: object) -> None:
            raise error("clCreateBuffer failed")

        monkeypatch.setattr(cl, "Buffer", make)

    fails(cl.MemoryError)
    with pytest.raises(InputError, match="target opencl: too little memory is left for this model"):
        webnn_compile.compile(product(), "opencl")
    fails(cl.LogicError)
    with pytest.raises(InternalError, match="opencl: the driver reports clCreateBuffer failed"):
        webnn_compile.compile(product(), "opencl")


@pytest.mark.parametrize("exponent", [np.inf, -np.inf, 1e30])
def test_powers_by_a_constant_beyond_integers(exponent: float) -> None:
    """A driver that folds rint of such a constant wrongly left the output as it was."""
    need_driver("opencl")
    x = np.array([np.nan, np.inf, -np.inf, 0, -1, 2, -2, 0.5], np.float32)
    proto = model([node("Pow", ["x", "e"], ["y"])], {"x": x.shape}, ["y"], {"e": np.float32(exponent)})
    with np.errstate(all="ignore"):
        want = np.power(x, np.float32(exponent))
    np.testing.assert_array_equal(webnn_compile.compile(proto, "opencl", cache=False).run({"x": x})["y"], want)
