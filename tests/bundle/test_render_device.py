"""GPU programs in a bundle: steps are data, and a module of WebAssembly is there where the host computes anything."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from device_artifacts import host_artifact, tiny_device_artifact, tiny_program
from device_json import read_program
from gpu.interpreted import InterpretedBackend
from wasm.linking import need
from webnn_compile.bundle import Artifact, DeviceArtifact
from webnn_compile.bundle.render_device import render_device
from webnn_compile.bundle.write_bundle import render_bundle
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.gpu.compile_for_device import compile_for_device
from webnn_compile.gpu.plan_for_device import plan_for_device
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.pipeline.weights import Weights
from webnn_compile.program.device_program import DeviceProgram, HostCall, Launch
from webnn_compile.program.program import read_tensor, write_tensor
from webnn_compile.wasm.build_module import PAGE, build_host
from webnn_compile.wasm.execute import WasmInstance

ROOT = Path(__file__).parents[2]

CROSSING = """
<ir_version: 10, opset_import: ["" : 21]>
crossing (double[3] x, float[9000] v) => (float[9000] y, double[3] d)
<int64[1] axis = {0}, double[1] half = {0.5}>
{
  d = Mul(x, x)
  sum = ReduceSum<keepdims=1>(d, axis)
  first = Cast<to=1>(sum)
  scaled = Mul(v, first)
  top = ReduceMax<keepdims=1>(scaled, axis)
  wide = Cast<to=11>(top)
  halved = Mul(wide, half)
  second = Cast<to=1>(halved)
  y = Div(scaled, second)
}
"""
BRANCH = """
<ir_version: 10, opset_import: ["" : 21]>
branch (float[N, 4] x, bool c) => (float[4] y)
<float[4] zero = {0, 0, 0, 0}>
{
  s = Relu(x)
  axes = Constant<value_ints = [0]>()
  t = ReduceSum<keepdims=0>(s, axes)
  y = If(c) <
    then_branch = one () => (float[4] a) { a = Add(t, zero) },
    else_branch = other () => (float[4] b) { b = Exp(t) }
  >
}
"""


@cache
def compiled(text: str, **dims: tuple[int, int]) -> DeviceProgram:
    graph = run_graph_passes(import_model(onnx.parser.parse_model(text).SerializeToString(), model_inputs(dims=dims)))
    backend = InterpretedBackend()
    lowered = lower_model(graph, policy=backend.layouts)
    return compile_for_device(lowered, plan_for_device(lowered, backend, Weights()))


def document(program: DeviceProgram) -> Any:
    return read_program(render_device(program))


def test_steps_name_launches_in_the_order_of_a_run() -> None:
    found = document(tiny_program("webgpu"))
    assert (found["prepare"], found["steps"], found["crossings"]) == ([[0, 1]], [[1, 3]], 0)
    assert [one["name"] for one in found["launches"]] == ["bias", "multiply", "add_relu"]


def test_calls_of_the_host_stand_between_launches() -> None:
    program = compiled(CROSSING)
    assert [type(s) for s in program.steps] == [HostCall, Launch, HostCall, Launch]
    found = document(program)
    assert found["steps"] == [{"call": 0}, [0, 1], {"call": 1}, [1, 2]]
    assert found["crossings"] == program.readbacks == 1


def test_what_varies_is_in_the_same_steps() -> None:
    found = document(compiled(BRANCH, N=(1, 8)))
    assert found["steps"] == [[0, 1], {"if": {"input": 1}, "then": [[1, 2]], "else": [[2, 3]]}, [3, 4]]
    assert (found["prepare"], found["crossings"]) == ([], 0)
    assert found["launches"][0]["scalars"] == [0]


READ = """
import { readFileSync } from 'node:fs';
const { fetchProgram } = await import(process.argv[1]);
const data = readFileSync(0);
globalThis.fetch = async () => new Response(data);
const sha256 = Buffer.from(await crypto.subtle.digest('SHA-256', data)).toString('hex');
const program = { url: 'http://a/program.txt', bytes: data.length, sha256 };
console.log(JSON.stringify(await fetchProgram({ program })));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node.js to run the runtime")
@pytest.mark.parametrize("name", ["tiny", "crossing", "branch"])
def test_the_runtime_reads_the_tables_that_were_written(name: str) -> None:
    made: dict[str, Callable[[], DeviceProgram]] = {
        "tiny": lambda: tiny_program("webgpu"),
        "crossing": lambda: compiled(CROSSING),
        "branch": lambda: compiled(BRANCH, N=(1, 8)),
    }
    program = made[name]()
    script = (ROOT / "runtime-js" / "device" / "device_program.js").as_uri()
    done = subprocess.run(
        ["node", "--input-type=module", "-e", READ, script],
        input=render_device(program),
        capture_output=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert [(v["storage"], v["length"]) for v in found["values"]] == [
        (v.storage, prod(v.shape)) for v in program.values
    ]
    assert [(c["value"], c["offset"]) for c in found["constants"]] == [(c.value, c.offset) for c in program.constants]
    launches = [(one["kernel"], one["name"], one["arguments"]) for one in found["launches"]]
    assert launches == [(one.kernel, one.name, list(one.arguments)) for one in program.launches]
    assert len(found["kernels"]) == len(program.kernels)


def branching() -> Artifact:
    p = compiled(BRANCH, N=(1, 8))
    inputs, outputs = (tuple(port.spec for port in ports) for ports in (p.inputs, p.outputs))
    return Artifact("branch", inputs, outputs, bytes(64), (DeviceArtifact(p),), dimensions=p.dimensions)


ARTIFACTS: dict[str, Callable[[], Artifact]] = {
    "launches": lambda: tiny_device_artifact("webgpu"),
    "host": lambda: host_artifact("webgpu"),
    "branch": branching,
}


@pytest.mark.parametrize("name", ARTIFACTS)
def test_bundles_have_what_their_steps_need(name: str) -> None:
    """A module where the host computes anything, and the parts of the runtime."""
    files = render_bundle(ARTIFACTS[name]())
    assert any(file.name.endswith(".wasm") for file in files) == (name == "host")
    scripts = b"".join(file.data for file in files if file.name.endswith(".js"))
    assert (b"segment_${" in scripts) == (name == "host")
    assert (b".until&&" in scripts) == (name == "branch")


@pytest.mark.parametrize("linker", ["builtin", "wasm-ld"])
def test_the_module_has_a_function_for_each_call(linker: str) -> None:
    need(linker)
    host = compiled(CROSSING).host
    assert host is not None
    linked = build_host(host, linker=linker)
    weights, arena = linked.heap_base, 4 * PAGE
    run = WasmInstance(linked.module, pages=5, relaxed=False, imports={"parallel_for": lambda *_: None})
    run.memory[weights : weights + len(host.weights)] = np.frombuffer(host.weights, np.uint8)
    x, d = host.inputs[0], next(p for p in host.outputs if p.name == "d")
    write_tensor(run.memory[arena:], x, np.float64([1e200, -0.1, 3]))
    run.call("segment_0", weights, arena)
    assert read_tensor(run.memory[arena:], d).tolist() == [1e200 * 1e200, -0.1 * -0.1, 9]
    run.call("segment_1", weights, arena)
    assert b"profile" not in linked.module
