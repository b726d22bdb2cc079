"""Pointers as IR: how they print, what they compute, and that walks and rewrites know them."""

from __future__ import annotations

import numpy as np
import pytest
from webnn_compile.dtypes import F32
from webnn_compile.errors import InternalError
from webnn_compile.ir.calls import Call, Pointer
from webnn_compile.ir.interpret import interpret
from webnn_compile.ir.nodes import Alloc, Buffer, Const, Expr, For, Kernel, Load, LoopKind, Scope, Seq, Store, Var
from webnn_compile.ir.pointers import Advancing, LoopPointer, Opaque, PointTo, shared_loop
from webnn_compile.ir.printer import print_kernel
from webnn_compile.ir.rewrite import free_vars, substitute
from webnn_compile.ir.verify import verify_kernel

X, Y, P, Q = (Buffer(name, (8,), F32) for name in "xypq")
TOTAL = Buffer("total", (1,), F32, Scope.LOCAL)
I, J = Var("i", 2), Var("j", 3)
FIRST = (Const(0),)


def sums(offset: Expr) -> For:
    """y[i] = x[offset] + x[offset + 2] + x[offset + 4]"""
    step = Store(TOTAL, FIRST, Load(TOTAL, FIRST) + Load(Q, FIRST))
    loop = For(J, Advancing((LoopPointer(Q, Pointer(P, Const(0)), 2),), step), parallel=False)
    start, end = Store(TOTAL, FIRST, Const(0.0, F32)), Store(Y, (I,), Load(TOTAL, FIRST))
    body = Seq((start, PointTo(P, Pointer(X, offset), loop, opaque=True), Opaque((Load(TOTAL, FIRST),)), end))
    return For(I, Alloc(TOTAL, body))


def test_a_loops_pointer_moves_and_another_is_made_once() -> None:
    kernel = Kernel("k", (X, Y), sums(I + 1))
    verify_kernel(kernel, "simplify")
    assert "    p = opaque &x[(i + 1)]\n    for j < 3 reduce:\n      q from &p[0] by 2\n" in print_kernel(kernel)
    assert "    opaque total[0]\n" in print_kernel(kernel)
    out = np.zeros(8, np.float32)
    interpret(kernel, [np.arange(8, dtype=np.float32), out])
    np.testing.assert_array_equal(out[:2], [1 + 3 + 5, 2 + 4 + 6])


def test_an_access_beyond_the_memory_of_a_pointer_is_out_of_range() -> None:
    with pytest.raises(InternalError, match="out of range"):
        interpret(Kernel("k", (X, Y), sums(I + 3)), [np.zeros(8, np.float32), np.zeros(8, np.float32)])


def test_offsets_are_rewritten() -> None:
    n = Var("n", 4)
    loop = sums(I + n)
    assert free_vars(loop) == {n}
    assert substitute(loop, {n: Const(1)}) == sums(I + 1)
    assert substitute(loop, {Var("other", 2): n}) is loop
    moving = Advancing((LoopPointer(Q, Pointer(X, n), 1),), Store(Y, FIRST, Load(Q, FIRST)))
    moved = substitute(moving, {n: Const(2)})
    assert moved == Advancing((LoopPointer(Q, Pointer(X, Const(2)), 1),), moving.body)


def test_the_loop_of_which_a_function_takes_a_range() -> None:
    loop = For(I, Store(Y, (I,), Load(P, (I,))), LoopKind.CORE)
    pointers = (Pointer(Y, Const(0)), Pointer(X, Const(0)))
    assert shared_loop(Call(PointTo(P, Pointer(X, Const(0)), loop), (Y, X), pointers, ())) is loop
    assert shared_loop(Call(loop.body, (Y, X), pointers, ())) is None
