"""Products on a GPU by hardware for matrices: 64 rows x 64 columns per workgroup, K in blocks of 32.

128 invocations are four subgroups of 32, each with 32 x 32 of the results in tiles of the hardware. Per 32 steps of K a
workgroup stages 64 x 32 elements of A and 32 x 64 of B, rounded to the type that the hardware multiplies; sums stay
float32. The order of elements in a tile is the hardware's: sums pass through shared memory, from where each invocation
takes its vectors for the epilogue. Rows in shared memory are 32 bytes longer than tiles, so that loads of a column's
elements meet in fewer banks. 11 to 19 KiB for operands and 18 for sums.
"""

from __future__ import annotations

from ...dtypes import F16, F32, U32
from ...ir.matrix_unit import instance, matrix_unit
from ...ir.nodes import (
    Alloc,
    Barrier,
    Bitcast,
    Buffer,
    Cast,
    Const,
    Expr,
    For,
    Load,
    LoopKind,
    Scope,
    Select,
    Seq,
    Stmt,
    Var,
)
from ...ir.simplify import simplify_stmt
from ...target import LANES, MatrixFacts
from .staging import COLUMNS, ROWS, StagedNest, Staging

STEPS = 32
SUBGROUP = 32
SIDE = 2
"""Subgroups along rows and along columns."""
GAP = 32
"""Bytes: rows of tiles begin at a multiple of that (PTX ISA, matrix storage for wmma)."""
INVOCATIONS = SIDE * SIDE * SUBGROUP


def simt_matrix(staged: StagedNest, facts: MatrixFacts) -> Stmt:
    """The nest by tiles of workgroups, made of the hardware's tiles."""
    return simplify_stmt(_Matrix(staged, facts).body())


def round_to_half(e: Expr) -> Expr:
    return Cast(F16, e)


def round_to_tf32(e: Expr) -> Expr:
    """To the nearest of ten bits of fraction, of two away from zero. NaN stays, which could become a zero otherwise."""
    rounded = Bitcast(F32, (Bitcast(U32, e) + Const(0x1000, U32)) & Const(0xFFFFE000, U32))
    return Select(e.ne(e), e, rounded)


class _Matrix(Staging):
    """A subgroup's invocations all name the same tiles."""

    def __init__(self, staged: StagedNest, facts: MatrixFacts) -> None:
        half = facts.operands != "tf32"
        self.unit = matrix_unit(facts.rows, facts.columns, facts.depth, F16 if half else F32)
        self.i, self.j, self.k = Var("i", SIDE), Var("j", SIDE), Var("lane", SUBGROUP)
        me = (self.i * SIDE + self.j) * SUBGROUP + self.k
        super().__init__(
            staged, STEPS, me, INVOCATIONS, round_to_half if half else round_to_tf32, GAP // (2 if half else 4)
        )
        self.down, self.across = ROWS // SIDE // facts.rows, COLUMNS // SIDE // facts.columns
        self.sums = Buffer("sums", (ROWS, COLUMNS + GAP // 4), F32, Scope.SHARED)
        shape = facts.rows, facts.columns
        self.c = [[Buffer("c", shape, F32, Scope.TILE) for _ in range(self.across)] for _ in range(self.down)]

    def body(self) -> Stmt:
        """for rows block: for columns block: shared a, b, sums: for subgroups and lanes: tiles, sums, stores"""
        unit = self.unit
        turns = For(self.turn, Seq((self.fetch(), Barrier(), self._multiply(), Barrier())), parallel=False)
        every = [(y, x) for y in range(self.down) for x in range(self.across)]
        start = [instance(unit.fill, [self.c[y][x]]) for y, x in every]
        end = [instance(unit.store, [(self.sums, self._row(y), self._column(x)), self.c[y][x]]) for y, x in every]
        inner: Stmt = Seq((*start, turns, *end, Barrier(), self._finish()))
        for y, x in reversed(every):
            inner = Alloc(self.c[y][x], inner)
        for v in (self.k, self.j, self.i):
            inner = For(v, inner, LoopKind.THREAD)
        for b in (self.sums, self.b, self.a):
            inner = Alloc(b, inner)
        for v in reversed(self.blocks):
            inner = For(v, inner, LoopKind.BLOCK)
        return inner

    def _row(self, tile: int) -> Expr:
        return (self.i * self.down + tile) * self.unit.rows

    def _column(self, tile: int) -> Expr:
        return (self.j * self.across + tile) * self.unit.columns

    def _multiply(self) -> Stmt:
        unit, step = self.unit, Var("k", STEPS // self.unit.depth)
        k = step * unit.depth
        a = [Buffer("a", (unit.rows, unit.depth), unit.operand, Scope.TILE) for _ in range(self.down)]
        b = [Buffer("b", (unit.depth, unit.columns), unit.operand, Scope.TILE) for _ in range(self.across)]
        instances = [instance(unit.load_a, [t, (self.a, self._row(y), k)]) for y, t in enumerate(a)]
        instances += [instance(unit.load_b, [t, (self.b, k, self._column(x))]) for x, t in enumerate(b)]
        instances += [instance(unit.multiply, [self.c[y][x], p, q]) for y, p in enumerate(a) for x, q in enumerate(b)]
        inner: Stmt = Seq(tuple(instances))
        for t in reversed((*a, *b)):
            inner = Alloc(t, inner)
        return For(step, inner, LoopKind.UNROLL, parallel=False)

    def _finish(self) -> Stmt:
        vectors = COLUMNS // LANES
        n, lane = Var("n", ROWS * vectors // INVOCATIONS), Var("lane", LANES)
        flat = n * INVOCATIONS + self.me
        row, column = flat // vectors, flat % vectors * LANES + lane
        total: Expr = Load(self.sums, (row, column))
        start = self.start(row, column)
        return For(n, self.finish(row, column, total if start == Const(0.0, F32) else start + total, lane))
