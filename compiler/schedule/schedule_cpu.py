"""The CPU schedule: each nest of a kernel by the rule of its shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..choices import DEFAULT, Choices, part_of
from ..errors import ScheduleError
from ..ir.forms import Contraction, Form, Transform, forms_of
from ..ir.nest import Pointwise, match_nest, match_reduction
from ..ir.nodes import Buffer, For, Kernel, Load, Seq, Stmt
from ..ir.rewrite import replace_buffers
from ..ir.simplify import simplify_stmt
from ..target import Target
from .choose_quads import choose_quads
from .expand_entries import expand_entries
from .join_words import join_words
from .own_dots import own_dots
from .rules.along_memory import along_memory
from .rules.contraction import schedule_contraction
from .rules.cores import schedule_cores
from .rules.long_sums import block_products, block_sums
from .rules.pointwise import schedule_pointwise
from .rules.reduction import schedule_reduction
from .rules.roles import SUMS, find_roles
from .rules.transform import schedule_transform, transform_loops
from .rules.unfuse_joined import unfuse_joined
from .rules.word_sums import schedule_word_sums, sums_words
from .split_groups import split_blocks, split_groups
from .steps import preload
from .word_products import word_products


def schedule_cpu(kernel: Kernel, target: Target, choices: Choices = DEFAULT) -> Kernel:
    """A kernel of naive nests becomes one of tiles and vectors; its constants may get other layouts, and its large
    loops run on several cores. Raises ScheduleError for inconsistent choices."""
    kernel = own_dots(join_words(kernel), target.dots)
    worded = word_products(kernel, target.dots)
    kernel = kernel if worded is None else worded.kernel
    packed: dict[Buffer, Buffer] = {}
    body = simplify_stmt(_nests(kernel.body, forms_of(kernel), target, packed, choices))
    if worded is not None:
        words = packed.get(worded.constant, worded.constant)
        packed[worded.constant] = worded.in_elements(words)
        body = replace_buffers(body, {words: packed[worded.constant]})
    body = choose_quads(body, target)
    params = tuple(packed.get(p, p) for p in kernel.params)
    return replace(kernel, params=params, body=schedule_cores(body, target.costs, choices), forms=())


def _nests(
    stmt: Stmt, forms: Mapping[Buffer, Form], target: Target, packed: dict[Buffer, Buffer], choices: Choices
) -> Stmt:
    """Every nest scheduled; `packed` collects the constants that get another layout."""
    match stmt:
        case Seq(stmts):
            parts = (_nests(s, forms, target, packed, part_of(choices, i, stmts)) for i, s in enumerate(stmts))
            return Seq(tuple(parts))
        case For(_, Seq() as body, _, False):
            return replace(stmt, body=_nests(body, forms, target, packed, choices))
    scheduled, swapped = _schedule(stmt, forms, target, packed, choices)
    for old, new in swapped.items():
        first = packed.setdefault(old, new)
        if first.layout != new.layout:
            raise ScheduleError(f"pack: two nests read {old.name} in different layouts")
        scheduled = replace_buffers(scheduled, {new: first})
    return scheduled


def _schedule(
    stmt: Stmt,
    forms: Mapping[Buffer, Form],
    target: Target,
    packed: Mapping[Buffer, Buffer],
    choices: Choices,
) -> tuple[Stmt, dict[Buffer, Buffer]]:
    nest = match_nest(stmt)
    match nest:
        case None:
            return stmt, {}
        case Pointwise():
            stmt = unfuse_joined(stmt)
            nest = match_nest(stmt)
            assert isinstance(nest, Pointwise)
            if not isinstance(nest.store.value, Load):
                stmt = split_blocks(stmt, nest.loops, nest.store.value, 2 * target.lanes)
                nest = match_nest(stmt)
                assert isinstance(nest, Pointwise)
            return schedule_pointwise(stmt, nest, target, choices), {}
    form = forms[nest.store.buffer]
    if isinstance(form, Transform) and (loops := transform_loops(nest)) is not None:
        return schedule_transform(nest, loops, target), {}
    stmt = expand_entries(stmt)
    stmt = preload(split_groups(stmt, match_reduction(stmt)))
    nest = match_reduction(stmt)
    along = along_memory(stmt, nest, target, packed) if isinstance(form, Contraction) else None
    if along is not None:
        stmt, swapped = along
        return block_sums(schedule_reduction(stmt, match_reduction(stmt), target, choices)), swapped
    if isinstance(form, Contraction) and form.sum in SUMS and find_roles(nest) is not None:
        scheduled, swapped = schedule_contraction(stmt, form, target, packed, choices)
        return block_products(scheduled), swapped
    stmt = unfuse_joined(stmt)
    nest = match_reduction(stmt)
    if sums_words(stmt, nest, target):
        return block_sums(schedule_word_sums(stmt, nest, target, choices)), {}
    if not nest.loops:
        stmt = split_blocks(stmt, nest.over, nest.value, 2 * target.lanes)
        nest = match_reduction(stmt)
    return block_sums(schedule_reduction(stmt, nest, target, choices)), {}
