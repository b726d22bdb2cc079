"""The roles of a contraction's loops in a register tile, and the loops that are fused before tiling."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ...dtypes import F32, I32
from ...errors import ScheduleError
from ...ir.affine import flat_offset
from ...ir.contraction import find_contraction, loaded_operand
from ...ir.nest import Reduction, match_reduction
from ...ir.nodes import Expr, Load, Stmt, Store, Var
from ...ir.rewrite import free_vars, loads
from ...ir.simplify import simplify_stmt
from ..access import Access, accesses, contiguous
from ..steps import fuse

SUMS = (F32, I32)
"""Types of sums that tiles hold in registers."""


@dataclass(frozen=True, slots=True)
class Roles:
    """The loop over columns, the loop over rows (None for a single row), the load of the operand `b` that is indexed by
    columns, and the other operand. `batch` are the loops that index both: each of their iterations is a product of its
    own. Bytes of `b` are widened as they are loaded."""

    column: Var
    row: Var | None
    b: Load
    a: Expr
    batch: tuple[Var, ...]
    weights: Expr


def find_roles(nest: Reduction) -> Roles | None:
    """The roles of the loops of a contraction, as steps have made them: None where there is no column loop that can be
    a vector, or no loop to sum over, as where there is one term."""
    contraction = find_contraction(nest.loops, nest.over, nest.value)
    if contraction is None or not nest.over:
        return None
    best: tuple[tuple[bool, ...], Roles] | None = None
    for c in contraction.orientations:
        b = _loaded(c.b)
        if b is None or b.guard is not None:
            continue
        for column in c.columns:
            step = _stride(b, column)
            if step is None or not (step == 1 or b.buffer.constant):
                continue
            row = max(c.rows, key=lambda v: (min(v.extent, 8), nest.loops.index(v)), default=None)
            score = (_stride(nest.store, column) == 1, b.buffer.constant, step == 1)
            if best is None or score > best[0]:
                best = (score, Roles(column, row, b, c.a, c.batch, c.b))
    return best[1] if best else None


def _loaded(operand: Expr) -> Load | None:
    """The load that an operand is, or of constants that it is computed from that of the most elements."""
    whole = loaded_operand(operand)
    sites = [*loads(operand)]
    if whole is not None or not sites or not all(x.buffer.constant and x.guard is None for x in sites):
        return whole
    return max(sites, key=lambda x: x.buffer.size)


def roles_of(nest: Reduction) -> Roles:
    """Like `find_roles`. Raises ScheduleError for a nest without roles."""
    roles = find_roles(nest)
    if roles is None:
        raise ScheduleError("contraction: the nest is no sum of products with a column loop")
    return roles


def _stride(access: Load | Store, var: Var) -> int | None:
    return Access(access, flat_offset(access.buffer.shape, access.indices)).stride(var)


def row_count(nest: Reduction, roles: Roles) -> int:
    """The rows of one product."""
    return prod(v.extent for v in nest.loops if v is not roles.column and v not in free_vars(roles.b))


def merge_rows(stmt: Stmt) -> tuple[Stmt, Reduction, Roles]:
    """Fuses row loops that traverse contiguous memory (1x1 convolutions, batches of matrix rows)."""
    nest = match_reduction(stmt)
    roles = roles_of(nest)
    not_rows = free_vars(roles.b) | {roles.column}
    for outer, inner in zip(nest.loops, nest.loops[1:], strict=False):
        if not {outer, inner} & not_rows and contiguous(stmt, outer, inner):
            stmt, _ = fuse(stmt, outer, inner)
            return merge_rows(simplify_stmt(stmt))
    return stmt, nest, roles


def order_reduction(nest: Reduction, operand: Expr) -> list[Var]:
    """Reduction loops in order of falling strides of an operand: kernel rows, kernel columns, channels."""

    def stride(v: Var) -> int:
        strides = [abs(s) for a in accesses(operand) if (s := a.stride(v)) is not None]
        return max(strides, default=0)

    return sorted(nest.over, key=lambda v: -stride(v))
