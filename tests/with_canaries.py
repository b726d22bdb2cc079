"""Models whose kernels are checked, device programs with canaries, and the names of kernels that a device computes
wrongly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from drivers import need_driver
from onnx_models import model, node, random
from prepared_models import convolution, products
from small_decoder import small_decoder
from test_quantised_models import quantised
from webnn_compile.canaries.check_canaries import check_canaries
from webnn_compile.canaries.make_alternatives import make_alternatives
from webnn_compile.canaries.make_canaries import make_canaries
from webnn_compile.driver.device_target import DeviceTarget
from webnn_compile.driver.optimise_model import import_graph, optimise_model
from webnn_compile.driver.options import Options
from webnn_compile.driver.targets import TARGETS
from webnn_compile.driver.work import Work
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.gpu.compile_for_device import compile_for_device
from webnn_compile.gpu.plan_for_device import DevicePlan
from webnn_compile.pipeline.weights import Weights
from webnn_compile.program.device_program import DeviceProgram
from webnn_compile.system.cache import Cache

DRIVERS = ("webgpu", "webgl", "opencl")


def network() -> onnx.ModelProto:
    """Convolutions, one by Winograd's algorithm, a sum of inputs, a pool, a product, and a softmax; odd shapes."""
    nodes = [
        node("Conv", ["x", "w0", "b0"], ["c0"], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("Relu", ["c0"], ["r0"]),
        node("Conv", ["r0", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1]),
        node("Add", ["c1", "r0"], ["s"]),
        node("Sigmoid", ["s"], ["g"]),
        node("MaxPool", ["g"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", ["p"], ["f"]),
        node("Gemm", ["f", "w2", "b2"], ["z"], transB=1),
        node("Softmax", ["z"], ["y"]),
    ]
    shapes = {"w0": (18, 3, 3, 3), "b0": (18,), "w1": (18, 18, 3, 3), "b1": (18,), "w2": (11, 18 * 7 * 6), "b2": (11,)}
    return model(nodes, {"x": (1, 3, 29, 25)}, ["y"], {name: random(shape) for name, shape in shapes.items()})


def flat() -> onnx.ModelProto:
    """A product and a softmax of one dimension, which WebGL stores in bands."""
    nodes = [node("MatMul", ["x", "w"], ["z"]), node("Softmax", ["z"], ["y"], axis=0)]
    return model(nodes, {"x": (64,)}, ["y"], {"w": random((64, 3200))}, 18)


def rows() -> onnx.ModelProto:
    """Attention over a varying number of rows, and a mean of them."""
    nodes = [
        node("MatMul", ["x", "w"], ["q"]),
        node("Transpose", ["q"], ["k"], perm=[0, 2, 1]),
        node("MatMul", ["q", "k"], ["scores"]),
        node("Softmax", ["scores"], ["shares"]),
        node("MatMul", ["shares", "x"], ["mixed"]),
        node("ReduceMean", ["mixed", "axis"], ["y"], keepdims=0),
    ]
    return model(nodes, {"x": ("n", "rows", 9)}, ["y"], {"w": random((9, 9)), "axis": np.asarray([1])}, 18)


def recurrent() -> onnx.ModelProto:
    """A layer in both directions over a varying number of steps, of which one reads from the end."""
    nodes = [node("GRU", ["x", "w", "r", "", "", "h"], ["y", ""], hidden_size=24, direction="bidirectional")]
    shapes = {"w": (2, 72, 9), "r": (2, 72, 24), "h": (2, 2, 24)}
    return model(nodes, {"x": ("n", 2, 9)}, ["y"], {name: random(shape) for name, shape in shapes.items()}, 14)


OTHERS: dict[str, tuple[Callable[[], onnx.ModelProto], dict[str, Any]]] = {
    "float16": (network, {"precision": "f16"}),
    "constants prepared at load": (convolution, {}),
    "prepared float16": (products, {"precision": "f16"}),
    "a decoder with states": (small_decoder, {}),
    "a decoder in float16": (small_decoder, {"precision": "f16"}),
    "quantised": (lambda: quantised("qdq-u8s8"), {}),
    "one dimension in bands of an image": (flat, {}),
    "a recurrent layer": (recurrent, {"dims": {"n": (2, 38)}}),
    "sizes that vary": (rows, {"dims": {"n": (1, 2), "rows": (3, 90)}}),
}
"""Models and options of their builds."""


def program_of(given: onnx.ModelProto, target: str, *more: Any, **options: Any) -> DeviceProgram:
    """The program for a target of this machine's drivers, by arguments of `planned`; the test is skipped where it has
    none."""
    need_driver(target)
    return planned(given, target, *more, **options)[1]


def planned(
    given: onnx.ModelProto,
    target: str,
    dims: Mapping[str, Any] | None = None,
    *,
    precision: str = "f32",
    states: Sequence[str] | None = None,
    cache: Cache | None = None,
) -> tuple[DevicePlan, DeviceProgram]:
    """The plan of a program, and the program with its canaries and alternatives; no driver is needed."""
    cache = Cache(None) if cache is None else cache
    plan, program = _without_canaries(given, target, dims, precision, states, cache)
    canaries, _ = make_canaries(plan, program, cache)
    return plan, replace(program, canaries=canaries, alternatives=make_alternatives(plan, program, canaries))


def reasons(given: onnx.ModelProto, target: str = "webgpu", cache: Cache | None = None) -> dict[str, str]:
    """Why kernels have no canary, by their names; no driver is needed."""
    cache = Cache(None) if cache is None else cache
    plan, program = _without_canaries(given, target, None, "f32", None, cache)
    canaries, without = make_canaries(plan, program, cache)
    with_one = {program.launches[c.launch].kernel for c in canaries}
    assert sorted([*with_one, *without]) == list(range(len(program.kernels)))
    return {program.kernels[number].name: why for number, why in without.items()}


def _without_canaries(
    given: onnx.ModelProto,
    target: str,
    dims: Mapping[str, Any] | None,
    precision: str,
    states: Sequence[str] | None,
    cache: Cache,
) -> tuple[DevicePlan, DeviceProgram]:
    row = TARGETS[target]
    assert isinstance(row, DeviceTarget)
    options = Options(model_inputs(dims=dims, states=states), precision=precision)
    work = Work("model", options, cache, lambda _: None)
    lowered = row.lower(optimise_model(import_graph(given.SerializeToString(), work), work), work)
    plan = row.plan(lowered, Weights(), work)
    return plan, compile_for_device(lowered, plan)


def checked_kernels(program: DeviceProgram) -> list[str]:
    return [program.kernels[program.launches[c.launch].kernel].name for c in program.canaries]


def wrong_kernels(program: DeviceProgram) -> list[str]:
    """Names of kernels that this machine's driver computes wrongly, by their canaries."""
    row = TARGETS[program.backend]
    assert isinstance(row, DeviceTarget)
    wrong = check_canaries(program, row.open_device(program.kernels))
    return [program.kernels[program.launches[c.launch].kernel].name for c in wrong]
