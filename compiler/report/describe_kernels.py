"""The kernels of a program: work, schedule and source of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..choices import Listed
from ..codegen.device_backend import DeviceBackend
from ..cpu.compile_for_cpu import schedule_kernel
from ..glsl.compose import compose
from ..ir.sizes import text_of
from ..passes.count_work import count_work
from ..pipeline.plan_kernels import PlannedKernel
from ..program.device_program import DeviceKernel, DeviceProgram
from ..program.program import Program
from ..system.recursion import deep_recursion
from ..target import Target
from .page_data import Decided, Kernel


@dataclass(frozen=True, slots=True)
class Launched:
    """A distinct kernel of a run: as it was planned, and the numbers of its steps."""

    planned: PlannedKernel
    steps: tuple[int, ...]


@deep_recursion()
def describe_cpu_kernels(
    program: Program, launched: Mapping[int, Launched], facts: Target, level: int, text: Callable[[int], str]
) -> tuple[Kernel, ...]:
    """All kernels of a program for processors; `text` is the code of each, by number."""
    return tuple(_cpu_kernels(program, launched, facts, level, text))


def _cpu_kernels(
    program: Program, launched: Mapping[int, Launched], facts: Target, level: int, text: Callable[[int], str]
) -> Iterator[Kernel]:
    names = {s.kernel: s.name for s in (*program.prepare, *program.launches)}
    for number in range(len(program.kernels)):
        name, source = names[number], text(number)
        if number not in launched:
            yield Kernel(name, "", None, None, "", (), None, source, ())
            continue
        planned, steps = launched[number].planned, launched[number].steps
        listed = Listed(planned.choices)
        scheduled = schedule_kernel(planned.naive, facts, level, listed)
        size = sum(b.size * b.dtype.bytes for b in planned.naive.params)
        yield Kernel(
            name,
            _form(planned),
            count_work(planned.naive, scheduled),
            size,
            "",
            _decided(listed),
            planned.refusal,
            source,
            steps,
        )


@deep_recursion()
def describe_device_kernels(
    program: DeviceProgram,
    launched: Mapping[int, Launched],
    without_canary: Mapping[int, str],
    backend: DeviceBackend,
) -> tuple[Kernel, ...]:
    """All kernels of a program for a GPU, which `backend` compiled; `without_canary` says why a kernel has no canary,
    by its number."""
    return tuple(
        replace(_device_kernel(k, launched.get(i), backend), without_canary=without_canary.get(i, ""))
        for i, k in enumerate(program.kernels)
    )


def _device_kernel(kernel: DeviceKernel, launched: Launched | None, backend: DeviceBackend) -> Kernel:
    source = kernel.source if kernel.declarations is None else compose(kernel)
    if launched is None:
        return Kernel(kernel.name, "", kernel.flops, kernel.bytes, _extent(kernel), (), None, source, ())
    planned = launched.planned
    listed = Listed(planned.choices)
    backend.compile_kernel(planned.naive, planned.placements, listed)
    return Kernel(
        kernel.name,
        _form(planned),
        kernel.flops,
        kernel.bytes,
        _extent(kernel),
        _decided(listed),
        planned.refusal,
        source,
        launched.steps,
    )


def _extent(kernel: DeviceKernel) -> str:
    x, y, z = map(text_of, kernel.grid)
    if kernel.declarations is not None:
        return f"a draw of {x} x {y} texels to {z} layer{'s' * (z != '1')}"
    return f"{x} x {y} x {z} workgroups of {' x '.join(map(str, kernel.workgroup))} invocations"


def _decided(listed: Listed) -> tuple[Decided, ...]:
    return tuple(Decided(name, str(d.chosen), len(d.options)) for name, d in listed.decisions.items())


def _form(planned: PlannedKernel) -> str:
    """The kind of its results, of several that of the most work."""
    kinds: Sequence[str] = [str(f).split(" ")[0] for f in planned.naive.forms]
    return next((k for k in ("contraction", "transform", "reduction") if k in kinds), "map")
