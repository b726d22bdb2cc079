"""A second sequence of steps for some values of sizes, over the memory of the general one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..ir.construct import any_of
from ..ir.nodes import Expr, Scalar
from ..tensor.build_kernel import Destination
from ..tensor.computed_sizes import Sizes
from ..tensor.program import Special
from ..tensor.steps import BranchStep, renumber
from .lower_structures import LowerRegion
from .lowered import Lowered


def add_special(general: Lowered, special: Special, lower_region: LowerRegion) -> Lowered:
    """for n in 0..8: steps   ->   if n != 1: steps, else: steps for n = 1

    What both leave for the next run is in the memory of their inputs, which is one. The general steps stand first:
    results are written late in them, so that their memory is free until then.
    """
    ports = general.tensors
    program = special.program
    inputs = {t: whole for (_, t), (_, whole) in zip(program.inputs, ports.inputs, strict=True)}
    sources = (ports.sizes.source(s) for s in special.reported)
    results = [*(t for _, t in ports.outputs), *(t for t in sources if t is not None)]
    outputs = {t: whole for (_, t), whole in zip(program.outputs, results, strict=True)}
    outputs.update((after, inputs[before]) for before, after in program.state_tensors)
    rooms = {t: whole.extents for t, whole in {**inputs, **outputs}.items()}
    states = {after for _, after in program.state_tensors}
    destinations = {t: Destination(whole) for t, whole in outputs.items() if t not in states}
    own = lower_region(replace(program, rooms=rooms), destinations, frozenset())
    steps = renumber(own.steps, len(general.groups))
    sizes = Sizes({**own.tensors.sizes.sources, **ports.sizes.sources})
    return replace(
        general,
        tensors=replace(ports, sizes=sizes),
        groups=(*general.groups, *own.groups),
        kernels=(*general.kernels, *own.kernels),
        layouts={**own.layouts, **general.layouts},
        aliases={**own.aliases, **general.aliases, **inputs},
        prepared={**own.prepared, **general.prepared},
        rewritten=(*general.rewritten, *own.rewritten),
        steps=(BranchStep(_differ(special.values), general.steps, steps, ()),),
    )


def _differ(values: Mapping[Scalar, int]) -> Expr:
    return any_of(*(s.ne(n) for s, n in values.items()))
