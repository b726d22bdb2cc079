"""Any legal choices compute what naive kernels do: random kernels x random choices x targets, interpreted and run.

A combination that is not legal raises ScheduleError, and nothing else is ever raised.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import onnx
import pytest
from drivers import need_driver
from effort import TRIPLES, effort_of
from kernel_checks import NARROW, WIDE, assert_close, inputs_for, operations, run_kernel
from onnx_models import assert_close as assert_results
from onnx_models import onnxruntime_results, random
from random_kernels import KINDS
from webnn_compile.choices import DEFAULT, Choices, Record, Replay
from webnn_compile.costs import CPU_COSTS
from webnn_compile.cpu.compile_for_cpu import compile_for_cpu, plan_for_cpu
from webnn_compile.driver.device_target import DeviceTarget
from webnn_compile.driver.targets import TARGETS as TABLE
from webnn_compile.errors import InternalError, ScheduleError
from webnn_compile.execution.native_model import NativeModel
from webnn_compile.execution.wasm_model import WasmModel
from webnn_compile.frontends.onnx import import_model
from webnn_compile.glsl.backend import WebGl, fragment_kernel
from webnn_compile.glsl.textures import place_flat, place_image
from webnn_compile.gpu.compile_for_device import compile_for_device
from webnn_compile.gpu.lower_for_device import choice_for
from webnn_compile.gpu.plan_for_device import plan_for_device
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.nodes import Kernel, Seq, Stmt, Var
from webnn_compile.ir.printer import print_kernel
from webnn_compile.ir.verify import verify_kernel
from webnn_compile.native.jit import host_target
from webnn_compile.passes.narrow_types import narrow_types
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.pipeline.lowered import Lowered
from webnn_compile.pipeline.weights import Weights
from webnn_compile.schedule.rules import pointwise
from webnn_compile.schedule.rules.fragment_constants import order_constants
from webnn_compile.schedule.schedule_cpu import schedule_cpu
from webnn_compile.schedule.schedule_simt import schedule_simt
from webnn_compile.schedule.steps import cut
from webnn_compile.target import CPU_LAYOUTS, WASM_RELAXED, WEBGPU
from webnn_compile.tensor.choose_tile import choose_tile
from webnn_compile.tensor.layer_choices import by_name
from webnn_compile.wasm.build_module import build_module
from webnn_compile.wgsl.backend import WebGpu

WORK = 60_000
"""Operations that the interpreter is given at most."""
TOLERANCE = 1e-4
"""Tolerance of sums in another order; results of Winograd's larger tiles, chosen for whole models, err more."""
RUN_TOLERANCE = 1e-3

Scheduler = Callable[[Kernel, Choices], Kernel]


def _fragment(kernel: Kernel, choices: Choices) -> Kernel:
    places = {b: place_image(b.shape, drawn=b is kernel.params[-1]) or place_flat(b.size) for b in kernel.params}
    return fragment_kernel(kernel, places, choices)


INTERPRETED: dict[str, Scheduler] = {
    "narrow": lambda k, c: schedule_cpu(k, NARROW, c),
    "wide": lambda k, c: schedule_cpu(k, WIDE, c),
    "simt": lambda k, c: schedule_simt(k, WEBGPU, c),
}
BACKENDS = {"webgpu": WebGpu, "webgl": WebGl}
RUN = ("native", "wasm", "webgpu", "webgl")
TARGETS = (*INTERPRETED, *RUN)


def lowered_by_chance(proto: onnx.ModelProto, target: str, r: Random) -> Lowered:
    """Kernels by random choices of layers, too."""
    graph = run_graph_passes(import_model(proto))
    choices = Record(r)
    if target == "simt" or target in BACKENDS:
        backend = BACKENDS.get(target, WebGpu)()
        return lower_model(graph, policy=backend.layouts, choose=choice_for(backend), choices=by_name(choices))
    return lower_model(graph, policy=CPU_LAYOUTS, choose=choose_tile(CPU_COSTS), choices=by_name(choices))


def schedule_by_chance(kernel: Kernel, schedule: Scheduler, r: Random) -> tuple[Kernel, Record] | None:
    """None where the combination is not legal."""
    record = Record(r)
    try:
        return schedule(kernel, record), record
    except ScheduleError:
        return None


def check_interpreted(proto: onnx.ModelProto, target: str, r: Random) -> None:
    schedule = INTERPRETED[target]
    for naive in lowered_by_chance(proto, target, r).kernels:
        kernel = narrow_types(naive, {}).kernel
        made = schedule_by_chance(kernel, schedule, r)
        if made is None:
            continue
        scheduled, record = made
        verify_kernel(scheduled, "schedule_simt" if target == "simt" else "schedule_cpu")
        again = schedule(kernel, Replay(record.chosen))
        assert print_kernel(again, named=False) == print_kernel(scheduled, named=False)
        if operations(kernel.body) <= WORK:
            inputs = inputs_for(kernel)
            assert_close(*(run_kernel(k, inputs, zeroed=target == "simt") for k in (kernel, scheduled)), TOLERANCE)


class ByChance:
    """A backend whose kernels are scheduled by random choices."""

    def __init__(self, backend: Any, r: Random) -> None:
        self._backend, self._random = backend, r

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def compile_kernel(self, naive: Kernel, placements: Any, choices: Choices = DEFAULT) -> Any:
        try:
            return self._backend.compile_kernel(naive, placements, Record(self._random))
        except ScheduleError:
            return self._backend.compile_kernel(naive, placements, choices)


def check_run(proto: onnx.ModelProto, target: str, r: Random) -> None:
    """Compiled by random choices, a model computes what onnxruntime does."""
    need_driver(target)
    lowered = lowered_by_chance(proto, target, r)
    shapes = {i.name: [d.dim_value for d in i.type.tensor_type.shape.dim] for i in proto.graph.input}
    feeds = {name: random(shape, 5) for name, shape in shapes.items()}
    cpu = host_target() if target == "native" else WASM_RELAXED

    def choose(naive: Kernel, _: object) -> Choices:
        made = schedule_by_chance(naive, lambda k, c: schedule_cpu(k, cpu, c), r)
        return DEFAULT if made is None else Replay(made[1].chosen)

    if target in BACKENDS:
        weights = Weights()
        plan = plan_for_device(lowered, ByChance(BACKENDS[target](), r), weights)
        device = compile_for_device(lowered, plan, cpu=host_target())
        row = TABLE[target]
        assert isinstance(row, DeviceTarget)
        model = row.run(device, weights.blob())
        got = model.run(feeds)
        model.close()
    else:
        program = compile_for_cpu(lowered, cpu, plan=plan_for_cpu(lowered, [cpu], choose))
        native = target == "native"
        compiled = (
            NativeModel(program) if native else WasmModel(program, build_module(program, relaxed=True), relaxed=True)
        )
        got = compiled.run(feeds)
    assert_results(got, onnxruntime_results(proto, feeds), RUN_TOLERANCE)


def check(kind: str, target: str, seed: int) -> None:
    r = Random(seed)
    proto = KINDS[kind](r)
    if target in INTERPRETED:
        check_interpreted(proto, target, r)
    else:
        check_run(proto, target, r)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.function is test_any_legal_choices_compute_the_same:
        seeds = range(TRIPLES[effort_of(metafunc.config)])
        kinds = list(KINDS)
        cases = [(kinds[s % len(kinds)], TARGETS[s // len(kinds) % len(TARGETS)], s) for s in seeds]
        metafunc.parametrize(("kind", "target", "seed"), cases, ids=["-".join(map(str, c)) for c in cases])


@pytest.mark.every_row
def test_any_legal_choices_compute_the_same(kind: str, target: str, seed: int) -> None:
    check(kind, target, seed)


FRAGMENTS = [(kind, seed) for kind in ("reduction", "contraction", "depthwise") for seed in range(8)]


@pytest.mark.parametrize(("kind", "seed"), FRAGMENTS)
def test_fragments_by_any_choices(kind: str, seed: int) -> None:
    """Interpreted over textures, which have their own layout of elements: the text of a replay is equal, too."""
    r = Random(1000 + seed)
    graph = run_graph_passes(import_model(KINDS[kind](r)))
    for naive in lower_model(graph, policy=WebGl().layouts).kernels:
        kernel = order_constants(narrow_types(naive, {}).kernel)
        made = schedule_by_chance(kernel, _fragment, r)
        assert made is not None
        again = _fragment(kernel, Replay(made[1].chosen))
        assert print_kernel(again, named=False) == print_kernel(made[0], named=False)


def check_many(targets: tuple[str, ...]) -> None:
    for seed in range(20):
        for target in targets:
            check("pointwise", target, seed)


def test_an_illegal_step_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that leaves out the last iteration of a loop."""

    def leave_out(stmt: Stmt, loops: list[Var]) -> Stmt:
        made, _ = cut(stmt, loops[0], [loops[0].extent - 1])
        return made.stmts[0] if isinstance(made, Seq) else made

    monkeypatch.setattr(pointwise, "partition", leave_out)
    with pytest.raises(AssertionError):
        check_many(("narrow", "wide"))


def test_another_exception_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("planted")

    monkeypatch.setattr(pointwise, "partition", fail)
    with pytest.raises(KeyError):
        check_many(("narrow",))


def test_choices_reach_other_code() -> None:
    """A product's space has more than one schedule, and choices find several."""
    kernels = lower_model(run_graph_passes(import_model(KINDS["contraction"](Random(3))))).kernels
    texts = {
        print_kernel(made[0], named=False)
        for seed in range(12)
        for k in kernels
        if (made := schedule_by_chance(k, INTERPRETED["narrow"], Random(seed))) is not None
    }
    assert len(texts) > 6 * len(kernels)


def _product() -> Kernel:
    (kernel, *_) = lower_model(run_graph_passes(import_model(KINDS["contraction"](Random(3))))).kernels
    return kernel


def test_a_record_of_another_kernel_is_passed_over() -> None:
    """A compiler that reads records of an older one still compiles, by its own default."""
    program = lower_model(run_graph_passes(import_model(KINDS["contraction"](Random(3)))))
    target = host_target()
    plan = plan_for_cpu(program, [target], lambda *_: Replay({"rows": 999}))
    stale = compile_for_cpu(program, target, plan=plan)
    default = compile_for_cpu(program, target)
    assert [print_kernel(k) for k in stale.kernels] == [print_kernel(k) for k in default.kernels]
    assert stale.keys == default.keys
    reasons = [k.refusal for k in plan.values() if k.refusal is not None]
    assert reasons
    assert all("choices: rows=999 is none of [" in r for r in reasons)
    with pytest.raises(ScheduleError, match=r"choices: rows=999 is none of \["):
        schedule_cpu(_product(), target, Replay({"rows": 999}))


def test_an_illegal_default_is_a_fault_of_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def illegal(*_: object) -> None:
        raise ScheduleError("planted")

    monkeypatch.setattr("webnn_compile.cpu.compile_for_cpu.schedule_cpu", illegal)
    program = lower_model(run_graph_passes(import_model(KINDS["pointwise"](Random(0)))))
    with pytest.raises(InternalError, match=r"schedule of kernel \w+: planted"):
        list(compile_for_cpu(program, host_target()).kernels)


def test_the_tile_of_a_record_is_the_tile_of_the_kernel() -> None:
    kernel = _product()
    record = Record(Random(1))
    schedule_cpu(kernel, NARROW, record)
    rows = record.decisions["rows"]
    assert rows.options == (8, 7, 3, 2, 1)
    texts = {print_kernel(schedule_cpu(kernel, NARROW, Replay(record.chosen | {"rows": n}))) for n in rows.options}
    assert len(texts) == len(rows.options)
