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
"""

from __future__ import annotations

from ...ir.nodes import Alloc, Barrier, Buffer, Expr, For, Load, LoopKind, Scope, Seq, Stmt, Store, Var
from ...ir.simplify import simplify_stmt
from ...target import LANES
from .staging import StagedNest, Staging, loops

STEPS = 16
SIDE = 8
"""Invocations along rows and along columns."""
INVOCATIONS = SIDE * SIDE


def simt_staged(staged: StagedNest) -> Stmt:
    """The nest by tiles of workgroups."""
    return simplify_stmt(_Staged(staged).body())


class _Staged(Staging):
    """`i`, `j` are an invocation's index in the workgroup. Its rows are SIDE apart, so that stores of neighbours are
    coalesced."""

    def __init__(self, staged: StagedNest) -> None:
        self.i, self.j = Var("i", SIDE), Var("j", SIDE)
        super().__init__(staged, STEPS, self.i * SIDE + self.j, INVOCATIONS, lambda e: e)
        self.acc = Buffer("acc", (SIDE, 2, LANES), self.nest.acc.dtype, Scope.LOCAL)

    def body(self) -> Stmt:
        """for rows block: for columns block: shared a, b: for i thread: for j thread: sums, stores"""
        turns = For(self.turn, Seq((self.fetch(), Barrier(), self._multiply(), Barrier())), parallel=False)
        inner: Stmt = Alloc(self.acc, Seq((self._start(), turns, self._finish())))
        for v in (self.j, self.i):
            inner = For(v, inner, LoopKind.THREAD)
        for b in (self.b, self.a):
            inner = Alloc(b, inner)
        for v in reversed(self.blocks):
            inner = For(v, inner, LoopKind.BLOCK)
        return inner

    def _row(self, y: Expr) -> Expr:
        return self.i * SIDE + y

    def _column(self, g: Expr, lane: Expr) -> Expr:
        return g * (SIDE * LANES) + self.j * LANES + lane

    def _start(self) -> Stmt:
        y, g, lane = self._tile()
        value = self.start(self._row(y), self._column(g, lane))
        return loops(Store(self.acc, (y, g, lane), value), y, g, lane)

    def _multiply(self) -> Stmt:
        """Four unrolled steps of K: their elements of A are one vector of shared memory."""
        outer, step = Var("k", STEPS // LANES), Var("ki", LANES)
        y, g, lane = self._tile()
        k = outer * LANES + step
        product = Load(self.a, (self._row(y), k)) * Load(self.b, (k, self._column(g, lane)))
        at = (y, g, lane)
        update = loops(Store(self.acc, at, Load(self.acc, at) + product), y, g, lane)
        return For(outer, For(step, update, LoopKind.UNROLL, parallel=False), parallel=False)

    def _finish(self) -> Stmt:
        y, g, lane = self._tile()
        inner = self.finish(self._row(y), self._column(g, lane), Load(self.acc, (y, g, lane)), lane)
        return For(y, For(g, inner, LoopKind.UNROLL), LoopKind.UNROLL)

    def _tile(self) -> tuple[Var, Var, Var]:
        return Var("y", SIDE), Var("g", 2), Var("lane", LANES)
