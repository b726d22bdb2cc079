"""Arrays that other libraries give and take by DLPack: in the processor's memory, and in a device's."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx import helper
from onnx_models import model, node, random
from webnn_compile.dtypes import F32, I64
from webnn_compile.errors import InputError
from webnn_compile.execution.device_model import DeviceModel
from webnn_compile.values import dlpack
from webnn_compile.values.dlpack import DeviceArray, borrow

X, Y = random((5, 7), 1), random((5, 7), 2)
KINDS = {"opencl": dlpack.OPENCL, "cuda": dlpack.CUDA}


class Shared:
    """An array of another library."""

    def __init__(self, a: np.ndarray, kind: int = dlpack.CPU) -> None:
        self.a, self.kind = a, kind

    def __dlpack__(self, **_: object) -> Any:
        return self.a.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, 0


class Broken(Shared):
    def __dlpack__(self, **_: object) -> Any:
        raise ValueError("not today")


def count_exported() -> int:
    """Tensors that a consumer still has, without those of earlier tests that nobody has any more."""
    gc.collect()
    dlpack._sweep()
    return len(dlpack._exported)


def sums(dtype: int = onnx.TensorProto.FLOAT) -> onnx.ModelProto:
    return model([node("Add", ["x", "y"], ["sum"])], {"x": [5, 7], "y": [5, 7]}, ["sum"], dtype=dtype)


def compiled(target: str, made: onnx.ModelProto) -> DeviceModel:
    need_driver(target)
    found = webnn_compile.compile(made, target)
    assert isinstance(found, DeviceModel)
    return found


@pytest.mark.parametrize("target", ["native", "c", "wasm", "webgl", "opencl"])
def test_arrays_of_other_libraries(target: str) -> None:
    need_driver(target)
    made = webnn_compile.compile(sums(), target)
    np.testing.assert_array_equal(made.run({"x": Shared(X), "y": Y})["sum"], X + Y)
    np.testing.assert_array_equal(made.run({"x": Shared(X.T.copy().T), "y": Y})["sum"], X + Y)
    with pytest.raises(InputError, match=r"input 'x': expected float32\[5, 7\], got float64\[5, 7\]"):
        made.run({"x": Shared(X.astype(np.float64)), "y": Y})
    with pytest.raises(InputError, match=r"input 'y' is in the memory of another device \(DLPack's type 8\): copy it"):
        made.run({"x": X, "y": Shared(Y, 8)})


def test_an_array_that_cannot_be_exchanged() -> None:
    locked = Shared(X)
    locked.a = X.astype(object)
    with pytest.raises(InputError, match="input 'x': Shared exports no data by DLPack: "):
        webnn_compile.compile(sums()).run({"x": locked, "y": Y})


@pytest.mark.parametrize("target", KINDS)
def test_results_stay_on_the_device(target: str) -> None:
    """Results of one run are not touched by the next, nor by the end of the model, and are inputs of others."""
    made = compiled(target, sums())
    first = made.run({"x": X, "y": Y}, output="device")["sum"]
    second = made.run({"x": first, "y": Y}, output="device")["sum"]
    assert first.__dlpack_device__() == (KINDS[target], 0)
    assert (first.shape, first.dtype) == ((5, 7), F32)
    np.testing.assert_array_equal(made.run({"x": second, "y": first})["sum"], (X + Y + Y) + (X + Y))
    other = compiled(target, sums())
    np.testing.assert_array_equal(other.run({"x": second, "y": X})["sum"], (X + Y + Y) + X)
    made.close()
    np.testing.assert_array_equal(first.numpy(), X + Y)
    np.testing.assert_array_equal(second.numpy(), X + Y + Y)
    before = second.pointer
    with borrow(second, "x") as borrowed:
        assert (borrowed.pointer, borrowed.dtype, borrowed.shape, borrowed.bytes) == (before, F32, (5, 7), 140)


@pytest.mark.parametrize("target", KINDS)
def test_what_cannot_stay_on_the_device(target: str) -> None:
    made = compiled(target, sums(onnx.TensorProto.INT64))
    x = np.arange(35).reshape(5, 7)
    best = compiled(target, model([node("ArgMax", ["x"], ["at"])], {"x": [5, 7]}, ["at"]))
    with pytest.raises(InputError, match="output 'at' is int64, but int32 on the device: leave output='device' out"):
        best.run({"x": X}, output="device")
    with pytest.raises(InputError, match="output 'sum' is computed on the host: leave output='device' out"):
        made.run({"x": x, "y": x}, output="device")
    np.testing.assert_array_equal(made.run({"x": x, "y": x}, output="host")["sum"], x + x)
    there = compiled(target, sums()).run({"x": X, "y": Y}, output="device")["sum"]
    with pytest.raises(InputError, match="input 'x' is read by the host, or held as another type: copy it there first"):
        made.run({"x": there, "y": x})
    wrong = compiled(target, model([node("Relu", ["x"], ["y"])], {"x": [7, 5]}, ["y"]))
    with pytest.raises(InputError, match=r"input 'x': expected float32\[7, 5\], got float32\[5, 7\]"):
        wrong.run({"x": there})
    with pytest.raises(InputError, match="output='gpu': choose one of host, device"):
        wrong.run({"x": X}, output="gpu")  # type: ignore[call-overload]
    with pytest.raises(InputError, match="input 'x' is in the memory of another device"):
        webnn_compile.compile(sums()).run({"x": there, "y": Y})


@pytest.mark.parametrize("target", KINDS)
def test_what_decides_a_run_is_needed_here(target: str) -> None:
    branches = {
        f"{side}_branch": helper.make_graph(
            [node(op, ["x"], [side])], side, [], [helper.make_empty_tensor_value_info(side)]
        )
        for side, op in (("then", "Relu"), ("else", "Neg"))
    }
    made = model([node("If", ["c"], ["y"], **branches)], {"x": [5, 7]}, ["y"])
    made.graph.input.append(helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, [1]))
    there = compiled(target, sums()).run({"x": X, "y": Y}, output="device")["sum"]
    chosen = compiled(target, made)
    with pytest.raises(InputError, match="input 'c' decides how a run goes on: copy it to the processor first"):
        chosen.run({"x": there, "c": there})
    np.testing.assert_array_equal(chosen.run({"x": there, "c": np.array([False])})["y"], -(X + Y))


@pytest.mark.parametrize("target", KINDS)
def test_numpy_refuses_a_device_and_nothing_is_kept(target: str) -> None:
    found = compiled(target, sums()).run({"x": X, "y": Y}, output="device")["sum"]
    known = count_exported()
    for _ in range(3):
        with pytest.raises((BufferError, RuntimeError)):
            np.from_dlpack(found)
    exported(X)
    assert len(dlpack._exported) == known


@pytest.mark.parametrize("target", KINDS)
def test_empty_results_and_inputs_that_nothing_reads(target: str) -> None:
    nodes = [node("Relu", ["x"], ["y"]), node("Slice", ["y", "none", "none"], ["z"])]
    made = model(nodes, {"x": [5, 7], "unused": [5, 7]}, ["y", "z"], {"none": np.array([0], np.int64)})
    found = compiled(target, made).run({"x": X, "unused": X}, output="device")
    assert found["z"].numpy().shape == (0, 7)
    again = compiled(target, made).run({"x": found["y"], "unused": found["y"]})
    np.testing.assert_array_equal(again["y"], X.clip(0))


def test_inputs_that_are_no_arrays() -> None:
    made = webnn_compile.compile(sums())
    for given, message in (
        ({"x": [[1], [1, 2]], "y": Y}, "input 'x': list is no array: "),
        ({0: X, "y": Y}, "no input 0; the model has 'x', 'y'"),
        (None, "inputs are a mapping of names to arrays, not NoneType"),
        ({"x": Broken(X), "y": Y}, "input 'x': Broken exports no data by DLPack: not today"),
    ):
        with pytest.raises(InputError, match=message):
            made.run(given)  # type: ignore[arg-type]


def test_a_target_whose_memory_is_not_shared() -> None:
    with pytest.raises(InputError, match="target webgl: results cannot stay on the device; leave output='device' out"):
        compiled("webgl", sums()).run({"x": X, "y": Y}, output="device")


def exported(a: np.ndarray, dtype: Any = F32) -> DeviceArray:
    """As if the processor were the device."""
    return DeviceArray(a.ctypes.data, dlpack.CPU, 0, dtype, a.shape, a, a.copy)


@pytest.mark.parametrize("shape", [(5, 7), (), (3, 0, 2)])
def test_a_consumer_shares_the_memory_and_frees_it(shape: tuple[int, ...]) -> None:
    a = random(shape, 3)
    known = count_exported()
    taken = np.from_dlpack(exported(a))
    np.testing.assert_array_equal(taken, a)
    assert taken.shape == shape
    assert np.shares_memory(taken, a) == (a.size > 0)
    assert len(dlpack._exported) == known + 1
    del taken
    assert count_exported() == known


def test_types_and_capsules_that_nobody_takes() -> None:
    known = count_exported()
    np.testing.assert_array_equal(np.from_dlpack(exported(np.arange(6), I64)), np.arange(6))
    capsule = exported(X).__dlpack__()
    assert len(dlpack._exported) == known + 1
    other = exported(X)
    assert len(dlpack._exported) == known + 1
    del capsule
    np.testing.assert_array_equal(np.from_dlpack(other), X)
    assert count_exported() == known
    for changes in ({"copy": True}, {"dl_device": (dlpack.CUDA, 0)}):
        with pytest.raises(BufferError, match="these elements stay where they are"):
            other.__dlpack__(**changes)  # type: ignore[arg-type]
    assert other.__dlpack__(copy=False, dl_device=(dlpack.CPU, 0)) is not None


def test_arrays_of_strides_are_refused() -> None:
    with pytest.raises(InputError, match="input 'a': its elements are not in row-major order"), borrow(X.T, "a"):
        pass
    with borrow(X[:1], "a") as one:
        assert one.shape == (1, 7)
    with borrow(X[2:], "a") as part:
        assert part.pointer + part.offset == X[2:].ctypes.data


def test_the_structure_is_that_of_the_header() -> None:
    """dlpack.h, 0.8: 48 bytes of tensor, two pointers."""
    assert ctypes.sizeof(dlpack._Tensor) == 48
    assert ctypes.sizeof(dlpack._Managed) == 64
