"""Constants of few bits on devices: as many bytes of memory as in the file, and the same results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import Array, integer_product, model, node, random, random_integers
from prepared_models import FOUR_BITS, int4_columns
from webnn_compile.driver.device_target import DeviceTarget
from webnn_compile.driver.optimise_model import import_graph, optimise_model
from webnn_compile.driver.options import Options
from webnn_compile.driver.targets import TARGETS
from webnn_compile.driver.work import Work
from webnn_compile.execution.device_model import DeviceModel
from webnn_compile.gpu.compile_for_device import compile_for_device
from webnn_compile.gpu.storage_types import widened
from webnn_compile.ir.layout import Block, Layout
from webnn_compile.pipeline.weights import Weights
from webnn_compile.program.device_program import DeviceProgram
from webnn_compile.system.cache import open_cache

DEVICES = ["cuda", "opencl", "webgl", "webgpu"]


def drawn(shape: tuple[int, ...], dtype: type[np.integer], seed: int = 0) -> Array:
    return random_integers(np.random.default_rng(seed), shape, dtype)


def compiled_for(target: str, proto: onnx.ModelProto) -> DeviceModel:
    need_driver(target)
    compiled = webnn_compile.compile(proto, target)
    assert isinstance(compiled, DeviceModel)
    return compiled


def constant_bytes(program: DeviceProgram) -> int:
    """Bytes of device memory for constants, uploaded and computed at load, in a run and before."""
    values = {c.value for c in program.constants} | {launch.arguments[-1] for launch in program.prepare}
    return sum(program.storages[s].bytes for s in {program.values[v].storage for v in values})


def looked_up(table: Array) -> onnx.ModelProto:
    """Rows of a table, less 3 in float32."""
    nodes = [node("Gather", ["table", "i"], ["rows"]), node("Cast", ["rows"], ["wide"], to=1)]
    nodes += [node("Sub", ["wide", "three"], ["y"])]
    constants = {"table": table, "three": np.asarray(3, np.float32)}
    return model(nodes, {"i": [5]}, ["y"], constants, dtype=onnx.TensorProto.INT32)


@pytest.mark.parametrize("target", DEVICES)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16])
@pytest.mark.parametrize("columns", [7, 64])
def test_tables(target: str, dtype: type[np.integer], columns: int) -> None:
    table, i = drawn((99, columns), dtype), np.array([0, 98, 3, 41, 7], np.int32)
    compiled = compiled_for(target, looked_up(table))
    np.testing.assert_array_equal(compiled.run({"i": i})["y"], table[i].astype(np.float32) - 3)
    assert constant_bytes(compiled.program) <= table.nbytes * 1.2 + 64


@pytest.mark.parametrize("target", DEVICES)
def test_a_dequantised_table(target: str) -> None:
    """Only the rows that a run looks up are dequantised."""
    table, i = drawn((999, 24), np.uint8), np.array([0, 998, 3, 41, 7], np.int32)
    nodes = [node("DequantizeLinear", ["table", "step", "zero"], ["wide"]), node("Gather", ["wide", "i"], ["y"])]
    constants = {"table": table, "step": np.asarray(0.25, np.float32), "zero": np.asarray(7, np.uint8)}
    compiled = compiled_for(target, model(nodes, {"i": [5]}, ["y"], constants, dtype=onnx.TensorProto.INT32))
    np.testing.assert_array_equal(compiled.run({"i": i})["y"], (table[i].astype(np.float32) - 7) * 0.25)
    assert constant_bytes(compiled.program) <= table.nbytes * 1.1 + 64


@pytest.mark.parametrize("target", DEVICES)
@pytest.mark.parametrize("zero_point", [0, 3])
def test_products(target: str, zero_point: int) -> None:
    x, w = drawn((9, 200), np.uint8, 1), drawn((200, 64), np.int8, 2)
    compiled = compiled_for(target, integer_product("MatMulInteger", x.shape, w, (131, zero_point)))
    want = (x.astype(np.int64) - 131) @ (w.astype(np.int64) - zero_point)
    np.testing.assert_array_equal(compiled.run({"x": x})["y"], want)
    if not zero_point:
        assert constant_bytes(compiled.program) <= w.nbytes * 1.2 + 64


def dequantised(w: Array, scale: Array) -> onnx.ModelProto:
    """A convolution between DequantizeLinear nodes, as quantisers write it."""
    constants = {"w": w, "scale": scale, "zeros": np.zeros(len(w), np.int8), "step": np.asarray(0.02, np.float32)}
    constants |= {"zero": np.asarray(128, np.uint8)}
    nodes = [
        node("QuantizeLinear", ["x", "step", "zero"], ["q"]),
        node("DequantizeLinear", ["q", "step", "zero"], ["d"]),
        node("DequantizeLinear", ["w", "scale", "zeros"], ["wf"], axis=0),
        node("Conv", ["d", "wf"], ["y"], pads=[1, 1, 1, 1], strides=[2, 2]),
    ]
    return model(nodes, {"x": [1, 32, 13, 13]}, ["y"], constants)


@pytest.mark.parametrize("target", DEVICES)
def test_dequantised_weights(target: str) -> None:
    w, scale = drawn((64, 32, 3, 3), np.int8), np.linspace(0.01, 0.02, 64, dtype=np.float32)
    proto, x = dequantised(w, scale), random((1, 32, 13, 13))
    compiled = compiled_for(target, proto)
    want = webnn_compile.compile(proto).run({"x": x})["y"]
    np.testing.assert_allclose(compiled.run({"x": x})["y"], want, rtol=1e-5, atol=1e-5)
    assert constant_bytes(compiled.program) <= w.nbytes * 1.1 + 64 * 4 + 64


@pytest.mark.parametrize("target", DEVICES)
def test_weights_of_four_bits_become_bytes(target: str) -> None:
    """Where a kernel at load takes them apart, and another one at load would widen them."""
    proto = int4_columns()
    compiled = compiled_for(target, proto)
    x = random((3, 256))
    want = webnn_compile.compile(proto).run({"x": x})["y"]
    np.testing.assert_allclose(compiled.run({"x": x})["y"], want, rtol=1e-5, atol=1e-5)
    assert constant_bytes(compiled.program) <= FOUR_BITS.size * (1 + 0.5) * 1.1 + 1024


@pytest.mark.parametrize("target", DEVICES)
def test_another_layout_than_the_file_s(target: str) -> None:
    """A kernel at load writes whole words."""
    need_driver(target)
    w, x = drawn((37, 405), np.int8), drawn((6, 37), np.uint8)
    work = Work("m", Options(), open_cache(enabled=False), lambda _: None)
    row = TARGETS[target]
    assert isinstance(row, DeviceTarget)
    lowered = row.lower(
        optimise_model(import_graph(integer_product("MatMulInteger", x.shape, w, (0, 0)), work), work), work
    )
    constants = {widened(t) for g in lowered.groups for t in g.reads if t.is_constant}
    (weight,) = {t for t in constants if t.dtype.bits == 8}
    weights = Weights()
    weights.add(weight, replace(Layout.row_major(w.shape), blocks=(Block(1, 9, 11),)))
    program = compile_for_device(lowered, row.plan(lowered, weights, work))
    assert [launch.name for launch in program.prepare] == ["repack"]
    y = row.run(program, weights.blob()).run({"x": x})["y"]
    np.testing.assert_array_equal(y, x.astype(np.int64) @ w.astype(np.int64))
