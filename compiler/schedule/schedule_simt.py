"""The schedule for compute shaders: each kernel's nest is spread over invocations by the rule of its shape."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ..choices import DEFAULT, Choices
from ..ir.nodes import Buffer, Kernel, Stmt
from ..ir.simplify import simplify_stmt
from ..target import GpuTarget
from .nest import Pointwise, Reduction, match_nest, match_reduction
from .rules.long_sums import block_products, block_sums
from .rules.roles import find_roles
from .rules.simt_contraction import simt_contraction
from .rules.simt_pointwise import simt_pointwise
from .rules.simt_reduction import simt_reduction
from .rules.simt_staged import find_staged, simt_staged
from .rules.simt_transform import simt_transform
from .rules.simt_workgroup import simt_workgroup
from .rules.transform import find_transform
from .split_groups import split_groups
from .steps import preload


def schedule_simt(kernel: Kernel, target: GpuTarget, choices: Choices = DEFAULT) -> Kernel:
    """A kernel of a naive nest becomes loops over a grid of invocations; its constants may get other layouts.

    A kernel that is no nest runs in a single invocation. Raises ScheduleError for inconsistent choices.
    """
    body, packed = _schedule(simplify_stmt(kernel.body), target, choices)
    params = tuple(packed.get(p, p) for p in kernel.params)
    return replace(kernel, params=params, body=simplify_stmt(body))


def _schedule(stmt: Stmt, target: GpuTarget, choices: Choices) -> tuple[Stmt, dict[Buffer, Buffer]]:
    nest = match_nest(stmt)
    match nest:
        case None:
            return stmt, {}
        case Pointwise():
            return simt_pointwise(stmt, nest, target, choices), {}
        case Reduction():
            transform = find_transform(nest)
            if transform is not None:
                return simt_transform(nest, transform, target, choices), {}
    stmt = preload(split_groups(stmt, nest))
    nest = match_reduction(stmt)
    if find_roles(nest) is not None:
        made, packed = _contraction(stmt, nest, target, choices)
        return block_products(made), packed
    preferred = _is_shared(nest, target)
    shared: bool = choices.choose("shared", [preferred, not preferred] if nest.over else [False])
    schedule = simt_workgroup if shared else simt_reduction
    return block_sums(schedule(stmt, nest, target, choices)), {}


def _contraction(stmt: Stmt, nest: Reduction, target: GpuTarget, choices: Choices) -> tuple[Stmt, dict[Buffer, Buffer]]:
    staged = find_staged(nest)
    if staged is not None:
        preferred = target.shared_tiles and staged.invocations >= target.minimum_occupancy
        in_workgroups: bool = choices.choose("staged", [preferred, not preferred])
        made = simt_staged(stmt, staged) if in_workgroups else None
        if made is not None:
            return made
    return simt_contraction(stmt, target, choices)


def _is_shared(nest: Reduction, target: GpuTarget) -> bool:
    """Whether few invocations would each reduce many elements."""
    outputs = prod(v.extent for v in nest.loops)
    return outputs < target.minimum_occupancy and prod(v.extent for v in nest.over) >= target.long_reduction
