"""One copy of the weights for kernels of all sizes: those of a fast size read them as the general ones do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ..choices import DEFAULT, Choices, Replay
from ..errors import ScheduleError
from ..ir.layout import Layout
from ..ir.nodes import Kernel
from ..pipeline.lazy_kernels import Layouts
from ..pipeline.lowered import Lowered
from ..pipeline.plan_kernels import KernelPlan, PlannedKernel
from ..pipeline.special_groups import special_groups
from ..tensor import Tensor

LayoutsOf = Callable[[Kernel, Choices], Sequence[Layouts]]
"""The layouts of a kernel's parameters on each target. Raises ScheduleError."""

OnTargets = tuple[Layout | None, ...]
"""The layouts of one constant, by target."""


def share_layouts(model: Lowered, plan: KernelPlan, lanes: int, layouts_of: LayoutsOf) -> KernelPlan:
    """`plan` where kernels of fast sizes read constants in layouts that the general ones have chosen: in tiles as wide
    as their panels. Vectors have so many `lanes`. A kernel that cannot, or that has choices of its own, keeps its plan;
    the constant is then in memory in one more layout."""
    special = special_groups(model)
    reads = {i: {at: t for at, t in enumerate(model.groups[i].reads) if t.is_constant} for i in plan}
    shared = {t for i in special & plan.keys() for t in reads[i].values()}
    general: dict[Tensor, dict[OnTargets, None]] = {}
    for i in sorted(plan.keys() - special):
        places = {at: t for at, t in reads[i].items() if t in shared}
        found = layouts_of(plan[i].naive, plan[i].choices) if places else ()
        for at, t in places.items():
            general.setdefault(t, {})[tuple(layouts[at] for layouts in found)] = None
    planned = dict(plan)
    for i in special & plan.keys():
        wanted = {at: tuple(general[t]) for at, t in reads[i].items() if t in general}
        if wanted and plan[i].choices is DEFAULT:
            planned[i] = _sharing(plan[i], wanted, lanes, layouts_of)
    return planned


def _sharing(
    planned: PlannedKernel, wanted: Mapping[int, Sequence[OnTargets]], lanes: int, layouts_of: LayoutsOf
) -> PlannedKernel:
    """`planned` by choices that lead to one of the `wanted` layouts of each parameter, by its number."""

    def fits(choices: Choices) -> bool:
        try:
            found = layouts_of(planned.naive, choices)
        except ScheduleError:
            return False
        return all(tuple(layouts[at] for layouts in found) in some for at, some in wanted.items())

    panels = (x.blocks[-1].size for some in wanted.values() for x, *_ in some if x is not None and x.blocks)
    tiles = (Replay({"vectors": width // lanes}) for width in dict.fromkeys(panels))
    return next((replace(planned, choices=c) for c in (DEFAULT, *tiles) if fits(c)), planned)
