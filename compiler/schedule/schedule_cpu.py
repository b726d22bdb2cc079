"""The CPU schedule: each nest of a kernel by the rule of its shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..choices import DEFAULT, Choices, part_of
from ..errors import ScheduleError
from ..ir.nodes import Buffer, For, Kernel, Seq, Stmt
from ..ir.rewrite import replace_buffers
from ..ir.simplify import simplify_stmt
from ..target import Target
from .expand_entries import expand_entries
from .nest import Pointwise, Reduction, match_nest, match_reduction
from .rules.contraction import schedule_contraction
from .rules.cores import schedule_cores
from .rules.long_sums import block_products, block_sums
from .rules.pointwise import schedule_pointwise
from .rules.reduction import schedule_reduction
from .rules.roles import NUMBERS, find_roles
from .rules.transform import find_transform, schedule_transform
from .split_groups import split_groups
from .steps import preload


def schedule_cpu(kernel: Kernel, target: Target, choices: Choices = DEFAULT) -> Kernel:
    """A kernel of naive nests becomes one of tiles and vectors; its constants may get other layouts, and its large
    loops run on several cores. Raises ScheduleError for inconsistent choices."""
    packed: dict[Buffer, Buffer] = {}
    body = simplify_stmt(_nests(kernel.body, target, packed, choices))
    params = tuple(packed.get(p, p) for p in kernel.params)
    return replace(kernel, params=params, body=schedule_cores(body, target.costs, choices))


def _nests(stmt: Stmt, target: Target, packed: dict[Buffer, Buffer], choices: Choices) -> Stmt:
    """Every nest scheduled; `packed` collects the constants that get another layout."""
    match stmt:
        case Seq(stmts):
            made_of = (_nests(s, target, packed, part_of(choices, i, stmts)) for i, s in enumerate(stmts))
            return Seq(tuple(made_of))
        case For(_, Seq() as body, _, False):
            return replace(stmt, body=_nests(body, target, packed, choices))
    made, swapped = _schedule(stmt, target, packed, choices)
    for old, new in swapped.items():
        first = packed.setdefault(old, new)
        if first.layout != new.layout:
            raise ScheduleError(f"pack: two nests read {old.name} in different layouts")
        made = replace_buffers(made, {new: first})
    return made


def _schedule(
    stmt: Stmt, target: Target, packed: Mapping[Buffer, Buffer], choices: Choices
) -> tuple[Stmt, dict[Buffer, Buffer]]:
    nest = match_nest(stmt)
    match nest:
        case None:
            return stmt, {}
        case Pointwise():
            return schedule_pointwise(stmt, nest, target, choices), {}
        case Reduction():
            transform = find_transform(nest)
            if transform is not None:
                return schedule_transform(nest, transform, target), {}
    stmt = expand_entries(stmt)
    stmt = preload(split_groups(stmt, match_reduction(stmt)))
    nest = match_reduction(stmt)
    if find_roles(nest, NUMBERS) is not None:
        made, swapped = schedule_contraction(stmt, target, packed, choices)
        return block_products(made), swapped
    return block_sums(schedule_reduction(stmt, nest, target, choices)), {}
