"""The passes between operators and kernels, in order: over tensors, then over groups of them. Each is a function from
one frozen value to the next, and a stage of `--dump`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ..costs import CPU_COSTS, CpuCosts
from ..errors import InternalError
from ..ir.contraction import Contraction, find_contraction
from ..ir.layout import Layout
from ..ir.nodes import Binary, Buffer, Const, Var
from ..ir.reduction import Reduce
from ..ir.rewrite import walk
from ..ir.scalar_ops import pairs_of, quads_of
from ..program.live_ranges import owner_of
from ..system.run_passes import Observer
from ..target import CPU_LAYOUTS, TEXEL, LayoutPolicy
from ..tensor import Tensor
from ..tensor.add_relayouts import add_relayouts
from ..tensor.aliases import find_aliases
from ..tensor.build_kernel import Destination
from ..tensor.choose_layout import choose_layout, row_major
from ..tensor.choose_tile import gain
from ..tensor.copy_results import copy_results
from ..tensor.fuse import Group, fuse
from ..tensor.join_tables import join_tables
from ..tensor.layer_choices import LayerChoices, default_layers
from ..tensor.match_convolution import match_convolution
from ..tensor.merge_extremes import merge_extremes
from ..tensor.merge_taps import merge_taps
from ..tensor.multiply_bytes import multiply_bytes
from ..tensor.multiply_words import match_product, multiply_words
from ..tensor.order_columns import order_columns
from ..tensor.program import TensorProgram
from ..tensor.read_factors import read_factors
from ..tensor.split_contractions import split_contractions
from ..tensor.split_reads import split_reads
from ..tensor.split_reductions import split_reductions
from ..tensor.split_windows import split_windows
from ..tensor.store_rows import store_rows
from ..tensor.store_tables import store_tables
from ..tensor.structure import Loop
from ..tensor.sum_exactly import sum_exactly
from ..tensor.sum_in_floats import sum_in_floats
from ..tensor.use_winograd import Choice, filter_bytes, filter_rooms, use_winograd
from ..tensor.widen_in_registers import widen_in_registers


@dataclass(frozen=True, slots=True)
class TensorOptions:
    """Facts that decide how tensors are computed: `policy` is the layout policy of the family of targets, `choose`
    picks the convolutions to compute by Winograd's algorithm, `choices` are those of layers. Below `opt_level` 2 every
    tensor is row-major, and computed as its operator has it. `filters` are the most bytes of transformed filters."""

    opt_level: int = 2
    policy: LayoutPolicy = CPU_LAYOUTS
    choose: Choice | None = None
    costs: CpuCosts = CPU_COSTS
    choices: LayerChoices = default_layers
    filters: int | None = None


@dataclass(frozen=True, slots=True)
class Grouped:
    """A region of tensors in `groups`, one for each kernel; `prepared` are those of tensors computed at load, by their
    outputs. `layouts` are of every stored tensor; the tensors in `aliases` share the memory of others.

    Results are stored at their `destinations`; tensors in `own` have memory of their own. What is `passed` between
    regions is row-major, and so are tensors in `rooms`, in memory for these extents.
    """

    tensors: TensorProgram
    groups: tuple[Group, ...]
    prepared: Mapping[Tensor, Group]
    destinations: Mapping[Tensor, Destination]
    own: frozenset[Tensor]
    passed: tuple[Tensor, ...]
    rooms: Mapping[Tensor, tuple[int, ...]]
    layouts: Mapping[Tensor, Layout] = field(default_factory=dict)
    aliases: Mapping[Tensor, Tensor] = field(default_factory=dict)


TensorPass = Callable[[TensorProgram, TensorOptions], TensorProgram]
GroupPass = Callable[[Grouped, TensorOptions], Grouped]


def _add_relayouts(program: TensorProgram, options: TensorOptions) -> TensorProgram:
    return program if options.opt_level < 2 else add_relayouts(program, options.policy.rows)


def _sum_in_floats(program: TensorProgram, options: TensorOptions) -> TensorProgram:
    if options.opt_level < 2:
        return program
    rooms: Mapping[Buffer, int] | None = None
    if options.filters is not None and options.choose is not None:
        in_floats = sum_in_floats(program, lambda t: _prefers_floats(t, options), default_layers)
        rooms = filter_rooms(in_floats, options.choose, options.filters)
    return sum_in_floats(program, lambda t: _prefers_floats(t, options, rooms), options.choices)


def _prefers_floats(t: Tensor, options: TensorOptions, rooms: Mapping[Buffer, int] | None = None) -> bool:
    """Whether a sum of products is faster in float32 than in int32: where few channels are convolved by themselves,
    whose elements make few pairs, where Winograd's algorithm gains more, and its filters have the room for it in
    `rooms`, and where operands that a run computes make no pairs."""
    assert isinstance(t.body, Reduce)
    contraction = find_contraction(t.axes, t.body.axes, t.body.value)
    if not options.policy.integers or contraction is None or not contraction.rows:
        return True
    if not any(r.is_constant for r in t.reads):
        rows = options.policy.copied_columns
        return pairs_of(options.policy.dots) is None or rows is None or match_product(t, rows) is None
    if not contraction.columns:
        return min(t.body.axes[0].extent, _filters_of_a_group(contraction)) < CHANNELS_OF_A_GROUP
    convolution = match_convolution(t)
    if convolution is None or options.choose is None:
        return False
    tile = options.choose(t, convolution, 1)[0]
    if tile is None or (rooms is not None and filter_bytes(convolution, tile) > rooms.get(t.buffer, 0)):
        return False
    return gain(t, convolution, tile, options.costs) > _gain_of_integers(options)


def _gain_of_integers(options: TensorOptions) -> float:
    """How many times as fast as products of float32 those of integers are."""
    dot = quads_of(options.policy.dots)
    if dot is None:
        return options.costs.integer_gain
    return options.costs.byte_gain if dot.most is None else options.costs.narrow_gain


CHANNELS_OF_A_GROUP = 16
"""Channels and filters from which on sums of integers are faster than those of floats, by a tenth to a third."""


def _filters_of_a_group(contraction: Contraction) -> int:
    """Filters of one group read the same channels; 1 for products that are no convolution of groups."""
    for n in (n for x in (contraction.a, contraction.b) for n in walk(x)):
        match n:
            case Binary("//", Var() as axis, Const(int(filters))) if axis in contraction.batch:
                return filters
    return 1


def _multiply_bytes(program: TensorProgram, options: TensorOptions) -> TensorProgram:
    dot = quads_of(options.policy.dots)
    rows = options.policy.copied_columns
    return program if options.opt_level < 2 or dot is None else multiply_bytes(program, dot, rows)


def _multiply_words(program: TensorProgram, options: TensorOptions) -> TensorProgram:
    dots, rows = options.policy.dots, options.policy.copied_columns
    return program if options.opt_level < 2 or rows is None else multiply_words(program, dots, rows)


def _store_rows(program: TensorProgram, options: TensorOptions) -> TensorProgram:
    return program if options.opt_level < 2 or not options.policy.dots else store_rows(program)


def _merge_taps(program: TensorProgram, options: TensorOptions) -> TensorProgram:
    return program if options.opt_level < 2 or not options.policy.integers else merge_taps(program)


def _use_winograd(program: TensorProgram, options: TensorOptions) -> TensorProgram:
    if options.opt_level < 2 or options.choose is None:
        return program
    flat = options.policy.windows is not None
    return use_winograd(program, options.choose, options.choices, flat_tiles=flat, most=options.filters)


def _sum_exactly(program: TensorProgram, options: TensorOptions) -> TensorProgram:
    return program if options.opt_level < 2 or options.policy.integers else sum_exactly(program, options.choices)


def _merge_extremes(program: TensorProgram, options: TensorOptions) -> TensorProgram:
    return merge_extremes(program) if options.policy.few_launches else program


def _split_windows(program: TensorProgram, options: TensorOptions) -> TensorProgram:
    return program if options.opt_level < 2 or options.policy.few_launches else split_windows(program)


def _store_tables(program: TensorProgram, options: TensorOptions) -> TensorProgram:
    return program if options.opt_level < 2 or options.policy.few_launches else store_tables(program)


def _read_factors(program: TensorProgram, options: TensorOptions) -> TensorProgram:
    return read_factors(program) if options.policy.few_launches else program


def _split_contractions(program: TensorProgram, options: TensorOptions) -> TensorProgram:
    occupancy = options.policy.occupancy
    return program if occupancy is None else split_contractions(program, occupancy, options.choices)


def _split_reductions(program: TensorProgram, options: TensorOptions) -> TensorProgram:
    stages, shared = options.policy.stages, options.policy.shared
    return program if stages is None else split_reductions(program, stages, shared or stages, options.choices)


def _join_tables(program: TensorProgram, options: TensorOptions) -> TensorProgram:
    return program if options.opt_level < 2 or options.policy.device is None else join_tables(program)


def _widen_in_registers(program: TensorProgram, options: TensorOptions) -> TensorProgram:
    costs, reads = options.policy.device, options.policy.reads
    if options.opt_level < 2 or costs is None:
        return program
    return widen_in_registers(program, costs, reads, options.choices)


def _split_reads(program: TensorProgram, options: TensorOptions) -> TensorProgram:
    reads = options.policy.reads
    return program if reads is None else split_reads(program, reads)


TENSOR_PASSES: Mapping[str, TensorPass] = {
    "sum_in_floats": _sum_in_floats,
    "multiply_bytes": _multiply_bytes,
    "multiply_words": _multiply_words,
    "store_rows": _store_rows,
    "merge_taps": _merge_taps,
    "add_relayouts": _add_relayouts,
    "use_winograd": _use_winograd,
    "sum_exactly": _sum_exactly,
    "split_windows": _split_windows,
    "store_tables": _store_tables,
    "merge_extremes": _merge_extremes,
    "read_factors": _read_factors,
    "split_contractions": _split_contractions,
    "split_reductions": _split_reductions,
    "join_tables": _join_tables,
    "widen_in_registers": _widen_in_registers,
    "split_reads": _split_reads,
}
"""By the names of their stages. A pass keeps the inputs and outputs of a program, in name and order; what an output
became is found by its position."""


def _choose_layout(grouped: Grouped, options: TensorOptions) -> Grouped:
    tensors, groups, policy = grouped.tensors, grouped.groups, options.policy
    if options.opt_level < 2:
        layouts = row_major(tensors, groups)
    else:
        layouts = choose_layout(tensors, groups, policy, options.costs)
    passed = {t: _passed_on(t, policy) for t in grouped.passed}
    wider = {t: Layout.row_major(extents) for t, extents in grouped.rooms.items() if extents != t.extents}
    return replace(grouped, layouts={**layouts, **passed, **wider})


def _passed_on(t: Tensor, policy: LayoutPolicy) -> Layout:
    """The layout of what a loop or a branch makes: row-major. Rows of a stack are whole vectors where memory is no line
    of elements."""
    row_major = Layout.row_major(t.extents)
    if t.source is None or not isinstance(t.source.structure, Loop) or policy.linear or t.rank < 2:
        return row_major
    stacked = t.source.index >= len(t.source.structure.carried)
    return replace(row_major, align=(*row_major.align[:-1], TEXEL)) if stacked else row_major


def _order_columns(grouped: Grouped, options: TensorOptions) -> Grouped:
    if options.opt_level < 2:
        return grouped
    fixed = {t for _, t in (*grouped.tensors.inputs, *grouped.tensors.outputs)}
    groups, layouts = order_columns(grouped.groups, grouped.layouts, fixed, options.policy.copied_columns)
    return replace(grouped, groups=groups, layouts=layouts)


def _find_aliases(grouped: Grouped, options: TensorOptions) -> Grouped:
    layouts, fixed = grouped.layouts, {t for _, t in grouped.tensors.inputs}
    aliases = find_aliases(grouped.groups, layouts, fixed, {*grouped.destinations, *grouped.own})
    if not options.policy.linear:
        aliases = {t: o for t, o in aliases.items() if layouts[t].physical_shape == layouts[o].physical_shape}
    return replace(grouped, aliases=aliases, groups=tuple(g for g in grouped.groups if g.output not in aliases))


def _copy_results(grouped: Grouped, options: TensorOptions) -> Grouped:
    """Last: a copy would be an alias."""
    costs, is_image = options.policy.device, options.policy.is_image
    if options.opt_level < 2 or is_image is None or costs is None:
        return grouped
    lines = {owner_of(t, grouped.aliases) for _, t in grouped.tensors.outputs}
    groups, layouts = copy_results(grouped.groups, grouped.layouts, lines, costs, is_image)
    return replace(grouped, groups=groups, layouts=layouts)


GROUP_PASSES: Mapping[str, GroupPass] = {
    "choose_layout": _choose_layout,
    "order_columns": _order_columns,
    "find_aliases": _find_aliases,
    "copy_results": _copy_results,
}
"""By the names of their stages."""

STAGES = (*TENSOR_PASSES, "fuse", *GROUP_PASSES)
"""The stages that `run_tensor_passes` and `group_tensors` report, in order."""


def run_tensor_passes(program: TensorProgram, options: TensorOptions, observe: Observer) -> TensorProgram:
    """`program` after the passes over tensors. Raises InternalError for one that changes the inputs or outputs."""
    for stage, run in TENSOR_PASSES.items():
        before, program = program, run(program, options)
        if _ports(program) != _ports(before):
            raise InternalError(f"{stage} changed the inputs or outputs of a program")
        observe(stage, program)
    return program


def _ports(program: TensorProgram) -> list[tuple[str, ...]]:
    return [tuple(name for name, _ in ports) for ports in (program.inputs, program.outputs)]


def group_tensors(
    tensors: TensorProgram,
    destinations: Mapping[Tensor, Destination],
    own: frozenset[Tensor],
    rooms: Mapping[Tensor, tuple[int, ...]],
    options: TensorOptions,
    observe: Observer,
) -> Grouped:
    """`tensors`, fused into groups, after the passes over these."""
    policy = options.policy
    fused = fuse(tensors, policy.reads, few_launches=policy.few_launches, repeats=policy.repeats)
    grouped = Grouped(
        tensors,
        groups=tuple(g for g in fused if not g.output.prepared),
        prepared={g.output: g for g in fused if g.output.prepared},
        destinations=destinations,
        own=own,
        passed=(*(t for _, t in tensors.inputs if t.source is not None), *(p.memory for p in destinations.values())),
        rooms=rooms,
    )
    observe("fuse", grouped)
    for stage, run in GROUP_PASSES.items():
        grouped = run(grouped, options)
        observe(stage, grouped)
    return grouped
