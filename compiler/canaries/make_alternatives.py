"""Alternatives of kernels, for devices that compute these wrongly, as their canaries show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..gpu.plan_for_device import DevicePlan
from ..program.device_program import Alternative, Canary, DeviceProgram


def make_alternatives(
    plan: DevicePlan, program: DeviceProgram, canaries: Sequence[Canary]
) -> Mapping[int, tuple[Alternative, ...]]:
    """Alternatives of the kernels of a program, compiled by `plan`, that have one of `canaries`, by their numbers."""
    checked = sorted({program.launches[c.launch].kernel for c in canaries})
    found = {number: plan.compiler.alternatives(program.kernels[number]) for number in checked}
    return {number: alternatives for number, alternatives in found.items() if alternatives}
