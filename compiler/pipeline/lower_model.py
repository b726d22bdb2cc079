"""From a graph to naive kernels, before anything depends on one target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..costs import CPU_COSTS, CpuCosts
from ..graph.ir import Graph
from ..graph.lower_graph import lower_graph
from ..ir.layout import CPU_LAYOUTS, Layout, LayoutPolicy
from ..ir.nodes import Kernel
from ..system.recursion import deep_recursion
from ..system.run_passes import Observer, ignore
from ..tensor import Tensor
from ..tensor.add_relayouts import add_relayouts
from ..tensor.aliases import find_aliases
from ..tensor.build_kernel import build_kernel
from ..tensor.choose_layout import choose_layout, row_major
from ..tensor.fuse import Group, fuse
from ..tensor.layer_choices import LayerChoices, default_layers
from ..tensor.place_tensors import Stored, place_tensors
from ..tensor.program import TensorProgram
from ..tensor.split_contractions import split_contractions
from ..tensor.split_reads import split_reads
from ..tensor.split_reductions import split_reductions
from ..tensor.use_winograd import Choice, Rewritten, use_winograd
from .join_bands import join_bands


@dataclass(frozen=True, slots=True)
class Lowered:
    """A model as naive kernels, before anything depends on a target. `kernels` belong to `groups` one by one.

    `prepared` are the groups of tensors computed at load: their kernels are built for the layouts that a target reads.
    `rewritten` are the convolutions that Winograd's algorithm computes.
    """

    name: str
    tensors: TensorProgram
    groups: tuple[Group, ...]
    kernels: tuple[Kernel, ...]
    layouts: Mapping[Tensor, Layout]
    aliases: Mapping[Tensor, Tensor]
    stored: Stored
    prepared: Mapping[Tensor, Group]
    rewritten: tuple[Rewritten, ...] = ()


@deep_recursion()
def lower_model(
    graph: Graph,
    observe: Observer = ignore,
    opt_level: int = 2,
    policy: LayoutPolicy = CPU_LAYOUTS,
    choose: Choice | None = None,
    costs: CpuCosts = CPU_COSTS,
    choices: LayerChoices = default_layers,
) -> Lowered:
    """Operators become tensors, tensors groups, groups naive kernels with memory for each result.

    `policy` is the layout policy of the family of targets. Below `opt_level` 2 every tensor is row-major. `choose`
    picks the convolutions to compute by Winograd's algorithm.
    """
    return lower_tensors(graph.name, lower_graph(graph), observe, opt_level, policy, choose, costs, choices)


@deep_recursion()
def lower_tensors(
    name: str,
    tensors: TensorProgram,
    observe: Observer = ignore,
    opt_level: int = 2,
    policy: LayoutPolicy = CPU_LAYOUTS,
    choose: Choice | None = None,
    costs: CpuCosts = CPU_COSTS,
    choices: LayerChoices = default_layers,
) -> Lowered:
    """Tensors become groups, groups naive kernels with memory for each result. `choices` are those of layers:
    `winograd`, `band`, `split_k`, `stages`."""
    rewritten: tuple[Rewritten, ...] = ()
    if opt_level >= 2:
        tensors = add_relayouts(tensors)
        if choose is not None:
            tensors, rewritten = use_winograd(tensors, choose, choices, flat_tiles=policy.windows is not None)
    if policy.occupancy is not None:
        tensors = split_contractions(tensors, policy.occupancy, choices)
    if policy.stages is not None:
        tensors = split_reductions(tensors, policy.stages, policy.shared or policy.stages, choices)
    if policy.reads is not None:
        tensors = split_reads(tensors, policy.reads)
    fused = fuse(tensors, policy.reads)
    groups = tuple(g for g in fused if not g.output.prepared)
    prepared = {g.output: g for g in fused if g.output.prepared}
    layouts = choose_layout(tensors, groups, policy, costs) if opt_level >= 2 else row_major(tensors, groups)
    fixed = {t for _, t in tensors.inputs}
    aliases = find_aliases(groups, layouts, fixed)
    if not policy.linear:
        aliases = {t: o for t, o in aliases.items() if layouts[t].physical_shape == layouts[o].physical_shape}
    groups = tuple(g for g in groups if g.output not in aliases)
    kernels = tuple(build_kernel(kernel_name(g), g, layouts, fill_halo=policy.fill_halos) for g in groups)
    if policy.windows is None:
        groups, kernels, layouts = join_bands(rewritten, groups, kernels, layouts, costs, choices)
    for k in kernels:
        observe("build_kernel", k)
    stored = place_tensors(tensors, groups, layouts, aliases)
    return Lowered(name, tensors, groups, kernels, layouts, aliases, stored, prepared, rewritten)


def kernel_name(g: Group) -> str:
    words = "_".join(dict.fromkeys(op.lower() for op in g.origin.ops)) or "copy"
    return "".join(c if c.isalnum() else "_" for c in words)[:48]
