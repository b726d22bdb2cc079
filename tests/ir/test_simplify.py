"""Simplification of statements, and what it must leave alone."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_checks import assert_same
from nests import matrix_product, padded_sum
from webnn_compile.dtypes import BOOL, F32, I8, I16, I32, I64, U8, U16, DType
from webnn_compile.ir.interpret import interpret
from webnn_compile.ir.nodes import (
    Alloc,
    Binary,
    Buffer,
    Cast,
    Const,
    Expr,
    For,
    Kernel,
    Load,
    Outline,
    Scalar,
    Scope,
    Select,
    Seq,
    Store,
    Unary,
    Var,
)
from webnn_compile.ir.rewrite import walk
from webnn_compile.ir.simplify import simplify, simplify_expr, simplify_stmt

X, N = Buffer("x", (8,), F32), Buffer("n", (8,), I32)
I = Var("i", 8)
XI, NI = Load(X, (I,)), Load(N, (I,))
T = Const(True, BOOL)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Select(I < 8, XI, -XI), XI),
        (Select(I < 0, XI, -XI), -XI),
        (Select(~(XI < 0.0), XI, -XI), Select(XI < 0.0, -XI, XI)),
        (Select(XI < 0.0, XI, XI), XI),
        (Load(X, (I,), I < 8), XI),
        (Load(X, (I,), I < 0), Const(0.0, F32)),
        ((I < 8) & (XI < 0.0), XI < 0.0),
        ((I < 0) & (XI < 0.0), Const(False, BOOL)),
        ((I < 8) | (XI < 0.0), T),
        (~~(XI < 0.0), XI < 0.0),
        (XI * 1.0, XI),
        (XI / 1.0, XI),
        (XI - 0.0, XI),
        (Cast(F32, XI), XI),
        (Cast(F32, Const(3)), Const(3.0, F32)),
        (Cast(I8, Const(200)), Const(-56, I8)),
        (Cast(I32, Cast(I64, NI)), NI),
        (Binary("min", Cast(I64, NI), Const(2**31 - 1, I64)), Cast(I64, NI)),
        (Binary("max", Cast(I64, NI), Const(-(2**40), I64)), Cast(I64, NI)),
        (Unary("sqrt", Const(9.0, F32)), Const(3.0, F32)),
        (Binary("max", Const(2), Const(5)), Const(5)),
        (Binary("min", I, Const(9)), I),
        (I + 1 - I, Const(1)),
    ],
)
def test_expression(before: Expr, after: Expr) -> None:
    assert simplify_expr(before) == after


@pytest.mark.parametrize(
    "e",
    [
        XI + 0.0,  # of -0.0 this is 0.0
        XI * 0.0,  # of NaN this is NaN
        XI - XI,
        Binary("/", Const(1), Const(0)),
        Binary("%", Const(1), Const(0)),
        Load(X, (I,), I < 5),
        Cast(I32, Cast(I8, NI)),
        Binary("min", Cast(I64, NI), Const(2**31 - 2, I64)),
        Binary("max", Cast(I64, NI), Const(2**31, I64)),
    ],
)
def test_what_stays(e: Expr) -> None:
    assert simplify_expr(e) is e


@pytest.mark.parametrize(
    "e",
    [
        NI * 100_000 * 100_000,
        (NI * 65_536) * 65_536,
        (NI + NI) // 2,
        (NI * 4) % 4 + (NI * 4) // 4,
        Cast(I32, NI < NI + 1),
        Cast(I32, NI * 2 <= NI * 2 + 2_000_000_000),
    ],
)
def test_elements_wrap_around_where_indices_never_do(e: Expr) -> None:
    y = Buffer("y", (8,), I32)
    kernel = Kernel("k", (N, y), For(I, Store(y, (I,), e)))
    x = np.asarray([0, 1, -1, 7, 100_000, 2**31 - 1, -(2**31), 2**30], np.int32)
    want, got = np.zeros(8, np.int32), np.zeros(8, np.int32)
    interpret(kernel, [x, want])
    interpret(simplify(kernel), [x, got])
    np.testing.assert_array_equal(got, want)


def test_loops_of_one_iteration_and_none() -> None:
    one, none = Var("one", 1), Var("none", 0)
    store = Store(X, (one,), Const(0.0, F32))
    assert simplify_stmt(For(one, store)) == Store(X, (Const(0),), Const(0.0, F32))
    assert simplify_stmt(Seq((For(none, store), store))) == store
    assert simplify_stmt(For(I, For(none, store))) == Seq(())


def test_memory_that_nobody_uses() -> None:
    acc = Buffer("acc", (), F32, Scope.LOCAL)
    store = Store(X, (I,), Const(0.0, F32))
    assert simplify_stmt(Alloc(acc, store)) == store
    assert simplify_stmt(Outline(Alloc(acc, Seq(())))) == Seq(())


def test_nothing_to_do_gives_the_same_object() -> None:
    kernel = matrix_product(2, 3, 4).kernel
    assert simplify(kernel) is kernel


def test_a_simplified_kernel_computes_the_same() -> None:
    for extent, window, pad in ((1, 1, 0), (1, 3, 1), (5, 3, 2)):
        kernel = padded_sum(extent, window, pad).kernel
        assert_same(kernel, simplify(kernel), "simplify")


@pytest.mark.parametrize("wide", [F32, I32], ids=str)
@pytest.mark.parametrize("narrow", [I8, U8, I16, U16], ids=str)
def test_a_small_integer_in_between_becomes_a_clamp(narrow: DType, wide: DType) -> None:
    before = Cast(wide, Cast(narrow, XI))
    after = simplify_expr(before)
    assert not any(isinstance(n, Expr) and n.dtype == narrow for n in walk(after))
    x = np.array([0.5, -0.5, 300.7, -300.7, 1e9, -1e9, np.inf, np.nan], np.float32)
    out = Buffer("out", (8,), wide)
    results = []
    for e in (before, after):
        y = np.full(8, 77, wide.numpy)
        interpret(Kernel("k", (X, out), For(I, Store(out, (I,), e))), [x, y])
        results.append(y)
    np.testing.assert_array_equal(*results)


def test_a_comparison_of_widened_numbers_is_that_of_the_numbers() -> None:
    n = Scalar("n", 100)
    i = Var("i", 100, n + 1)
    wide = Binary("<=", Cast(I64, i), Cast(I64, n))
    assert simplify_expr(wide) == Const(True, BOOL)
    j = Var("j", 200)
    assert simplify_expr(Binary("<", Cast(I64, j), Cast(I64, n))) == Binary("<", j, n)
