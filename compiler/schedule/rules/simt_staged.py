"""Products on a GPU with operands staged in shared memory: 64 rows x 64 columns per workgroup, K in blocks of 16.

64 invocations (8 x 8) compute 8 rows x 2 vectors of four columns each. Per 16 steps of K the workgroup reads 64 x 16
elements of A and 16 x 64 of B, 8 KiB, and makes 64 * 64 * 16 multiply-adds with them: 8 for each byte, where
invocations that read their own 8 rows and 2 vectors make 1. Per four steps an invocation loads 16 vectors from shared
memory for 64 multiply-adds of vectors. It holds 16 vectors of sums and about 10 of operands, some 110 registers; 8 KiB
allow two workgroups even where a core has only 16. Software adapters have neither memory latency to hide nor cheap
barriers: there, tiles in registers alone are faster (`simt_contraction`).

Which is faster on a GPU depends on its caches: 1 multiply-add for each byte is 16 TB/s at 16 T/s, which a large first
level cache delivers where neighbours read the same lines, and others do not. There is no GPU at build time, hence the
choice is a fact of the target (`shared_tiles`). Tiles are used where they make enough workgroups: 64 x 64 results are a
workgroup, so that 2048 invocations take 131,072 results (112 x 112 x 64 has six times as many, 14 x 14 x 256 too few).

A convolution is a product, too: its rows are output positions, its K is kernel positions times channels.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ...ir.construct import all_of
from ...ir.nodes import (
    Alloc,
    Barrier,
    Binary,
    Buffer,
    Expr,
    For,
    If,
    Load,
    LoopKind,
    Scope,
    Seq,
    Stmt,
    Store,
    Var,
)
from ...ir.rewrite import free_vars, rewrite, substitute
from ...ir.simplify import simplify_stmt
from ..nest import Reduction, match_reduction
from ..steps import fuse, pack, reorder, split
from .panel_layout import panels_of
from .roles import Roles, find_roles, order_reduction

ROWS, COLUMNS, STEPS = 64, 64, 16
SIDE = 8
"""Invocations along rows and along columns."""
LANES = 4
VECTORS = STEPS // LANES


@dataclass(frozen=True, slots=True)
class StagedPlan:
    """A product that tiles of workgroups can compute: the loops of its rows and of its reduction, in order, and the
    number of invocations of its tiles."""

    roles: Roles
    rows: tuple[Var, ...]
    over: tuple[Var, ...]
    invocations: int


def find_staged(nest: Reduction) -> StagedPlan | None:
    """None where tiles would be mostly empty, B is no constant, or vectors of A are not contiguous."""
    roles = find_roles(nest)
    if roles is None or roles.row is None or not roles.b.buffer.constant or not nest.over:
        return None
    over = order_reduction(nest, roles)
    rows = tuple(v for v in nest.loops if v is not roles.column)
    count = prod(v.extent for v in rows)
    if free_vars(roles.b) & set(rows):  # groups, each with weights of its own
        return None
    if roles.column.extent % COLUMNS or count < ROWS or over[-1].extent % LANES:
        return None
    if not panels_of(roles.b, roles.column, over, COLUMNS).blocks:
        return None
    workgroups = -(-count // ROWS) * (roles.column.extent // COLUMNS)
    return StagedPlan(roles, rows, tuple(over), workgroups * SIDE * SIDE)


def simt_staged(stmt: Stmt, plan: StagedPlan) -> tuple[Stmt, dict[Buffer, Buffer]] | None:
    """The staged nest and the constant that was packed; None where loops of another extent than 1 remain beside the
    rows, columns and K."""
    roles, rows, over = plan.roles, plan.rows, plan.over
    layout = panels_of(roles.b, roles.column, list(over), COLUMNS)
    stmt, packed = pack(stmt, roles.b.buffer, layout)
    stmt = reorder(stmt, [*rows, roles.column])
    if len(over) > 1:
        stmt = reorder(stmt, list(over))
    stmt, ((vectors, lane),) = split(stmt, over[-1], [(over[-1].extent // LANES, LANES)])
    for group in (rows, [*over[:-1], vectors]):
        line = group[0]
        for v in group[1:]:
            stmt, line = fuse(stmt, line, v)
    nest = match_reduction(stmt)
    value = nest.value
    if not isinstance(value, Binary) or len(nest.loops) != 2 or nest.over[1:] != (lane,):
        return None
    b, other = (value.a, value.b) if _loads_from(value.a, packed) else (value.b, value.a)
    if not isinstance(b, Load):
        return None
    staged = Roles(roles.column, nest.loops[0], b, other, ())
    return simplify_stmt(_Staged(nest, staged).body()), {roles.b.buffer: packed}


def _loads_from(e: Expr, buffer: Buffer) -> bool:
    return isinstance(e, Load) and e.buffer is buffer


class _Staged:
    """The parts of the loop nest; `i`, `j` are an invocation's index in the workgroup."""

    def __init__(self, nest: Reduction, roles: Roles) -> None:
        assert roles.row is not None
        self.nest, self.roles, self.row = nest, roles, roles.row
        self.vectors, self.lane = nest.over
        dtype = nest.acc.dtype
        self.a = Buffer("a", (ROWS, STEPS), dtype, Scope.SHARED)
        self.b = Buffer("b", (STEPS, COLUMNS), dtype, Scope.SHARED)
        self.acc = Buffer("acc", (SIDE, 2, LANES), dtype, Scope.LOCAL)
        self.i, self.j = Var("i", SIDE), Var("j", SIDE)
        self.blocks = Var("rows", -(-self.row.extent // ROWS)), Var("columns", roles.column.extent // COLUMNS)
        self.turn = Var("ko", -(-self.vectors.extent // VECTORS))

    def body(self) -> Stmt:
        """for rows block: for columns block: shared a, b: for i thread: for j thread: sums, stores"""
        turns = For(self.turn, Seq((self._fetch(), Barrier(), self._multiply(), Barrier())), parallel=False)
        inner: Stmt = Alloc(self.acc, Seq((self._start(), turns, self._finish())))
        for v in (self.j, self.i):
            inner = For(v, inner, LoopKind.THREAD)
        for b in (self.b, self.a):
            inner = Alloc(b, inner)
        for v in reversed(self.blocks):
            inner = For(v, inner, LoopKind.BLOCK)
        return inner

    def _fetch(self) -> Stmt:
        """Each invocation loads four vectors of either operand, its neighbours the adjacent ones."""
        n, lane, m, column = Var("n", LANES), Var("lane", LANES), Var("n", LANES), Var("lane", LANES)
        me = self.i * SIDE + self.j
        flat = n * (SIDE * SIDE) + me
        r, q = flat // VECTORS, flat % VECTORS
        row, vector = self.blocks[0] * ROWS + r, self.turn * VECTORS + q
        env = {self.row: row, self.vectors: vector, self.lane: lane}
        a = self._guarded(substitute(self.roles.a, env), row, vector)
        fetch_a = Store(self.a, (r, q * LANES + lane), a)
        flat = m * (SIDE * SIDE) + me
        s, c = flat // (COLUMNS // LANES), flat % (COLUMNS // LANES) * LANES + column
        vector, at = self.turn * VECTORS + s // LANES, self.blocks[1] * COLUMNS + c
        env = {self.roles.column: at, self.vectors: vector, self.lane: s % LANES}
        b = self._guarded(substitute(self.roles.b, env), None, vector)
        fetch_b = Store(self.b, (s, c), b)
        return Seq((_loops(fetch_a, n, lane), _loops(fetch_b, m, column)))

    def _guarded(self, e: Expr, row: Expr | None, vector: Expr) -> Expr:
        """Zero beyond the operands' ends."""
        conditions = []
        if row is not None and self.row.extent % ROWS:
            conditions.append(row < self.row.extent)
        if self.vectors.extent % VECTORS:
            conditions.append(vector < self.vectors.extent)
        if not conditions:
            return e
        inside = all_of(*conditions)

        def rule(n: object) -> Expr | None:
            if isinstance(n, Load):
                return Load(n.buffer, n.indices, inside if n.guard is None else n.guard & inside)
            return None

        return rewrite(e, rule)

    def _place(self, y: Expr, g: Expr, lane: Expr) -> dict[Var, Expr]:
        """The row and column of a sum: rows are SIDE apart, so that stores of neighbours are coalesced."""
        row = self.blocks[0] * ROWS + self.i * SIDE + y
        return {self.row: row, self.roles.column: self.blocks[1] * COLUMNS + self._column(g, lane)}

    def _column(self, g: Expr, lane: Expr) -> Expr:
        return g * (SIDE * LANES) + self.j * LANES + lane

    def _start(self) -> Stmt:
        y, g, lane = self._tile()
        value = substitute(self.nest.start.value, self._place(y, g, lane))
        return _loops(Store(self.acc, (y, g, lane), value), y, g, lane)

    def _multiply(self) -> Stmt:
        """Four unrolled steps of K: their elements of A are one vector of shared memory."""
        outer, step = Var("k", STEPS // LANES), Var("ki", LANES)
        y, g, lane = self._tile()
        k = outer * LANES + step
        product = Load(self.a, (self.i * SIDE + y, k)) * Load(self.b, (k, self._column(g, lane)))
        at = (y, g, lane)
        update = _loops(Store(self.acc, at, Load(self.acc, at) + product), y, g, lane)
        return For(outer, For(step, update, LoopKind.UNROLL, parallel=False), parallel=False)

    def _finish(self) -> Stmt:
        y, g, lane = self._tile()

        def rule(n: object) -> Expr | None:
            return Load(self.acc, (y, g, lane)) if isinstance(n, Load) and n.buffer is self.nest.acc else None

        place = self._place(y, g, lane)
        store = substitute(rewrite(self.nest.store, rule), place)
        inner: Stmt = _loops(store, lane)
        if self.row.extent % ROWS:
            inner = If(place[self.row] < self.row.extent, inner)
        return For(y, For(g, inner, LoopKind.UNROLL), LoopKind.UNROLL)

    def _tile(self) -> tuple[Var, Var, Var]:
        return Var("y", SIDE), Var("g", 2), Var("lane", LANES)


def _loops(s: Stmt, *variables: Var) -> Stmt:
    """The innermost in lanes, the others unrolled."""
    *outer, lane = variables
    s = For(lane, s, LoopKind.VECTOR)
    for v in reversed(outer):
        s = For(v, s, LoopKind.UNROLL)
    return s
