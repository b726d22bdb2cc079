"""Reductions with few results on a GPU: a workgroup for each result, or for four contiguous ones.

One invocation for each of 128 rows of 256 elements would read 64 vectors sequentially, with a stride that touches a
cache line for each: 128 invocations where thousands fit, and a wave's load is 32 or 64 lines of memory instead of a
few. Here 16 to 256 invocations share a row, neighbours next to each other, in vectors where the row is whole vectors:
2048 invocations of four loads each, every byte once and in order. The overhead is combining their partial results, a
few hundred cycles with one barrier or two (`passes/reduce_by_tree`, `passes/reduce_by_subgroups`), about as long as one
load from memory takes. So it pays from eight elements an invocation on (`GpuTarget.long_reduction`), where otherwise
the device would idle (`GpuTarget.minimum_occupancy`); with enough results every invocation computes its own.

Workgroups are as large as the minimum occupancy requires, and no larger: half-empty waves cost nothing where waves are
few, and 16 invocations need one barrier. Software adapters switch stacks at barriers: for them every invocation is more
work, and bert's normalisations take 3 to 4 times as long as without sharing (a twentieth more of the model), with 64
invocations for every row 5 to 16 times (half of the model more).

Where the results are contiguous and the operands are not (a mean over the pixels of an image whose channels are
innermost), a workgroup makes four results, so that its loads are vectors.
"""

from __future__ import annotations

from math import prod

from ...choices import Choices, ordered
from ...dtypes import I32
from ...ir.all_reduce import AllReduce, Among
from ...ir.nest import Reduction, match_reduction
from ...ir.nodes import Alloc, Binary, Buffer, Const, Expr, For, If, Load, LoopKind, Scope, Seq, Stmt, Store, Var
from ...ir.reduction import WITHOUT_NAN, neutral
from ...ir.rewrite import rewrite, substitute
from ...ir.simplify import simplify_expr, simplify_stmt
from ...ir.sort_key import from_sort_key, sort_key
from ...target import LANES, GpuTarget
from ..access import accesses, vectorisable
from ..steps import fuse, rounded, split
from .word_sums import multiplies_words

SMALLEST, LARGEST = 16, 256
"""Invocations of a workgroup; the largest that every device supports."""

EACH = 8
"""Fewest elements of an invocation."""


def simt_workgroup(stmt: Stmt, nest: Reduction, target: GpuTarget, choices: Choices) -> Stmt:
    """for i: local acc; acc = a; for k reduce: acc = acc + x[i, k]; y[i] = f(acc)
    ->  for i block: for t < 64 thread:
            local acc; acc = 0; for ko reduce: acc = acc + x[i, 64*ko + t]; acc = + of workgroup(acc);
            if t < 1: y[i] = f(a + acc)
    """
    along = any(a.stride(nest.over[-1]) == 1 for a in accesses(nest.value)) and not multiplies_words(nest)
    results: Var | None = None
    if not along and nest.loops and nest.loops[-1].extent % LANES == 0 and vectorisable(stmt, nest.loops[-1]):
        stmt, ((_, results),) = split(stmt, nest.loops[-1], [rounded(nest.loops[-1], LANES)])
    stmt, over = _fused(stmt, results)
    nest = match_reduction(stmt)
    outer = [v for v in nest.loops if v is not results]
    preferred = _invocations(prod(v.extent for v in outer), over.extent, target.minimum_occupancy)
    sizes = [n for n in (16, 32, 64, 128, 256) if n <= target.invocations]
    count = choices.choose("invocations", ordered(preferred, sizes))
    body = _Workgroup(nest, over, results, count).body()
    for v in reversed(outer):
        body = For(v, body, LoopKind.BLOCK)
    return simplify_stmt(body)


def _fused(stmt: Stmt, results: Var | None) -> tuple[Stmt, Var]:
    """All parallel loops but `results` as one, and all reduction loops."""
    nest = match_reduction(stmt)
    outer = [v for v in nest.loops if v is not results]
    for line in (outer, [*nest.over]):
        while len(line) > 1:
            stmt, fused = fuse(stmt, *line[:2])
            line[:2] = [fused]
    stmt = simplify_stmt(stmt)
    return stmt, match_reduction(stmt).over[0]


def _invocations(workgroups: int, elements: int, occupancy: int) -> int:
    """The invocations of each workgroup: a power of two."""
    count = SMALLEST
    while count < LARGEST and count * workgroups < occupancy and 2 * count * EACH <= elements:
        count *= 2
    return count


class _Workgroup:
    """The parts of an invocation's statement. `lane` is the innermost loop of each where there are vectors: of
    `results`, or of neighbouring elements of one."""

    def __init__(self, nest: Reduction, over: Var, results: Var | None, count: int) -> None:
        self.nest, self.over, self.results = nest, over, results
        dtype = nest.acc.dtype
        whole = over.extent % LANES == 0 and over.length is None
        strides = [a.stride(over) for a in accesses(nest.value)]
        self.vectors = results is None and whole and 1 in strides and vectorisable(nest.value, over)
        self.lane = Var("lane", LANES) if self.vectors else results
        self.acc = Buffer("acc", () if self.lane is None else (LANES,), dtype, Scope.LOCAL)
        # Of a max or min that keeps NaN the workgroup combines keys: devices have no such operation of subgroups.
        self.keyed = nest.op in WITHOUT_NAN and dtype.is_float
        shape = () if self.vectors else self.acc.shape
        changed = self.vectors or self.keyed
        self.total = Buffer("total", shape, I32 if self.keyed else dtype, Scope.LOCAL) if changed else self.acc
        self.t, self.count = Var("t", count), count

    def body(self) -> Stmt:
        own, at, op = self._at(self.acc), self._at(self.total), self.nest.op
        stmts: list[Stmt] = [self._each(Store(self.acc, own, neutral(op, self.acc.dtype))), self._elements()]
        if self.total is not self.acc:
            mine = _combine_lanes(op, self.acc) if self.vectors else Load(self.acc, own)
            key = sort_key(mine, nan_lowest=op == "min_nan") if self.keyed else mine
            stmts.append(self._of_total(Store(self.total, at, key)))
        among = WITHOUT_NAN[op] if self.keyed else op
        together = Store(self.total, at, AllReduce(among, Load(self.total, at), Among.WORKGROUP))
        start = self.nest.start.value
        result: Expr = Load(self.total, at)
        if self.keyed:
            result = from_sort_key(result, self.acc.dtype)
        if start != neutral(op, result.dtype):
            result = Binary(op, start, result)
        store = _with_result(self.nest.store, self.nest.acc, result)
        stmts += [self._of_total(together), If(self.t < 1, self._of_total(store))]
        body: Stmt = Seq(tuple(stmts))
        for buffer in dict.fromkeys((self.acc, self.total)):
            body = Alloc(buffer, body)
        return For(self.t, body, LoopKind.THREAD)

    def _elements(self) -> Stmt:
        """The invocation's partial reduction."""
        size = LANES if self.vectors else 1
        turn = _turns(self.over, self.count * size)
        first = (turn * self.count + self.t) * size
        at = first + self.lane if self.vectors and self.lane is not None else first
        own = self._at(self.acc)
        value = Binary(self.nest.op, Load(self.acc, own), substitute(self.nest.value, {self.over: at}))
        step = self._each(Store(self.acc, own, value))
        if self.over.length is not None or self.over.extent % (self.count * size):
            step = If(first < (self.over.extent if self.over.length is None else self.over.length), step)
        return For(turn, step, parallel=False)

    def _at(self, buffer: Buffer) -> tuple[Expr, ...]:
        return (self.lane,) if buffer.shape and self.lane is not None else ()

    def _each(self, stmt: Stmt) -> Stmt:
        return stmt if self.lane is None else For(self.lane, stmt, LoopKind.VECTOR)

    def _of_total(self, stmt: Stmt) -> Stmt:
        """For each result."""
        return stmt if self.vectors else self._each(stmt)


def _turns(over: Var, size: int) -> Var:
    """A loop over parts of `size` iterations, the last perhaps shorter."""
    length = None if over.length is None else simplify_expr((over.length + (size - 1)) // size)
    return Var(f"{over.name}o", -(-over.extent // size), length)


def _combine_lanes(op: str, acc: Buffer) -> Expr:
    a, b, c, d = (Load(acc, (Const(i),)) for i in range(LANES))
    return Binary(op, Binary(op, a, b), Binary(op, c, d))


def _with_result(store: Store, acc: Buffer, result: Expr) -> Stmt:
    return rewrite(store, lambda n: result if isinstance(n, Load) and n.buffer is acc else None)
