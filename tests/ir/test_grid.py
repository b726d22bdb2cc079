"""Kernels spread over a GPU: their grid, their meaning with barriers, and what verify refuses."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_checks import kernel_of, run_kernel
from webnn_compile.dtypes import F32
from webnn_compile.errors import InternalError
from webnn_compile.ir.grid import find_grid
from webnn_compile.ir.lanes import Extract, Ramp
from webnn_compile.ir.nodes import (
    Alloc,
    Barrier,
    Buffer,
    Const,
    Expr,
    For,
    If,
    Kernel,
    Load,
    LoopKind,
    Scope,
    Seq,
    Stmt,
    Store,
    Var,
)
from webnn_compile.ir.printer import print_kernel
from webnn_compile.ir.simplify import simplify
from webnn_compile.ir.verify import verify_kernel

B, T = Var("b", 3), Var("t", 4)
X, Y = Buffer("x", (12,), F32), Buffer("y", (12,), F32)
S = Buffer("s", (4,), F32, Scope.SHARED)


BARRIER = Barrier()


def reversed_in_groups(barrier: Stmt = BARRIER) -> Kernel:
    """Each workgroup of four reverses its elements through shared memory."""
    body = Seq((Store(S, (T,), Load(X, (B * 4 + T,))), barrier, Store(Y, (B * 4 + T,), Load(S, (3 - T,)))))
    return kernel_of(For(B, Alloc(S, For(T, body, LoopKind.THREAD)), LoopKind.BLOCK), X, Y)


def test_the_grid_is_read_from_the_loops() -> None:
    grid = find_grid(reversed_in_groups())
    assert (grid.workgroups, grid.workgroup_size, grid.shared) == ((3, 1, 1), (4, 1, 1), (S,))


def test_x_is_the_innermost_loop_of_each_kind() -> None:
    y, x = Var("y", 5), Var("x", 7)
    store = Store(Buffer("o", (5, 7), F32), (y, x), Load(X, (x,)))
    kernel = kernel_of(For(y, For(x, store, LoopKind.BLOCK), LoopKind.BLOCK), X, store.buffer)
    assert find_grid(kernel).workgroups == (7, 5, 1)
    assert find_grid(kernel).workgroup_size == (1, 1, 1)


def test_a_barrier_makes_stores_seen_by_the_workgroup() -> None:
    kernel = reversed_in_groups()
    verify_kernel(kernel, "test")
    x = np.arange(12, dtype=np.float32)
    np.testing.assert_array_equal(run_kernel(kernel, [x])[0], x.reshape(3, 4)[:, ::-1].reshape(-1))


def test_without_the_barrier_the_meaning_is_another() -> None:
    x = np.arange(12, dtype=np.float32)
    assert not np.array_equal(
        run_kernel(reversed_in_groups(Seq(())), [x])[0], x.reshape(3, 4)[:, ::-1].reshape(-1), equal_nan=False
    )


def test_if_runs_its_body_where_the_condition_holds() -> None:
    v = Var("v", 12)
    kernel = kernel_of(Seq((For(v, Store(Y, (v,), Load(X, (v,)))), For(v, If(v < 5, Store(Y, (v,), _zero()))))), X, Y)
    verify_kernel(kernel, "test")
    got = run_kernel(kernel, [np.ones(12, np.float32)])[0]
    np.testing.assert_array_equal(got, [0] * 5 + [1] * 7)


def test_a_decided_condition_is_simplified_away() -> None:
    v = Var("v", 12)
    store = Store(Y, (v,), Load(X, (v,)))
    always, never = (simplify(kernel_of(For(v, If(c, store)), X, Y)) for c in (v < 12, v < 0))
    assert always.body == For(v, store)
    assert never.body == Seq(())


def test_one_lane_of_a_vector() -> None:
    v = Var("v", 12)
    lanes = Load(X, (Ramp(_int(4), 4),))
    kernel = kernel_of(For(v, Store(Y, (v,), Extract(lanes, 2))), X, Y)
    verify_kernel(kernel, "test")
    assert run_kernel(kernel, [np.arange(12, dtype=np.float32)])[0][0] == 6
    assert ".2" in print_kernel(kernel)
    wrong = kernel_of(For(v, Store(Y, (v,), Extract(lanes, 4))), X, Y)
    with pytest.raises(InternalError, match="no such lane"):
        verify_kernel(wrong, "test")


def test_verify_refuses_a_barrier_under_a_condition_and_a_grid_inside_a_loop() -> None:
    condition = kernel_of(For(T, Seq((If(T < 2, Barrier()), Store(Y, (T,), _zero()))), LoopKind.THREAD), Y)
    with pytest.raises(InternalError, match="invocations meet under a condition"):
        verify_kernel(condition, "test")
    inside = kernel_of(For(T, For(B, Store(Y, (B,), _zero()), LoopKind.BLOCK)), Y)
    with pytest.raises(InternalError, match="loop over the grid"):
        verify_kernel(inside, "test")


def test_text_shows_conditions_barriers_and_shared_memory() -> None:
    text = print_kernel(reversed_in_groups())
    assert "shared s: float32[4]" in text
    assert "barrier\n" in text
    assert "for t < 4 thread:" in text
    v = Var("v", 3)
    assert "if (v < 2):" in print_kernel(kernel_of(For(v, If(v < 2, Store(Y, (v,), Load(X, (v,))))), X, Y))


def _zero() -> Expr:
    return Const(0.0, F32)


def _int(n: int) -> Expr:
    return Const(n)
