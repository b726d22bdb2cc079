"""The host program of GPU targets: the order of launches, as a module of WebAssembly and as data."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache

import onnx
import pytest
from device_artifacts import tiny_program
from gpu.interpreted import InterpretedBackend
from test_golden import GOLDEN, compare
from wasm.linking import need
from webnn_compile.bundle.render_device import render_device
from webnn_compile.codegen.llvm_module import LlvmModule
from webnn_compile.codegen.render_launches import render_launches
from webnn_compile.frontends.onnx import import_model
from webnn_compile.gpu.compile_for_device import compile_for_device
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.pipeline.weights import Weights
from webnn_compile.program.device_program import DeviceProgram, HostCall, Launch
from webnn_compile.wasm.build_module import PAGE, build_launcher
from webnn_compile.wasm.execute import WasmInstance

Event = tuple[str, int]


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


@cache
def crossing() -> DeviceProgram:
    """A call of the host before anything else, and one for which a run waits."""
    graph = run_graph_passes(import_model(onnx.parser.parse_model(CROSSING).SerializeToString()))
    backend = InterpretedBackend()
    return compile_for_device(lower_model(graph, policy=backend.layouts), backend, Weights())


def many() -> DeviceProgram:
    program = tiny_program("webgpu")
    return replace(program, steps=program.steps * 300)


PROGRAMS = {"tiny": lambda: tiny_program("webgpu"), "crossing": crossing, "many": many}


def walked(program: DeviceProgram) -> list[list[Event]]:
    """The events of a run, straight from the steps: cut at each call of the host, which gives the values that it
    wrote."""
    parts: list[list[Event]] = [[]]
    number, calls = len(program.prepare), 0
    for step in program.steps:
        if isinstance(step, HostCall):
            parts.append([("give", calls)])
            calls += 1
        else:
            parts[-1].append(("launch", number))
            number += 1
    return parts


def played(program: DeviceProgram, linker: str) -> list[list[Event]]:
    """The events of a run, as the module reports them."""
    events: list[Event] = []
    linked = build_launcher(program, linker=linker)
    instance = WasmInstance(
        linked.module,
        pages=4,
        relaxed=False,
        imports={
            "launch": lambda number: events.append(("launch", number)),
            "give": lambda call: events.append(("give", call)),
            "parallel_for": lambda *_: None,
        },
    )
    parts = []
    for i in range(len(program.calls) + 1):
        instance.call(f"run_{i}", linked.heap_base, 2 * PAGE)
        parts.append(events.copy())
        events.clear()
    if program.prepare:
        instance.call("load", linked.heap_base, 2 * PAGE)
        assert events == [("launch", i) for i in range(len(program.prepare))]
    return parts


@pytest.mark.parametrize("linker", ["builtin", "wasm-ld"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_module_launches_in_the_order_of_the_steps(name: str, linker: str) -> None:
    need(linker)
    program = PROGRAMS[name]()
    assert played(program, linker) == walked(program)


@pytest.mark.parametrize("name", ["tiny", "many"])
def test_data_has_the_same_order(name: str) -> None:
    program = PROGRAMS[name]()
    document = json.loads(render_device(program, ordered=True))
    assert [[("launch", n) for n in document["order"]["run_0"]]] == walked(program)
    assert document["order"]["load"] == [0]
    assert [one["name"] for one in document["launches"]] == [s.name for s in (*program.prepare, *program.steps)]
    assert "order" not in json.loads(render_device(program, ordered=False))


def test_a_crossing_cuts_the_run() -> None:
    program = crossing()
    assert (program.readbacks, len(program.calls)) == (1, 2)
    parts = walked(program)
    assert all(("give", i) == part[0] for i, part in enumerate(parts[1:]))
    assert sum(len(p) for p in parts) == len(program.steps)
    assert [s for s in program.steps if isinstance(s, Launch)] == list(program.launches[len(program.prepare) :])


def test_launches_alone_need_no_memory_and_few_bytes() -> None:
    linked = build_launcher(tiny_program("webgpu"))
    assert linked.heap_base == 0
    assert b"memory" not in linked.module
    assert b"give" not in linked.module
    assert len(linked.module) < 100
    assert len(build_launcher(many()).module) < 100 + 600 * 5
    assert b"memory" in build_launcher(crossing()).module


@pytest.mark.parametrize("name", ["tiny", "crossing"])
def test_golden(name: str, request: pytest.FixtureRequest) -> None:
    module = LlvmModule()
    entries = render_launches(PROGRAMS[name](), module)
    functions = re.findall(
        rf"^define void @(?:{'|'.join(entries)})\(.*?^}}$", module.text(""), re.MULTILINE | re.DOTALL
    )
    assert len(functions) == len(entries)
    text = "\n".join(functions) + "\n"
    compare(GOLDEN / "launches" / f"{name}.ll", text, request.config.getoption("update_golden"))
