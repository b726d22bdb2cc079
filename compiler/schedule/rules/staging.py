"""Products on a GPU whose operands a workgroup stages in shared memory: what its rules have in common.

A workgroup computes a tile of rows x columns, K in turns of so many steps: its invocations load both operands of a
turn, in vectors of four along K and along columns, meet, and multiply. A convolution is a product, too: its rows are
output positions, its K is kernel positions times channels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from ...ir.construct import all_of
from ...ir.nest import Reduction, match_reduction
from ...ir.nodes import Binary, Buffer, Expr, For, If, Load, LoopKind, Scope, Seq, Stmt, Store, Var
from ...ir.rewrite import free_vars, rewrite, substitute
from ...target import LANES
from ..steps import fuse, pack, reorder, split
from .panel_layout import panels_of
from .roles import Roles, order_reduction

ROWS, COLUMNS = 64, 64


@dataclass(frozen=True, slots=True)
class StagedPlan:
    """A product that tiles of workgroups can compute: the loop over products of their own, the loops of its rows and of
    its reduction, in order, and the number of tiles."""

    roles: Roles
    batch: tuple[Var, ...]
    rows: tuple[Var, ...]
    over: tuple[Var, ...]
    workgroups: int


def plan_staged(nest: Reduction, roles: Roles) -> StagedPlan | None:
    """None where tiles would be mostly empty, B is no constant, vectors of A are not contiguous, sizes vary, or several
    loops are over products of their own: groups, or parts of sums."""
    if any(v.length is not None for v in (*nest.loops, *nest.over)):
        return None
    if roles.row is None or not roles.b.buffer.constant:
        return None
    over = order_reduction(nest, roles.a)
    moving = free_vars(roles.b)
    batch = tuple(v for v in nest.loops if v is not roles.column and v in moving)
    rows = tuple(v for v in nest.loops if v is not roles.column and v not in moving)
    count = prod(v.extent for v in rows)
    if len(batch) > 1:
        return None
    if roles.column.extent % COLUMNS or count < ROWS or over[-1].extent % LANES:
        return None
    if not panels_of(roles.b, roles.column, over, COLUMNS).blocks:
        return None
    tiles = -(-count // ROWS) * (roles.column.extent // COLUMNS)
    return StagedPlan(roles, batch, rows, tuple(over), tiles * prod(v.extent for v in batch))


@dataclass(frozen=True, slots=True)
class StagedNest:
    """A nest of rows and columns, in a loop over products of their own where there are several, over vectors of K and
    the lanes of one; the constant that was packed for it, by the one that it was."""

    nest: Reduction
    roles: Roles
    packed: dict[Buffer, Buffer]


def prepare_staged(stmt: Stmt, plan: StagedPlan) -> StagedNest | None:
    """None where loops of another extent than 1 remain beside the rows, columns and K."""
    roles, rows, over = plan.roles, plan.rows, plan.over
    layout = panels_of(roles.b, roles.column, list(over), COLUMNS)
    stmt, packed = pack(stmt, roles.b.buffer, layout)
    stmt = reorder(stmt, [*plan.batch, *rows, roles.column])
    if len(over) > 1:
        stmt = reorder(stmt, list(over))
    stmt, ((vectors, lane),) = split(stmt, over[-1], [(over[-1].extent // LANES, LANES)])
    for group in (rows, [*over[:-1], vectors]):
        line = group[0]
        for v in group[1:]:
            stmt, line = fuse(stmt, line, v)
    nest = match_reduction(stmt)
    value = nest.value
    if not isinstance(value, Binary) or len(nest.loops) != len(plan.batch) + 2 or nest.over[1:] != (lane,):
        return None
    b, other = (value.a, value.b) if _loads_from(value.a, packed) else (value.b, value.a)
    if not isinstance(b, Load):
        return None
    staged = Roles(roles.column, nest.loops[-2], b, other, plan.batch, b)
    return StagedNest(nest, staged, {roles.b.buffer: packed})


def _loads_from(e: Expr, buffer: Buffer) -> bool:
    return isinstance(e, Load) and e.buffer is buffer


class Staging:
    """The parts of the loop nest; `me` is an invocation's number among the `invocations` of the workgroup. Operands are
    rounded by `rounded`, to the type of elements of shared memory; rows there are `gap` elements longer."""

    def __init__(
        self, staged: StagedNest, steps: int, me: Expr, invocations: int, rounded: Callable[[Expr], Expr], gap: int = 0
    ) -> None:
        assert staged.roles.row is not None
        self.nest, self.roles, self.row = staged.nest, staged.roles, staged.roles.row
        self.vectors, self.lane = self.nest.over
        self.me, self.invocations, self.rounded, self.steps = me, invocations, rounded, steps
        dtype = rounded(self.roles.b).dtype
        self.a = Buffer("a", (ROWS, steps + gap), dtype, Scope.SHARED)
        self.b = Buffer("b", (steps, COLUMNS + gap), dtype, Scope.SHARED)
        self.tiles = Var("rows", -(-self.row.extent // ROWS)), Var("columns", self.roles.column.extent // COLUMNS)
        self.blocks = *self.roles.batch, *self.tiles
        self.turn = Var("ko", -(-self.vectors.extent // (steps // LANES)))

    def fetch(self) -> Stmt:
        """Each invocation loads as many vectors of either operand, its neighbours the adjacent ones."""
        along = self.steps // LANES
        n, lane = Var("n", ROWS * along // self.invocations), Var("lane", LANES)
        flat = n * self.invocations + self.me
        r, q = flat // along, flat % along
        row, vector = self.tiles[0] * ROWS + r, self.turn * along + q
        env = {self.row: row, self.vectors: vector, self.lane: lane}
        a = self._guarded(substitute(self.roles.a, env), row, vector)
        fetch_a = Store(self.a, (r, q * LANES + lane), self.rounded(a))
        across = COLUMNS // LANES
        m, column = Var("n", self.steps * across // self.invocations), Var("lane", LANES)
        flat = m * self.invocations + self.me
        s, c = flat // across, flat % across * LANES + column
        vector, at = self.turn * along + s // LANES, self.tiles[1] * COLUMNS + c
        env = {self.roles.column: at, self.vectors: vector, self.lane: s % LANES}
        b = self._guarded(substitute(self.roles.b, env), None, vector)
        fetch_b = Store(self.b, (s, c), self.rounded(b))
        return Seq((loops(fetch_a, n, lane), loops(fetch_b, m, column)))

    def _guarded(self, e: Expr, row: Expr | None, vector: Expr) -> Expr:
        """Zero beyond the operands' ends."""
        conditions = []
        if row is not None and self.row.extent % ROWS:
            conditions.append(row < self.row.extent)
        if self.vectors.extent % (self.steps // LANES):
            conditions.append(vector < self.vectors.extent)
        if not conditions:
            return e
        inside = all_of(*conditions)

        def rule(n: object) -> Expr | None:
            if isinstance(n, Load):
                return Load(n.buffer, n.indices, inside if n.guard is None else n.guard & inside)
            return None

        return rewrite(e, rule)

    def start(self, row: Expr, column: Expr) -> Expr:
        """The initial value of the sum there; `row` and `column` are those of the tile."""
        return substitute(self.nest.start.value, self._place(row, column))

    def finish(self, row: Expr, column: Expr, total: Expr, lane: Var) -> Stmt:
        """The store of `total`, with its epilogue, where the row exists, for all lanes of a vector of columns."""
        place = self._place(row, column)

        def rule(n: object) -> Expr | None:
            return total if isinstance(n, Load) and n.buffer is self.nest.acc else None

        store: Stmt = loops(substitute(rewrite(self.nest.store, rule), place), lane)
        return If(place[self.row] < self.row.extent, store) if self.row.extent % ROWS else store

    def _place(self, row: Expr, column: Expr) -> dict[Var, Expr]:
        return {self.row: self.tiles[0] * ROWS + row, self.roles.column: self.tiles[1] * COLUMNS + column}


def loops(s: Stmt, *variables: Var) -> Stmt:
    """The innermost in lanes, the others unrolled."""
    *outer, lane = variables
    s = For(lane, s, LoopKind.VECTOR)
    for v in reversed(outer):
        s = For(v, s, LoopKind.UNROLL)
    return s
