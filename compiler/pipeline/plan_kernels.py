"""The choices of a model's kernels, which are known to be legal before a program is made of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from ..choices import DEFAULT, Choices, Replay, key_of_choices
from ..errors import CannotExpress, ScheduleError
from ..ir.nodes import Kernel
from ..program.device_program import Placement
from .lazy_kernels import describe

Placements = tuple[Placement | None, ...]
"""The textures of a kernel's parameters; empty where the target has none."""

KernelChoices = Callable[[Kernel, Sequence[object]], Choices]
"""The choices of a naive kernel, by its parameters' placements on a device that has any: a function of these alone."""


def default_choices(_: Kernel, __: Sequence[object] = ()) -> Choices:
    return DEFAULT


@dataclass(frozen=True, slots=True)
class PlannedKernel:
    """A naive kernel over parameters with `placements`, and the legal `choices` of its schedule: the default ones where
    recorded ones are not, by the reason `refusal`."""

    naive: Kernel
    placements: Placements = ()
    choices: Choices = DEFAULT
    refusal: str | None = None


KernelPlan = Mapping[int, PlannedKernel]
"""By number of the group."""


def plan_kernels(
    kernels: Mapping[int, tuple[Kernel, Placements]],
    choices: KernelChoices,
    settle: Callable[[Kernel, Placements, Replay], Choices],
) -> KernelPlan:
    """The plan of `kernels`, each with its placements. Recorded `choices` become those that `settle` returns, or the
    default ones where it raises ScheduleError or CannotExpress."""
    settled: dict[Hashable, tuple[Choices, str | None]] = {}

    def settled_once(naive: Kernel, placements: Placements, choice: Choices) -> tuple[Choices, str | None]:
        if not isinstance(choice, Replay):
            return choice, None
        key = describe(naive), placements, key_of_choices(choice)
        if key not in settled:
            try:
                settled[key] = settle(naive, placements, choice), None
            except (ScheduleError, CannotExpress) as error:
                settled[key] = DEFAULT, str(error)
        return settled[key]

    return {
        i: PlannedKernel(naive, placements, *settled_once(naive, placements, choices(naive, placements)))
        for i, (naive, placements) in kernels.items()
    }
