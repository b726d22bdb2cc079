"""The schedule for compute shaders: each kernel's nest is spread over invocations by the rule of its shape."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ..ir.nodes import Buffer, Kernel, Stmt
from ..ir.simplify import simplify_stmt
from ..target import GpuTarget
from .nest import Pointwise, Reduction, match_nest
from .rules.contraction import find_roles
from .rules.long_sums import block_products, block_sums
from .rules.simt_contraction import simt_contraction
from .rules.simt_pointwise import simt_pointwise
from .rules.simt_reduction import simt_reduction
from .rules.simt_staged import simt_staged
from .rules.simt_transform import simt_transform
from .rules.simt_workgroup import simt_workgroup
from .rules.transform import is_transform
from .split_groups import split_groups
from .steps import preload


def schedule_simt(kernel: Kernel, target: GpuTarget) -> Kernel:
    """A kernel of a naive nest becomes what one invocation does; its constants may get other layouts.

    A kernel that is no nest runs in a single invocation.
    """
    body, packed = _schedule(simplify_stmt(kernel.body), target)
    params = tuple(packed.get(p, p) for p in kernel.params)
    return replace(kernel, params=params, body=simplify_stmt(body))


def _schedule(stmt: Stmt, target: GpuTarget) -> tuple[Stmt, dict[Buffer, Buffer]]:
    nest = match_nest(stmt)
    if isinstance(nest, Pointwise):
        return simt_pointwise(stmt), {}
    if not isinstance(nest, Reduction):
        return stmt, {}
    if is_transform(nest):
        return simt_transform(stmt), {}
    stmt = preload(split_groups(stmt, nest))
    nest = match_nest(stmt)
    assert isinstance(nest, Reduction)
    if find_roles(nest) is not None:
        staged = simt_staged(stmt, target.busy) if target.shared_tiles else None
        made, packed = staged or simt_contraction(stmt, target)
        return block_products(made), packed
    schedule = simt_workgroup if _is_shared(nest, target) else simt_reduction
    return block_sums(schedule(stmt, target.busy)), {}


def _is_shared(nest: Reduction, target: GpuTarget) -> bool:
    """Whether few invocations would reduce much each."""
    outputs = prod(v.extent for v in nest.loops)
    return outputs < target.busy and prod(v.extent for v in nest.over) >= target.long_reduction
