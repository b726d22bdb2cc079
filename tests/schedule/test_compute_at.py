"""Producers computed inside a loop of their consumer make the same results, from memory for one band."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_checks import inputs_for, run_kernel
from webnn_compile.dtypes import F32
from webnn_compile.errors import ScheduleError
from webnn_compile.ir.nodes import Buffer, Const, For, Kernel, Load, Seq, Stmt, Store, Var
from webnn_compile.ir.verify import verify_kernel
from webnn_compile.schedule.steps import compute_at, reading_loop

STEP, TAPS, WIDTH = 2, 3, 4


class Chain:
    """x -> a[r, c] = 2 * x[r, c] -> b[r, c] = a[r, c] + a[r + 1, c] + a[r + 2, c] -> y[h, c] = b[h // 2, c] + 1"""

    def __init__(self, lines: int) -> None:
        rows = -(-lines // STEP)
        self.x, self.a = (Buffer(n, (rows + TAPS - 1, WIDTH), F32) for n in "xa")
        self.b, self.y = Buffer("b", (rows, WIDTH), F32), Buffer("y", (lines, WIDTH), F32)
        r, s, self.h = Var("r", rows + TAPS - 1), Var("s", rows), Var("h", lines)
        c = [Var("c", WIDTH) for _ in range(3)]
        taps = Load(self.a, (s, c[1])) + Load(self.a, (s + 1, c[1])) + Load(self.a, (s + 2, c[1]))
        self.nests: list[Stmt] = [
            For(r, For(c[0], Store(self.a, (r, c[0]), Load(self.x, (r, c[0])) * 2.0))),
            For(s, For(c[1], Store(self.b, (s, c[1]), taps))),
            For(self.h, For(c[2], Store(self.y, (self.h, c[2]), Load(self.b, (self.h // STEP, c[2])) + 1.0))),
        ]

    def scratch(self, rows: int) -> dict[Buffer, Buffer]:
        return {self.a: Buffer("a", (rows + TAPS - 1, WIDTH), F32), self.b: Buffer("b", (rows, WIDTH), F32)}

    def by_bands(self, rows: int, scratch: dict[Buffer, Buffer]) -> Kernel:
        whole, rest = divmod(self.h.extent, STEP * rows)
        body: list[Stmt] = []
        if whole:
            band = Var("band", whole)
            start = band * (STEP * rows)
            body.append(For(band, compute_at(self.nests, self.h, start, STEP * rows, scratch), parallel=False))
        if rest:
            body.append(compute_at(self.nests, self.h, Const(whole * STEP * rows), rest, scratch))
        return Kernel("bands", (self.x, *scratch.values(), self.y), Seq(tuple(body)), outputs=3)


@given(st.integers(1, 30), st.integers(1, 6))
def test_bands_compute_the_same(lines: int, rows: int) -> None:
    chain = Chain(lines)
    before = Kernel("whole", (chain.x, chain.a, chain.b, chain.y), Seq(tuple(chain.nests)), outputs=3)
    after = chain.by_bands(rows, chain.scratch(rows))
    verify_kernel(after, "build_kernel")
    inputs = inputs_for(before)
    np.testing.assert_array_equal(run_kernel(before, inputs)[-1], run_kernel(after, inputs)[-1])


def test_a_band_larger_than_its_memory_is_refused() -> None:
    chain = Chain(12)
    with pytest.raises(ScheduleError, match=r"compute_at: a band reads 3 of dimension 0 of b"):
        compute_at(chain.nests, chain.h, Const(0), 3 * STEP, chain.scratch(2))


def test_what_is_no_run_of_one_dimension_is_refused() -> None:
    chain = Chain(12)
    v, c = Var("h", 6), Var("c", WIDTH)
    diagonal = For(v, For(c, Store(chain.y, (v, c), Load(chain.b, (v, v % WIDTH)))))
    with pytest.raises(ScheduleError, match=r"the reads of b are no single region of one dimension"):
        compute_at([chain.nests[1], diagonal], v, Const(0), 2, chain.scratch(2))


def test_a_producer_that_stores_elsewhere_is_refused() -> None:
    chain = Chain(12)
    with pytest.raises(ScheduleError, match=r"a producer stores to no scratch memory"):
        compute_at(chain.nests, chain.h, Const(0), 4, {})


def test_the_loop_that_reads_along_a_dimension() -> None:
    chain = Chain(12)
    assert reading_loop(chain.nests[2], chain.b, 0) is chain.h
    with pytest.raises(ScheduleError, match=r"0 loops move along dimension 0 of y"):
        reading_loop(chain.nests[2], chain.y, 0)
