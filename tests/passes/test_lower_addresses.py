"""Accesses go through pointers that loops advance: the last stage of a CPU's kernel, which has a meaning of its own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from index_expressions import INDICES, TABLE, TABLE_DATA, A, B, I, J, K
from kernel_checks import assert_same, run_kernel
from webnn_compile.codegen.llvm_function import render_kernel
from webnn_compile.codegen.llvm_module import LlvmModule
from webnn_compile.dtypes import F32, I32
from webnn_compile.errors import InternalError
from webnn_compile.ir.calls import Advance, Call, Pointer, UnrolledInOrder
from webnn_compile.ir.interpret import interpret
from webnn_compile.ir.lanes import Ramp, Splat
from webnn_compile.ir.nodes import (
    Alloc,
    Binary,
    Buffer,
    Const,
    Expr,
    For,
    Kernel,
    Load,
    LoopKind,
    Outline,
    Scalar,
    Scope,
    Seq,
    Stmt,
    Store,
    Var,
)
from webnn_compile.ir.pointers import PointTo, shared_loop
from webnn_compile.ir.printer import print_kernel
from webnn_compile.ir.rewrite import walk
from webnn_compile.ir.verify import verify_kernel
from webnn_compile.passes.lower_addresses import lower_addresses
from webnn_compile.passes.lower_math import lower_math
from webnn_compile.passes.outline_cores import outline_cores
from webnn_compile.passes.outline_tiles import outline_tiles

X, Y, T = Buffer("x", (64,), F32), Buffer("y", (64,), F32), Buffer("t", (5,), I32, values=(0, 7))


def lowered(body: Stmt, *scalars: Scalar) -> str:
    """The body's text after the pass, which keeps what it computes where it has no scalars."""
    kernel = Kernel("k", (X, T, Y), body, scalars=scalars)
    made = lower_addresses(kernel)
    verify_kernel(made, "lower_addresses")
    if not scalars:
        assert_same(kernel, made, "lower_addresses")
    return print_kernel(made).partition("\n")[2]


def test_loops_advance_pointers() -> None:
    """One that counts down starts at its highest place, so that none is before its buffer; what is loaded is added."""
    assert lowered(For(I, For(J, Store(Y, (I * 8 + J,), Load(X, (Load(T, (I,)) + 7 - J,)))))) == (
        "  for i < 5:\n"
        "    y.2 from &y[0] by 8\n"
        "    t.2 from &t[0] by 1\n"
        "    for j < 3:\n"
        "      y.3 from &y.2[0] by 1\n"
        "      x.2 from &x[2] by -1\n"
        "      y.3[0] = x.2[((t.2[0] * 1) + 5)]\n"
    )


def test_accesses_at_a_constant_distance_share_a_pointer() -> None:
    store = Store(Y, (Ramp(I * 4 + 8, 4),), Load(X, (Ramp(I * 4, 4),)) + Load(X, (Ramp(I * 4 + 20, 4),)))
    assert lowered(For(I, store)) == (
        "  for i < 5:\n    y.2 from &y[0] by 4\n    x.2 from &x[0] by 4\n    y.2[8..+4] = (x.2[0..+4] + x.2[20..+4])\n"
    )


def test_what_a_loop_does_not_advance_evenly_is_computed_at_its_head() -> None:
    index = Binary("/", J, Const(2)) * 4 + I + J
    assert lowered(For(I, For(J, Seq((Store(Y, (index,), Load(X, (I,))), Store(Y, (index + 1,), Load(X, (I,)))))))) == (
        "  for i < 5:\n"
        "    y.2 from &y[0] by 1\n"
        "    x.2 from &x[0] by 1\n"
        "    for j < 3:\n"
        "      y.3 from &y.2[0] by 1\n"
        "      y.4 = &y.3[((j / 2) * 4)]\n"
        "      y.4[0] = x.2[0]\n"
        "      y.4[1] = x.2[0]\n"
    )


def test_what_scalars_add_is_computed_at_the_head() -> None:
    n = Var("n", 6, A)
    assert lowered(For(n, Store(Y, (B * 8 + n,), Load(X, (n,)))), A, B) == (
        "  y.2 = &y[(b * 8)]\n"
        "  for n < a of 6:\n"
        "    y.3 from &y.2[0] by 1\n"
        "    x.2 from &x[0] by 1\n"
        "    y.3[0] = x.2[0]\n"
    )


def test_a_function_of_a_range_computes_pointers_first() -> None:
    body = For(I, For(J, Store(Y, (I * 8 + J,), Load(X, (J,))), LoopKind.CORE), parallel=False)
    kernel = outline_cores(Kernel("k", (X, Y), body))
    made = lower_addresses(kernel)
    assert_same(kernel, made, "lower_addresses")
    (call,) = [n for n in walk(made.body) if isinstance(n, Call)]
    assert isinstance(call.body, PointTo)
    assert shared_loop(call) is call.body.body
    code = LlvmModule()
    render_kernel(made, code)
    assert "phi i32 [ %begin, %entry ]" in code.text("")


def test_iterations_in_order() -> None:
    """Single elements are read through pointers that each iteration moves, vectors through the one before them."""
    total = Buffer("total", (4,), F32, Scope.LOCAL)
    at = (Ramp(Const(0), 4),)

    def step(n: int) -> Store:
        product = Splat(Load(X, (I * 4 + n * 3,)), 4) * Load(X, (Ramp(I * 4 + n, 4),))
        return Store(total, at, Load(total, at) + product)

    in_order = UnrolledInOrder((step(0), step(1), step(2)), (Load(total, at),), (Advance(Pointer(X, I * 4), 3),))
    start, end = Store(total, at, Splat(Const(0.0, F32), 4)), Store(Y, at, Load(total, at))
    assert lowered(Alloc(total, Seq((start, For(I, in_order, parallel=False), end)))) == (
        "  local total: float32[4]\n"
        "  total[0..+4] = splat4(0.0:float32)\n"
        "  for i < 5 reduce:\n"
        "    x.2 from &x[0] by 4\n"
        "    total[0..+4] = (total[0..+4] + (splat4(x.2[0]) * x.2[0..+4]))\n"
        "    opaque total[0..+4]\n"
        "    x.3 = opaque &x.2[3]\n"
        "    total[0..+4] = (total[0..+4] + (splat4(x.3[0]) * x.2[1..+4]))\n"
        "    opaque total[0..+4]\n"
        "    x.4 = opaque &x.3[3]\n"
        "    total[0..+4] = (total[0..+4] + (splat4(x.4[0]) * x.2[2..+4]))\n"
        "  y[0..+4] = total[0..+4]\n"
    )


def test_pointers_end_with_their_loops_and_iterations() -> None:
    """A variable is bound twice, and each of its loops has iterations in order."""
    total = Buffer("total", (1,), F32, Scope.LOCAL)
    at = (Const(0),)
    steps = tuple(Store(total, at, Load(total, at) + Load(X, (I * 4 + n,))) for n in (0, 1))
    in_order = UnrolledInOrder(steps, (Load(total, at),), (Advance(Pointer(X, I * 4), 1),))
    loop = For(I, Seq((in_order, in_order)), parallel=False)
    text = lowered(Alloc(total, Seq((Store(total, at, Const(0.0, F32)), loop, loop, Store(Y, at, Load(total, at))))))
    assert text.count(" from &x[0] by 4\n") == 2
    assert [line.strip() for line in text.splitlines() if "= opaque" in line] == [
        *("x.3 = opaque &x.2[1]", "x.4 = opaque &x.2[1]"),
        *("x.6 = opaque &x.5[1]", "x.7 = opaque &x.5[1]"),
    ]


def test_what_is_shared_stays_shared() -> None:
    loaded = Load(T, (I,))
    made = lower_addresses(
        Kernel("k", (X, T, Y), For(I, Store(Y, (I,), Load(X, (loaded,), Const(0) < loaded) + loaded.cast(F32))))
    )
    assert len([n for n in walk(made.body) if isinstance(n, Load) and n.dtype == I32]) == 1


def test_a_kernel_without_indices_is_the_same_object() -> None:
    kernel = Kernel("k", (X, Y), Store(Y, (Const(0),), Load(X, (Const(3),))))
    assert lower_addresses(kernel) is kernel


def test_the_interpreter_finds_an_access_beyond_a_pointers_memory() -> None:
    i = Var("i", 8)
    kernel = lower_addresses(Kernel("k", (X, Y), For(i, Store(Y, (i * 8 + 8,), Load(X, (i,))))))
    with pytest.raises(InternalError, match="out of range"):
        interpret(kernel, [np.zeros(64, np.float32), np.zeros(64, np.float32)])


@pytest.mark.parametrize("outlined", [False, True])
@settings(max_examples=30)
@given(index=INDICES, other=INDICES)
def test_random_indices(outlined: bool, index: Expr, other: Expr) -> None:
    """Guarded, so that pointers may begin anywhere; the functions of tiles have pointers of their own."""
    x, y = Buffer("x", (16,), F32), Buffer("y", (I.extent * J.extent * K.extent,), F32)
    first, second = (Load(x, (e,), (Const(0) <= e) & (e < 16)) for e in (index, other))
    inner = For(J, For(K, Store(y, ((I * J.extent + J) * K.extent + K,), first * 2.0 + second)))
    kernel = lower_math(Kernel("k", (TABLE, x, y), For(I, Outline(inner) if outlined else inner)))
    made = lower_addresses(outline_tiles(kernel))
    verify_kernel(made, "lower_addresses")
    inputs = [TABLE_DATA.astype(np.int32), np.arange(1, 17, dtype=np.float32)]
    np.testing.assert_array_equal(run_kernel(made, inputs)[0], run_kernel(kernel, inputs)[0])
