"""Outlined regions, loops of several cores and loops in order become what LLVM's renderer prints, and keep what a
kernel computes: a function sees nothing but its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_checks import assert_same, scheduled
from nests import matrix_product, padded_sum, pointwise
from webnn_compile.dtypes import F32
from webnn_compile.ir.calls import Advance, Call, HoistedConstants, Pointer, UnrolledInOrder
from webnn_compile.ir.nodes import (
    Buffer,
    Const,
    Expr,
    For,
    Kernel,
    Load,
    LoopKind,
    Node,
    Outline,
    Scope,
    Seq,
    Store,
    Var,
)
from webnn_compile.ir.printer import print_kernel
from webnn_compile.ir.rewrite import free_vars, rewrite, substitute, walk
from webnn_compile.ir.simplify import simplify
from webnn_compile.passes.flatten_indices import flatten_indices
from webnn_compile.passes.hoist_constants import hoist_constants
from webnn_compile.passes.lower_math import lower_math
from webnn_compile.passes.outline_cores import outline_cores
from webnn_compile.passes.outline_tiles import outline_tiles
from webnn_compile.passes.unroll_in_order import unroll_in_order
from webnn_compile.passes.unroll_loops import unroll_loops
from webnn_compile.passes.vectorize_loops import vectorize_loops
from webnn_compile.schedule.steps import outline, sink, split, tag, vectorise

FLAT = (flatten_indices, vectorize_loops, unroll_loops, simplify, lower_math)
OUTLINING = (outline_tiles, outline_cores, unroll_in_order, hoist_constants)

X, Y = Buffer("x", (64,), F32), Buffer("y", (64,), F32)
ACC = Buffer("acc", (1,), F32, Scope.LOCAL)
I, J, K = Var("i", 8), Var("j", 4), Var("k", 2)


def flat(kernel: Kernel) -> Kernel:
    for run in FLAT:
        kernel = run(kernel)
    return kernel


def text(body: Node) -> str:
    assert isinstance(body, For | Seq)
    return print_kernel(Kernel("k", (X, Y), body)).partition("\n")[2]


def check(kernel: Kernel, passes: Sequence[Callable[[Kernel], Kernel]] = OUTLINING) -> Kernel:
    """Every pass keeps the meaning of the flat kernel; what the last one made."""
    made = before = flat(kernel)
    for run in passes:
        made = run(made)
        assert run(made) is made, f"{run.__name__} changes what it made"
        assert_same(before, made, run.__name__)
    return made


def test_outline_tiles() -> None:
    body = For(I, Outline(For(K, Store(Y, (I * 8 + K * 3,), Load(X, (I * 8 + K + 2,))))))
    assert text(outline_tiles(Kernel("k", (X, Y), body)).body) == (
        "  for i < 8:\n"
        "    call(y.2 = &y[(i * 8)], x.2 = &x[((i * 8) + 2)]):\n"
        "      for k < 2:\n"
        "        y.2[(k * 3)] = x.2[k]\n"
    )


def test_equal_tiles_at_different_places_are_equal_functions() -> None:
    def tile(at: int) -> Outline:
        return Outline(For(K, Store(Y, (I + K * 3 + at,), Load(X, (I + K + 2 * at,)))))

    body = outline_tiles(Kernel("k", (X, Y), For(I, Seq((tile(0), tile(5)))))).body
    one, other = [n for n in walk(body) if isinstance(n, Call)]
    texts = [print_kernel(Kernel("tile", c.params, c.body), named=False) for c in (one, other)]
    assert texts[0] == texts[1]
    assert (one.numbers, other.numbers) == ((), ())
    assert [p.offset for p in other.pointers] == [I + 5, I + 10]


def test_a_function_gets_the_variables_that_it_needs() -> None:
    """Where a guard asks for one, or an index is no sum; no others."""
    body = For(J, For(I, Outline(For(K, Store(Y, (J * 8 + I * 2 + K,), Load(X, ((I + K) // 2,), K < I))))))
    made = check(Kernel("k", (X, Y), body))
    (call,) = [n for n in walk(made.body) if isinstance(n, Call)]
    assert call.numbers == (I,)
    assert free_vars(call.body) == {I}


def test_pointers_do_not_leave_their_buffers_where_an_index_counts_down() -> None:
    body = For(J, Outline(For(I, Store(Y, (J * 8 + 7 - I,), Load(X, (J * 8 + I,))))))
    (call,) = [n for n in walk(check(Kernel("k", (X, Y), body)).body) if isinstance(n, Call)]
    assert [p.offset for p in call.pointers] == [J * 8, J * 8]


def test_outline_cores() -> None:
    body = For(J, For(I, Store(Y, (J * 8 + I,), Load(X, (I,))), LoopKind.CORE), parallel=False)
    assert text(outline_cores(Kernel("k", (X, Y), body)).body) == (
        "  for j < 4 reduce:\n"
        "    call(y = &y[0], x = &x[0], j):\n"
        "      for i < 8 core:\n"
        "        y[((j * 8) + i)] = x[i]\n"
    )


def test_unroll_in_order() -> None:
    update = Store(ACC, (Const(0),), Load(ACC, (Const(0),)) + Load(X, (I * 4 + K * 3,)))
    body = unroll_in_order(Kernel("k", (X, Y), For(I, For(K, update, LoopKind.IN_ORDER, parallel=False)))).body
    assert isinstance(body, For)
    steps = tuple(substitute(update, {K: Const(i)}) for i in (0, 1))
    assert body.body == UnrolledInOrder(steps, (Load(ACC, (Const(0),)),), (Advance(Pointer(X, I * 4), 3),))
    assert "in order, past acc[0], &x[(i * 4)] += 3:" in text(body)


@pytest.mark.parametrize("index", [J - K + 8, (I + K) // 2, Const(5), I])
def test_pointers_that_do_not_move_up_evenly_stay(index: Expr) -> None:
    update = Store(ACC, (Const(0),), Load(ACC, (Const(0),)) + Load(X, (index,)))
    body = For(J, For(I, For(K, update, LoopKind.IN_ORDER, parallel=False)))
    (made,) = [n for n in walk(unroll_in_order(Kernel("k", (X, Y), body)).body) if isinstance(n, UnrolledInOrder)]
    assert made.advances == ()


def polynomial(terms: int, x: Expr, first: float = 1.0) -> Expr:
    value: Expr = Const(first, F32)
    for i in range(1, terms):
        value = value * x + Const(first + i, F32)
    return value


def test_hoist_constants() -> None:
    """Eight vectors of constants, ahead of the loop; zeros are none, and equal ones are one."""
    value = polynomial(8, Load(X, (I * 4 + J,))) + 1.0 + 0.0
    kernel = Kernel("k", (X, Y), For(I, For(J, Store(Y, (I * 4 + J,), value), LoopKind.VECTOR)))
    made = check(kernel)
    (held,) = [n for n in walk(made.body) if isinstance(n, HoistedConstants)]
    assert sorted(c.a.value for c in held.constants if isinstance(c.a, Const)) == [1.0 + i for i in range(8)]
    assert isinstance(made.body, For)
    assert made.body.body is held
    assert "with splat4(" in text(made.body)


@pytest.mark.parametrize("terms", [7, 8])
def test_few_constants_stay(terms: int) -> None:
    def store(i: Expr) -> For:
        return For(J, Store(Y, (i * 4 + J,), polynomial(terms, Load(X, (i * 4 + J,)))), LoopKind.VECTOR)

    few = check(Kernel("k", (X, Y), For(I, store(I))))
    assert any(isinstance(n, HoistedConstants) for n in walk(few.body)) == (terms == 8)
    # A loop around a function, and one around another loop.
    called = check(Kernel("k", (X, Y), For(I, Outline(store(I)))))
    assert not any(isinstance(n, HoistedConstants) for n in walk(called.body))
    two = Var("h", 2)
    nested = check(Kernel("k", (X, Y), For(two, Seq((store(two), For(I, Store(Y, (I,), Load(X, (I,)))))))))
    assert not any(isinstance(n, HoistedConstants) for n in walk(nested.body))


def around(kernel: Kernel, var: Var, kind: type[Outline] | LoopKind) -> Kernel:
    """The loop over `var` outlined, or of another kind."""

    def rule(n: Node) -> Node | None:
        if not isinstance(n, For) or n.var is not var:
            return None
        return replace(n, kind=kind) if isinstance(kind, LoopKind) else Outline(n)

    return replace(kernel, body=rewrite(kernel.body, rule))


@settings(max_examples=25)
@given(st.integers(1, 6), st.integers(1, 9), st.integers(1, 6), st.booleans(), st.booleans())
def test_products_of_tiles(rows: int, columns: int, depth: int, outlined: bool, shared: bool) -> None:
    """Steps of the reduction in order, inside functions, inside loops that cores share."""
    nest = matrix_product(rows, columns, 2 * depth)
    body, ((_, steps),) = split(nest.body, nest["k"], [(depth, 2)])
    kernel = scheduled(nest.kernel, tag(body, steps, LoopKind.IN_ORDER))
    if outlined:
        kernel = around(kernel, nest["j"], Outline)
    if shared:
        kernel = around(kernel, nest["i"], LoopKind.CORE)
    made = check(kernel)
    assert not any(
        isinstance(n, Outline) or (isinstance(n, For) and n.kind is LoopKind.IN_ORDER) for n in walk(made.body)
    )


@settings(max_examples=15)
@given(st.integers(2, 5), st.sampled_from([4, 8]), st.integers(1, 5))
def test_sums_in_vectors(rows: int, columns: int, depth: int) -> None:
    nest = matrix_product(rows, columns, 2 * depth)
    body, ((_, steps),) = split(nest.body, nest["k"], [(depth, 2)])
    body = tag(sink(tag(body, steps, LoopKind.IN_ORDER), nest["i"]), nest["i"], LoopKind.UNROLL)
    body = vectorise(sink(body, nest["j"]), nest["j"], 8)
    made = check(scheduled(nest.kernel, Outline(body)))
    found = [n for n in walk(made.body) if isinstance(n, UnrolledInOrder)]
    assert all(len(n.sums) == rows and len(n.advances) == 1 for n in found)


@settings(max_examples=15)
@given(st.integers(1, 7), st.integers(1, 4), st.integers(0, 2))
def test_guarded_windows(length: int, window: int, pad: int) -> None:
    """Pointers may begin before their buffers."""
    nest = padded_sum(length, window, min(pad, window - 1))
    check(scheduled(nest.kernel, outline(nest.body)))
    check(scheduled(nest.kernel, Outline(nest.body)))


@pytest.mark.parametrize("run", OUTLINING)
def test_a_kernel_without_such_regions_is_the_same_object(run: Callable[[Kernel], Kernel]) -> None:
    kernel = flat(pointwise(3, 8).kernel)
    assert run(kernel) is kernel
