"""The default schedule on a CPU: each nest of a kernel by the rule of its shape."""

from __future__ import annotations

from dataclasses import replace

from ..ir.index import affine
from ..ir.nodes import Binary, Buffer, Const, Kernel, Seq, Stmt, Var
from ..ir.rewrite import walk
from ..ir.simplify import simplify_stmt
from ..target import Target
from .nest import Pointwise, Reduction, match_nest
from .rules.contraction import find_roles, schedule_contraction
from .rules.cores import schedule_cores
from .rules.pointwise import schedule_pointwise
from .rules.reduction import schedule_reduction
from .rules.transform import is_transform, schedule_transform
from .steps import preload, split


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
    stmt = preload(_split_groups(stmt, nest))
    nest = match_nest(stmt)
    assert isinstance(nest, Reduction)
    if find_roles(nest) is not None:
        return schedule_contraction(stmt, target)
    return schedule_reduction(stmt, target), {}


def _split_groups(stmt: Stmt, nest: Reduction) -> Stmt:
    """A channel loop of which the value uses `channel // size` (a grouped convolution) becomes groups x channels."""
    for v in nest.loops:
        size = _divisor(nest, v)
        if size is not None and v.extent % size == 0 and v.extent > size:
            stmt, _ = split(stmt, v, [(v.extent // size, size)])
            return simplify_stmt(stmt)
    return stmt


def _divisor(nest: Reduction, v: Var) -> int | None:
    for n in walk(nest.value):
        if isinstance(n, Binary) and n.op == "//" and isinstance(n.b, Const) and affine(n.a) == affine(v):
            return int(n.b.value)
    return None
