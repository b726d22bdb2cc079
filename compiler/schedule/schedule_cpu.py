"""The default schedule on a CPU: each nest of a kernel by the rule of its shape."""

from __future__ import annotations

from dataclasses import replace

from ..ir.nodes import Buffer, Kernel, Seq, Stmt
from ..ir.simplify import simplify_stmt
from ..target import Target
from .nest import Pointwise, Reduction, match_nest
from .rules.contraction import find_roles, schedule_contraction
from .rules.cores import schedule_cores
from .rules.pointwise import schedule_pointwise
from .rules.reduction import schedule_reduction
from .rules.transform import is_transform, schedule_transform
from .split_groups import split_groups
from .steps import preload


def schedule_cpu(kernel: Kernel, target: Target) -> Kernel:
    """A kernel of naive nests becomes one of tiles and vectors; its constants may get other layouts, and cores share
    its large loops."""
    stmts = kernel.body.stmts if isinstance(kernel.body, Seq) else (kernel.body,)
    done: list[Stmt] = []
    packed: dict[Buffer, Buffer] = {}
    for s in stmts:
        made, swapped = _schedule(s, target)
        done.append(made)
        packed.update(swapped)
    params = tuple(packed.get(p, p) for p in kernel.params)
    return replace(kernel, params=params, body=schedule_cores(simplify_stmt(Seq(tuple(done)))))


def _schedule(stmt: Stmt, target: Target) -> tuple[Stmt, dict[Buffer, Buffer]]:
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
        return schedule_contraction(stmt, target)
    return schedule_reduction(stmt, target), {}
