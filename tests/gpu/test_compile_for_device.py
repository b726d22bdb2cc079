"""Device programs: memory shared over time, halos that stay zero, constants shipped once and repacked at load."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from control_flow import branch_of_sizes
from gpu.interpreted import InterpretedBackend, InterpretedDevice
from onnx_models import assert_close, model, node, onnxruntime_results, random
from random_models import random_model
from webnn_compile.cpu.compile_for_cpu import compile_for_cpu
from webnn_compile.errors import InputError
from webnn_compile.execution.device_model import DeviceModel
from webnn_compile.frontends.model_inputs import Dim, ModelInputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.gpu.compile_for_device import compile_for_device
from webnn_compile.gpu.plan_for_device import plan_for_device
from webnn_compile.graph.lower_graph import lower_graph
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.pipeline.lower_model import lower_tensors
from webnn_compile.pipeline.weights import Weights
from webnn_compile.program.device_program import DeviceProgram, Launch
from webnn_compile.program.find_prepared import find_prepared
from webnn_compile.target import WASM_RELAXED


def compiled(proto: onnx.ModelProto, *, beside_wasm: bool = False) -> tuple[DeviceModel, DeviceProgram]:
    graph = run_graph_passes(import_model(proto))
    tensors, weights, backend = lower_graph(graph), Weights(), InterpretedBackend()
    if beside_wasm:
        compile_for_cpu(lower_tensors(graph.name, tensors), WASM_RELAXED, weights=weights)
    lowered = lower_tensors(graph.name, tensors, policy=backend.layouts)
    program = compile_for_device(lowered, plan_for_device(lowered, backend, weights))
    return DeviceModel(program, weights.blob(), InterpretedDevice(backend, program.kernels)), program


def network(channels: int = 6) -> onnx.ModelProto:
    """Convolutions with halos and a residual, a pooling, a fully connected layer."""
    nodes = [
        node("Conv", ["x", "w0", "b0"], ["c0"], pads=[1, 1, 1, 1]),
        node("Relu", ["c0"], ["r0"]),
        node("Conv", ["r0", "w1"], ["c1"], pads=[1, 1, 1, 1]),
        node("Relu", ["c1"], ["r1"]),
        node("Conv", ["r1", "w2"], ["c2"], pads=[1, 1, 1, 1]),
        node("Add", ["c2", "r0"], ["a"]),
        node("Relu", ["a"], ["r2"]),
        node("GlobalAveragePool", ["r2"], ["g"]),
        node("Flatten", ["g"], ["f"]),
        node("Gemm", ["f", "w3", "b3"], ["y"], transB=1),
    ]
    weights = {
        "w0": random((channels, 3, 3, 3)) / 5,
        "b0": random((channels,), 1),
        "w1": random((channels, channels, 3, 3), 2) / 7,
        "w2": random((channels, channels, 3, 3), 3) / 7,
        "w3": random((5, channels), 4),
        "b3": random((5,), 5),
    }
    return model(nodes, {"x": (1, 3, 5, 4)}, ["y"], weights)


@pytest.mark.parametrize("beside_wasm", [False, True])
def test_a_network_with_halos_runs_again_and_again(beside_wasm: bool) -> None:
    proto = network()
    made, _ = compiled(proto, beside_wasm=beside_wasm)
    for seed in range(3):
        feeds = {"x": random((1, 3, 5, 4), seed)}
        assert_close(made.run(feeds), onnxruntime_results(proto, feeds))


def test_constants_beside_wasm_are_shipped_once_and_arranged_at_load() -> None:
    _, alone = compiled(network())
    _, beside = compiled(network(), beside_wasm=True)
    assert not alone.prepare
    assert {k.name for k in (beside.kernels[p.kernel] for p in beside.prepare)} == {"repack"}
    assert find_prepared(beside) == ()
    shipped = [c for c in beside.constants if beside.storages[beside.values[c.value].storage].prepare_only]
    arranged = [c for c in beside.constants if c.dimensions is not None]
    assert len(shipped) == len(beside.prepare) == 1  # in panels of 8 that 6 channels, rounded up to 9, straddle
    assert len(arranged) == 3  # the other weights; biases lie as they are wanted


def test_memory_is_shared_by_values_that_do_not_live_together() -> None:
    nodes, weights = [], {}
    for i in range(8):
        weights[f"w{i}"] = random((6, 6, 3, 3), i)
        nodes.append(node("Conv", [f"v{i}" if i else "x", f"w{i}"], [f"v{i + 1}"], pads=[1, 1, 1, 1]))
    _, program = compiled(model(nodes, {"x": (1, 6, 5, 5)}, ["v8"], weights))
    steps = [s for s in program.steps if isinstance(s, Launch)]
    written = {program.values[s.arguments[-1]].storage for s in steps}
    assert len(written) < len(steps) - 3


def test_a_storage_with_a_halo_is_shared_by_equal_layouts_only() -> None:
    _, program = compiled(network())
    by_storage: dict[int, set[tuple[int, ...]]] = {}
    for v in program.values:
        if v.shape == (1, 7, 6, 8):  # 5 x 4 with a halo
            by_storage.setdefault(v.storage, set()).add(v.shape)
    assert by_storage
    for storage in by_storage:
        shapes = {v.shape for v in program.values if v.storage == storage}
        assert shapes == {(1, 7, 6, 8)}


@pytest.mark.parametrize("seed", range(12))
def test_random_models(seed: int) -> None:
    proto = random_model(seed)
    feeds = {i.name: random([d.dim_value for d in i.type.tensor_type.shape.dim], seed) for i in proto.graph.input}
    made, _ = compiled(proto, beside_wasm=bool(seed % 2))
    want = onnxruntime_results(proto, feeds)
    assert_close(made.run(feeds), want, 1e-4)
    made.run({n: np.full_like(a, np.nan) if a.dtype.kind == "f" else a for n, a in feeds.items()})
    assert_close(made.run(feeds), want, 1e-4)


def test_small_integers_and_indices_take_32_bits_on_the_device() -> None:
    nodes = [
        node("Gather", ["table", "i"], ["g"]),
        node("Cast", ["g"], ["n"], to=onnx.TensorProto.UINT8),
        node("Add", ["n", "n"], ["y"]),
        node("ArgMax", ["g"], ["top"], axis=1, keepdims=0),
    ]
    table = np.arange(40, dtype=np.float32).reshape(8, 5) * 6
    proto = model(nodes, {"i": (3,)}, ["y", "top"], {"table": table}, dtype=onnx.TensorProto.INT64)
    made, program = compiled(proto)
    feeds = {"i": np.array([7, -1, 0])}
    assert_close(made.run(feeds), onnxruntime_results(proto, feeds))
    assert {s.dtype.name for s in program.storages} <= {"float32", "int32"}
    with pytest.raises(InputError, match="input 'i' has an element beyond int32"):
        made.run({"i": np.array([0, 2**31, 0])})


def test_memory_of_the_host_is_the_same_in_each_build() -> None:
    """Tensors are compared by identity, so a set of them has another order each time."""
    inputs = ModelInputs(dims={"rows": Dim(8, 8)})
    graph = run_graph_passes(import_model(branch_of_sizes(), inputs))

    def steps() -> str:
        lowered = lower_tensors(graph.name, lower_graph(graph), policy=backend.layouts)
        return str(compile_for_device(lowered, plan_for_device(lowered, backend, Weights())).steps)

    backend = InterpretedBackend()
    made = [steps() for _ in range(12)]
    assert "HostCall" in made[0]
    assert set(made) == {made[0]}
