"""Builds what is measured: a function from data to data, for any executor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from ..choices import DEFAULT, Choices, Replay
from ..codegen.device_backend import Placements
from ..driver.device_target import DeviceTarget
from ..driver.options import Options
from ..driver.targets import TARGETS
from ..driver.work import Work
from ..errors import InputError
from ..gpu.wrapped_backend import WrappedBackend
from ..ir.nodes import Kernel
from ..pipeline.lowered import Lowered
from ..pipeline.plan_kernels import KernelPlan
from ..program.device_program import Placement
from ..records.keys import key_of_kernel
from ..records.tuning_record import Failure
from ..system.cache import open_cache
from ..tensor import Tensor
from .device import Artifact
from .native_program import NativeProgram
from .probe import explain
from .problem import make_program
from .time_limit import BUILD, time_limit
from .trial_model import piece_of


@dataclass(frozen=True, slots=True)
class TrialChoices:
    """The choices of each piece's kernels by the piece's path."""

    paths: tuple[Mapping[str, Any], ...]

    def kernels(self, naive: Kernel, placements: Sequence[object] = ()) -> Choices:
        piece = piece_of(naive.name)
        path = {} if piece is None else self.paths[piece]
        return Replay(path) if path else DEFAULT

    def layers(self, t: Tensor) -> Choices:
        return DEFAULT


@dataclass(frozen=True, slots=True)
class TrialJob:
    """`model` is a `trial_model`, its kernels by `paths`. `key`: what the kernels' key must be, and the `placements` of
    their parameters on a device that has any; None and none for layers."""

    target: str
    model: Lowered
    paths: tuple[Mapping[str, Any], ...]
    options: Options
    key: str | None = None
    placements: tuple[Placement | None, ...] = ()


@dataclass(frozen=True, slots=True)
class BuiltTrial:
    """`artifact` is None where nothing is left to measure. `failures` are by piece."""

    artifact: Artifact | None
    failures: Mapping[int, tuple[Failure, str]]


def build_trial(job: TrialJob) -> BuiltTrial:
    """Never raises what a candidate causes: an error is the failure of all pieces, also where it is the compiler's."""
    try:
        with time_limit(BUILD):
            artifact, plan = _build(job)
    except Exception as error:
        kind: Failure = "limits" if isinstance(error, InputError) else "build"
        return BuiltTrial(None, {i: (kind, explain(error)) for i in range(len(job.paths))})
    failures: dict[int, tuple[Failure, str]] = {}
    for k in plan.values():
        piece = piece_of(k.naive.name)
        if piece is None:
            continue
        if k.refusal is not None:
            failures.setdefault(piece, ("illegal", k.refusal))
        if job.key not in (None, key_of_kernel(k.naive, k.placements)):
            failures[piece] = ("build", "by itself it is another kernel than in the model")
    return BuiltTrial(artifact, failures)


def _build(job: TrialJob) -> tuple[Artifact, KernelPlan]:
    row, choices = TARGETS[job.target], {job.target: TrialChoices(job.paths)}
    work = Work("trial", job.options, open_cache(enabled=job.options.cache), lambda _: None, explicit=choices)
    if isinstance(row, DeviceTarget) and any(job.placements):
        row = place_as(row, job.placements)
    artifact, plan = make_program(row, job.model, work)
    if isinstance(artifact, NativeProgram):
        artifact.compile(work.cache)  # into the cache, from which the device compiles it again
    return artifact, plan


def place_as(row: DeviceTarget, placements: tuple[Placement | None, ...]) -> DeviceTarget:
    """The target, with the parameters of all candidates placed as the model's kernel has them."""
    return replace(row, backend=lambda options, observe: _PlacedBackend(row.backend(options, observe), placements))


@dataclass(frozen=True, slots=True)
class _PlacedBackend(WrappedBackend):
    """`backend`, but for where it places the parameters of candidates. Shaders depend on placements, whatever chose
    them."""

    placements: tuple[Placement | None, ...] = field(repr=False)

    def place(self, kernels: Sequence[Kernel], arguments: Sequence[Sequence[int]], fixed: Set[int]) -> Placements:
        own = {
            value: placement
            for kernel, values in zip(kernels, arguments, strict=True)
            if piece_of(kernel.name) is not None
            for value, placement in zip(values, self.placements, strict=True)
            if value >= 0
        }
        return {**self.backend.place(kernels, arguments, fixed), **own}
