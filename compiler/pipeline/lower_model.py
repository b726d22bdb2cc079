"""From a graph to naive kernels, before anything depends on one target."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace

from ..costs import CPU_COSTS, CpuCosts
from ..graph.ir import Graph
from ..graph.lower_graph import lower_graph
from ..ir.layout import Layout
from ..system.recursion import deep_recursion
from ..system.run_passes import Observer, ignore
from ..target import CPU_LAYOUTS, TEXEL, LayoutPolicy
from ..tensor import Tensor
from ..tensor.add_relayouts import add_relayouts
from ..tensor.aliases import find_aliases
from ..tensor.build_kernel import Place, build_kernel
from ..tensor.choose_layout import choose_layout, row_major
from ..tensor.collect_regions import measured
from ..tensor.fuse import fuse
from ..tensor.layer_choices import LayerChoices, default_layers
from ..tensor.order_columns import order_columns
from ..tensor.place_tensors import NOTHING_STORED, place_tensors
from ..tensor.program import TensorProgram
from ..tensor.replace_tensors import replace_tensors
from ..tensor.split_contractions import split_contractions
from ..tensor.split_reads import split_reads
from ..tensor.split_reductions import split_reductions
from ..tensor.structure import Loop
from ..tensor.use_winograd import Choice, Rewritten, use_winograd
from .join_bands import join_bands
from .lower_structures import add_structures
from .lowered import Lowered, kernel_name


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
    lowering = _Lowering(observe, opt_level, policy, choose, costs, choices)
    made = lowering.region(tensors, {}, frozenset())
    outputs = tuple(t for _, t in made.tensors.outputs)
    ports = (
        tuple(t for _, t in made.tensors.inputs),
        (*outputs, *(s.source for s in made.reported if isinstance(s.source, Tensor))),
    )
    stored = place_tensors(ports, made.groups, made.steps, made.layouts, made.aliases, made.sources)
    return replace(made, name=name, stored=stored)


class _Lowering:
    """Lowers the regions of a model, each by itself: what passes from one to another is row-major, and stored."""

    def __init__(
        self,
        observe: Observer,
        opt_level: int,
        policy: LayoutPolicy,
        choose: Choice | None,
        costs: CpuCosts,
        choices: LayerChoices,
    ) -> None:
        self._observe, self._opt_level, self._policy = observe, opt_level, policy
        self._choose, self._costs, self._choices = choose, costs, choices

    def region(self, given: TensorProgram, places: Mapping[Tensor, Place], own: Set[Tensor]) -> Lowered:
        """The groups and kernels of a region, and of those in it. Results are stored at their `places`; those in `own`
        have memory of their own."""
        exported, imported = _ports(given)
        tensors = replace(
            given,
            inputs=(*given.inputs, *((t.name, t) for t in imported)),
            outputs=(*given.outputs, *((t.name, t) for t in exported)),
            structures=(),
        )
        policy, opt_level = self._policy, self._opt_level
        rewritten: tuple[Rewritten, ...] = ()
        if opt_level >= 2:
            tensors = _kept_apart(add_relayouts(tensors), tensors)
            if self._choose is not None:
                flat = policy.windows is not None
                tensors, rewritten = use_winograd(tensors, self._choose, self._choices, flat_tiles=flat)
        if policy.occupancy is not None:
            tensors = split_contractions(tensors, policy.occupancy, self._choices)
        if policy.stages is not None:
            tensors = split_reductions(tensors, policy.stages, policy.shared or policy.stages, self._choices)
        if policy.reads is not None:
            tensors = split_reads(tensors, policy.reads)
        fused = fuse(tensors, policy.reads)
        groups = tuple(g for g in fused if not g.output.prepared)
        prepared = {g.output: g for g in fused if g.output.prepared}
        if opt_level >= 2:
            known = choose_layout(tensors, groups, policy, self._costs)
            fixed = {t for _, t in (*tensors.inputs, *tensors.outputs)}
            groups, known = order_columns(groups, known, fixed, policy.copied_columns)
        else:
            known = row_major(tensors, groups)
        now = dict(zip((*(t for _, t in given.outputs), *exported), (t for _, t in tensors.outputs), strict=True))
        places = {now[t]: place for t, place in places.items()}
        inputs = {t for _, t in tensors.inputs}
        starts = {c.start for n in given.structures if isinstance(n.structure, Loop) for c in n.structure.carried}
        aliases = find_aliases(groups, known, inputs, {*places, *(now[t] for t in own | starts)})
        if not policy.linear:
            aliases = {t: o for t, o in aliases.items() if known[t].physical_shape == known[o].physical_shape}
        groups = tuple(g for g in groups if g.output not in aliases)
        passed = (*(t for _, t in tensors.inputs if t.source is not None), *(p.memory for p in places.values()))
        layouts = {**known, **{t: self._passed_on(t) for t in passed}}
        kernels = tuple(
            build_kernel(kernel_name(g), g, layouts, fill_halo=policy.fill_halos, place=places.get(g.output))
            for g in groups
        )
        if policy.windows is None:
            groups, kernels, layouts = join_bands(rewritten, groups, kernels, layouts, self._costs, self._choices)
        for k in kernels:
            self._observe("build_kernel", k)
        aliases.update((t, p.memory) for t, p in places.items())
        ports = replace(given, outputs=tuple((name, now[t]) for name, t in given.outputs))
        steps = tuple(range(len(groups)))
        made = Lowered("", ports, groups, kernels, layouts, aliases, NOTHING_STORED, prepared, rewritten, steps)
        if not given.structures:
            return made
        return add_structures(made, given.structures, now, self.region, in_place=policy.in_place)

    def _passed_on(self, t: Tensor) -> Layout:
        """The layout of what a loop or a branch makes: row-major. Rows of a stack are whole vectors where memory is no
        line of elements."""
        row_major = Layout.row_major(t.extents)
        if t.source is None or not isinstance(t.source.structure, Loop) or self._policy.linear or t.rank < 2:
            return row_major
        stacked = t.source.index >= len(t.source.structure.carried)
        return replace(row_major, align=(*row_major.align[:-1], TEXEL)) if stacked else row_major


def _kept_apart(now: TensorProgram, before: TensorProgram) -> TensorProgram:
    """`now`, in which the outputs of `before` that got a copy are others: a loop or a branch that reads one of them
    reads the copy."""
    copied = {a for (_, a), (_, b) in zip(before.outputs, now.outputs, strict=True) if a is not b}
    return replace_tensors(now, lambda t: (replace(t),) if t in copied else (t,))


def _ports(given: TensorProgram) -> tuple[list[Tensor], list[Tensor]]:
    """The tensors of a region that other regions, or the host, read from memory, and those that loops and branches in
    it make."""
    here, outputs = set(given.tensors), {t for _, t in given.outputs}
    read = [t for inner in given.structures for t in inner.reads]
    read += [t for made in given.tensors for t in measured(made)]
    exported = dict.fromkeys(t for t in read if t in here and t not in outputs)
    return list(exported), [t for inner in given.structures for t in inner.results.values()]
