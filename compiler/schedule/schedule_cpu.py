"""The default schedule on a CPU: each nest of a kernel by the rule of its shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..errors import ScheduleError
from ..ir.nodes import Buffer, For, Kernel, Seq, Stmt
from ..ir.rewrite import replace_buffers
from ..ir.simplify import simplify_stmt
from ..target import Target
from .nest import Pointwise, Reduction, match_nest
from .rules.contraction import find_roles, schedule_contraction
from .rules.cores import schedule_cores
from .rules.long_sums import block_products, block_sums
from .rules.pointwise import schedule_pointwise
from .rules.reduction import schedule_reduction
from .rules.transform import is_transform, schedule_transform
from .split_groups import split_groups
from .steps import preload


def schedule_cpu(kernel: Kernel, target: Target) -> Kernel:
    """A kernel of naive nests becomes one of tiles and vectors; its constants may get other layouts, and cores share
    its large loops."""
    packed: dict[Buffer, Buffer] = {}
    body = _nests(kernel.body, target, packed)
    params = tuple(packed.get(p, p) for p in kernel.params)
    return replace(kernel, params=params, body=schedule_cores(simplify_stmt(body)))


def _nests(stmt: Stmt, target: Target, packed: dict[Buffer, Buffer]) -> Stmt:
    """Every nest scheduled; `packed` collects the constants that get another layout."""
    match stmt:
        case Seq(stmts):
            return Seq(tuple(_nests(s, target, packed) for s in stmts))
        case For(_, Seq() as body, _, False):
            return replace(stmt, body=_nests(body, target, packed))
    made, swapped = _schedule(stmt, target, packed)
    for old, new in swapped.items():
        known = packed.setdefault(old, new)
        if known.layout != new.layout:
            raise ScheduleError(f"pack: two nests want {old.name} in different layouts")
        made = replace_buffers(made, {new: known})
    return made


def _schedule(stmt: Stmt, target: Target, packed: Mapping[Buffer, Buffer]) -> tuple[Stmt, dict[Buffer, Buffer]]:
    nest = match_nest(stmt)
    if isinstance(nest, Pointwise):
        return schedule_pointwise(stmt, target), {}
    if not isinstance(nest, Reduction):
        return stmt, {}
    if is_transform(nest):
        return schedule_transform(stmt, target), {}
    stmt = preload(split_groups(stmt, nest))
    nest = match_nest(stmt)
    assert isinstance(nest, Reduction)
    if find_roles(nest) is not None:
        made, swapped = schedule_contraction(stmt, target, packed)
        return block_products(made), swapped
    return block_sums(schedule_reduction(stmt, target)), {}
