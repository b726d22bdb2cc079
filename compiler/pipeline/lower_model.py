"""From a graph to naive kernels, before anything depends on one target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

from ..costs import CPU_COSTS, CpuCosts
from ..graph.ir import Graph
from ..graph.lower_graph import lower_graph
from ..system.recursion import deep_recursion
from ..system.run_passes import Observer, ignore
from ..target import CPU_LAYOUTS, LayoutPolicy
from ..tensor import Tensor
from ..tensor.build_kernel import Destination, build_kernel
from ..tensor.collect_regions import measured
from ..tensor.layer_choices import DecisionList, LayerChoices, default_layers
from ..tensor.place_tensors import NOTHING_STORED, place_tensors
from ..tensor.program import Inner, TensorProgram
from ..tensor.structure import Loop
from ..tensor.use_winograd import Choice
from .add_special import add_special
from .join_bands import join_bands
from .lower_states import add_states, keep_rows
from .lower_structures import add_structures
from .lowered import Lowered, kernel_name
from .tensor_passes import TensorOptions, group_tensors, run_tensor_passes


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
    filters: int | None = None,
) -> Lowered:
    """Tensors become groups, groups naive kernels with memory for each result. `choices` are those of layers:
    `winograd`, `band`, `sums`, `split_k`, `stages`, `widened`; `filters` are the most bytes that Winograd's algorithm
    may prepare."""
    listed = DecisionList(choices)
    lowering = _Lowering(TensorOptions(opt_level, policy, choose, costs, listed, filters), observe)
    lowered = lowering.region(tensors, {}, frozenset())
    for special in tensors.special:
        lowered = add_special(lowered, special, lowering.region)
    outputs = tuple(t for _, t in lowered.tensors.outputs)
    ports = (
        tuple(t for _, t in lowered.tensors.inputs),
        (*outputs, *lowered.tensors.sizes.sources_of(lowered.reported)),
    )
    states = [before for before, _ in lowered.tensors.state_tensors]
    stored = place_tensors(
        ports, lowered.groups, lowered.steps, lowered.layouts, lowered.aliases, lowered.sources, states
    )
    return replace(lowered, name=name, stored=stored, decisions=tuple(listed.decisions))


class _Lowering:
    """Lowers the regions of a model, each by itself: what passes from one to another is row-major, and stored."""

    def __init__(self, options: TensorOptions, observe: Observer) -> None:
        self._options, self._observe = options, observe

    def region(self, program: TensorProgram, destinations: Mapping[Tensor, Destination], own: Set[Tensor]) -> Lowered:
        """The groups and kernels of a region, and of those in it. Results are stored at their `destinations`; those in
        `own` have memory of their own."""
        options, observe = self._options, self._observe
        exported, imported = _ports(program)
        whole = replace(
            program,
            inputs=(*program.inputs, *((t.name, t) for t in imported)),
            outputs=(*program.outputs, *((t.name, t) for t in exported)),
            structures=(),
            stored=program.stored.union(*map(_prepared_reads, program.structures)),
        )
        tensors = run_tensor_passes(whole, options, observe)
        now = {t: became for (_, t), (_, became) in zip(whole.outputs, tensors.outputs, strict=True)}
        destinations = {now[t]: d for t, d in destinations.items()}
        states = [(before, now[after]) for before, after in program.state_tensors]
        starts = {c.start for n in program.structures if isinstance(n.structure, Loop) for c in n.structure.carried}
        alone = frozenset({*(now[t] for t in own | starts), *(after for _, after in states)})
        rooms = {now.get(t, t): extents for t, extents in program.rooms.items()}
        grouped = group_tensors(tensors, destinations, alone, rooms, options, observe)
        layouts = grouped.layouts
        kept = keep_rows(grouped.groups, states, [layouts[before] == layouts[after] for before, after in states])
        groups = kept.groups
        placed = {**destinations, **kept.destinations}
        fill_halo = options.policy.fill_halos
        kernels = tuple(
            build_kernel(kernel_name(g), g, layouts, fill_halo=fill_halo, destination=placed.get(g.output))
            for g in groups
        )
        if options.policy.windows is None:
            layers = tensors.rewritten
            groups, kernels, layouts = join_bands(layers, groups, kernels, layouts, options.costs, options.choices)
        for k in kernels:
            observe("build_kernel", k)
        aliases = {**grouped.aliases, **{t: p.memory for t, p in destinations.items()}}
        outputs = tuple((name, now[t]) for name, t in program.outputs)
        ports = replace(program, outputs=outputs, sizes=program.sizes.moved(now))
        steps = tuple(range(len(groups)))
        prepared, rewritten = grouped.prepared, tensors.rewritten
        lowered = Lowered("", ports, groups, kernels, layouts, aliases, NOTHING_STORED, prepared, rewritten, steps)
        if program.structures:
            lowered = add_structures(lowered, program.structures, now, self.region, in_place=options.policy.in_place)
        return add_states(lowered, states, kept, in_place=options.policy.in_place) if states else lowered


def _prepared_reads(inner: Inner) -> Iterator[Tensor]:
    """The tensors computed at load that a loop or a branch reads."""
    for region in inner.regions:
        yield from (r for t in region.tensors for r in t.reads if r.prepared)
        for n in region.structures:
            yield from _prepared_reads(n)


def _ports(program: TensorProgram) -> tuple[list[Tensor], list[Tensor]]:
    """The tensors of a region that other regions, or the host, read from memory, and those that loops and branches in
    it make."""
    here, outputs = set(program.tensors), {t for _, t in program.outputs}
    read = [t for inner in program.structures for t in inner.reads]
    read += [t for tensor in program.tensors for t in measured(tensor, program.sizes)]
    read += program.sizes.sources_of(r.scalar for r in program.refusals)
    exported = dict.fromkeys(t for t in read if t in here and t not in outputs)
    return list(exported), [t for inner in program.structures for t in inner.results.values()]
