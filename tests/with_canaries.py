"""Device programs with canaries, and the names of kernels that a device computes wrongly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import onnx
from drivers import need_driver
from webnn_compile.canaries.check_canaries import check_canaries
from webnn_compile.canaries.make_canaries import make_canaries
from webnn_compile.driver.device_target import DeviceTarget
from webnn_compile.driver.optimise_model import import_graph, optimise_model
from webnn_compile.driver.options import Options
from webnn_compile.driver.targets import TARGETS
from webnn_compile.driver.work import Work
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.gpu.compile_for_device import compile_for_device
from webnn_compile.pipeline.weights import Weights
from webnn_compile.program.device_program import DeviceProgram
from webnn_compile.system.cache import Cache

DRIVERS = ("webgpu", "webgl", "opencl")


def program_of(
    model: onnx.ModelProto,
    target: str,
    dims: Mapping[str, Any] | None = None,
    *,
    precision: str = "f32",
    states: Sequence[str] | None = None,
    cache: Cache | None = None,
) -> DeviceProgram:
    """The program for a target of this machine's drivers; the test is skipped where it has none."""
    need_driver(target)
    row = TARGETS[target]
    assert isinstance(row, DeviceTarget)
    options = Options(model_inputs(dims=dims, states=states), precision=precision)
    work = Work("model", options, Cache(None) if cache is None else cache, lambda _: None)
    lowered = row.lower(optimise_model(import_graph(model.SerializeToString(), work), work), work)
    plan = row.plan(lowered, Weights(), work)
    program = compile_for_device(lowered, plan)
    return replace(program, canaries=make_canaries(plan, program, work.cache))


def checked_kernels(program: DeviceProgram) -> list[str]:
    return [program.kernels[program.launches[c.launch].kernel].name for c in program.canaries]


def wrong_kernels(program: DeviceProgram) -> list[str]:
    """Names of kernels that this machine's driver computes wrongly, by their canaries."""
    row = TARGETS[program.backend]
    assert isinstance(row, DeviceTarget)
    wrong = check_canaries(program, row.open_device(program.kernels))
    return [program.kernels[program.launches[c.launch].kernel].name for c in wrong]
