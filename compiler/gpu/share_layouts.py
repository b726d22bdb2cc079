"""One copy of the weights for kernels of all sizes: those of a fast size read them as the general ones do."""

from __future__ import annotations

from ..errors import CannotExpress
from ..ir.layout import Layout
from ..ir.nodes import Kernel
from ..pipeline.lowered import Lowered
from ..pipeline.plan_kernels import Placements
from ..pipeline.special_groups import special_groups
from ..program.device_program import Placement
from ..tensor import Tensor
from .compile_kernels import CompiledGroups, KernelCompiler
from .share_tables import NaiveKernels, in_layout

Places = dict[tuple[Layout, Placement | None], None]
"""How a constant is in memory, first what the first kernel reads."""


def share_layouts(
    model: Lowered, naive: NaiveKernels, compiled: CompiledGroups, compiler: KernelCompiler
) -> NaiveKernels:
    """y[j] = sum over k of x[k] * w[k, j]   ->   y[j] = sum over k of x[k] * w'[j // 32, k, j % 32]

    for kernels of fast sizes, where a general one, as `compiled`, reads the constant in that layout, and the schedule
    keeps it. The same kernels where there is none.
    """
    special = special_groups(model)
    general: dict[Tensor, Places] = {}
    for i in compiled.numbers.keys() - special if special else ():
        for at, t in enumerate(model.groups[i].reads):
            if t.is_constant:
                general.setdefault(t, {})[_read(compiled, i, at)] = None
    shared = dict(naive)
    for i in special & compiled.numbers.keys():
        for at, t in enumerate(model.groups[i].reads):
            if t in general and _read(compiled, i, at) not in general[t]:
                candidates = (_placed(*shared[i], at, *place) for place in general[t])
                shared[i] = next((c for c in candidates if _keeps(c, at, compiler)), shared[i])
    return naive if shared == naive else shared


def _placed(
    kernel: Kernel, places: Placements, at: int, layout: Layout, place: Placement | None
) -> tuple[Kernel, Placements]:
    """The kernel with its constant parameter of that number in this layout and place."""
    placed = tuple(place if j == at else p for j, p in enumerate(places))
    return in_layout(kernel, kernel.params[at], layout), placed


def _keeps(naive: tuple[Kernel, Placements], at: int, compiler: KernelCompiler) -> bool:
    """Whether the default schedule of a kernel leaves a parameter as it is."""
    kernel, places = naive
    try:
        made = compiler.compile(kernel, places)
    except CannotExpress:
        return False
    return (made.params[at].layout, made.placements[at]) == (kernel.params[at].layout, places[at])


def _read(compiled: CompiledGroups, group: int, at: int) -> tuple[Layout, Placement | None]:
    kernel = compiled.kernels[compiled.numbers[group]]
    layout = kernel.params[at].layout
    assert layout is not None
    return layout, kernel.placements[at]
