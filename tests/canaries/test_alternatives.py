"""Alternatives of kernels: other sources over the same storages, which are right by the same canaries."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import onnx
import pytest
from cli.command import EXAMPLE
from onnx_models import model, node
from webnn_compile.bundle.render_device import render_alternatives
from webnn_compile.program.device_program import Alternative, DeviceKernel, DeviceProgram
from with_canaries import OTHERS, checked_kernels, network, program_of, wrong_kernels

MODELS = {"a network": (network, {}), **OTHERS}


def with_alternatives(program: DeviceProgram, kind: str) -> DeviceProgram:
    """The program with alternatives of this kind in the place of all kernels that have one."""
    kernels = list(program.kernels)
    for number, alternatives in program.alternatives.items():
        kernels[number] = next((a.kernel for a in alternatives if a.kind == kind), kernels[number])
    return replace(program, kernels=tuple(kernels))


@pytest.mark.parametrize("target", ["webgpu", "webgl"])
@pytest.mark.parametrize("name", MODELS)
def test_the_simplest_schedules_are_right(name: str, target: str) -> None:
    """Many kernels that have a canary have one; of the others it is their own."""
    make, options = MODELS[name]
    program = program_of(make(), target, **options)
    assert 3 * len(program.alternatives) >= len(program.canaries)
    other = with_alternatives(program, "other-schedule")
    for number, (alternative,) in program.alternatives.items():
        own, simple = program.kernels[number], other.kernels[number]
        assert alternative == Alternative("other-schedule", simple)
        assert own.source != simple.source
        assert interface(own) == interface(simple)
        assert not re.search(r"Barrier|var<workgroup>|subgroup", simple.source)
        assert simple.with_subgroups is None
    assert wrong_kernels(other) == []


def interface(kernel: DeviceKernel) -> tuple[object, ...]:
    """Parts of a kernel that a launch depends on."""
    return kernel.params, kernel.scalars, kernel.declarations, kernel.features


def test_an_invocation_computes_an_element() -> None:
    """A sum along rows, of which the kernel itself has a workgroup for each."""
    program = program_of(model([node("ReduceSum", ["x"], ["y"])], {"x": (1, 1000)}, ["y"]), "webgpu")
    ((alternative,),) = program.alternatives.values()
    (kernel,) = program.kernels
    assert "workgroupBarrier" in kernel.source
    assert (kernel.grid, alternative.kernel.grid, alternative.kernel.workgroup) == ((1, 1, 1), (1, 1, 1), (1, 1, 1))


def test_a_kernel_that_has_the_simplest_schedule_has_none() -> None:
    program = program_of(model([node("Relu", ["x"], ["y"])], {"x": (3, 7)}, ["y"]), "webgpu")
    assert (checked_kernels(program), program.alternatives) == (["relu"], {})
    assert render_alternatives(program) == b""


def test_what_is_computed_in_float16_has_its_schedule_in_float32() -> None:
    """Before the simplest one."""
    fast, plain = (program_of(onnx.load(EXAMPLE), "webgpu", precision=p) for p in ("f16-fast", "f16"))
    both = {i: a for i, a in fast.alternatives.items() if len(a) == 2}
    assert both
    assert {tuple(a.kind for a in found) for found in both.values()} == {("without-f16", "other-schedule")}
    in_floats = with_alternatives(fast, "without-f16")
    assert {k.source for k in plain.kernels}.issuperset(in_floats.kernels[i].source for i in both)
    assert wrong_kernels(in_floats) == []
    assert wrong_kernels(with_alternatives(fast, "other-schedule")) == []
    assert not any(a.kind == "without-f16" for found in plain.alternatives.values() for a in found)


@pytest.mark.parametrize("target", ["webgpu", "webgl"])
def test_a_bundle_has_what_is_other_in_them(target: str) -> None:
    """By the kernels' numbers: always the source, and the grid where it is another one."""
    program = program_of(network(), target)
    rendered = json.loads(render_alternatives(program))
    assert list(rendered) == [str(number) for number in program.alternatives]
    for number, alternatives in program.alternatives.items():
        (fields,) = rendered[str(number)]
        (other,) = (a.kernel for a in alternatives)
        own = program.kernels[number]
        assert (fields["taken"], fields.keys() - {"grid"}) == ("other-schedule", {"taken", "source"})
        assert tuple(fields.get("grid", own.grid)) == other.grid
