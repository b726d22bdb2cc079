"""Names, shared expressions, hoisted indices and variables of printed kernels."""

from __future__ import annotations

import re

from webnn_compile.c.prelude import Prelude
from webnn_compile.c.render import render_kernel
from webnn_compile.dtypes import F32, I32
from webnn_compile.ir.construct import select
from webnn_compile.ir.lanes import Ramp, Splat
from webnn_compile.ir.nodes import (
    Alloc,
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
from webnn_compile.wgsl import render

X, Y, Z = (Buffer(name, (64,), F32) for name in "xyz")
I, J = Var("i", 4), Var("j", 8)


def lines(body: Stmt, *params: Buffer) -> list[str]:
    """The statements of the printed kernel, without indentation."""
    text = render(Kernel("k", params or (X, Y), body))
    return [line.strip() for line in text.split("{\n", 1)[1].splitlines() if line.strip() != "}"]


def test_an_expression_used_twice_has_a_name() -> None:
    e = Load(X, (Const(3),)) * 2.0
    assert lines(Store(Y, (Const(0),), e + e)) == ["let t0 = b0[3] * 2.0f;", "b1[0] = t0 + t0;"]


def test_equal_expressions_are_one_whatever_objects_they_are() -> None:
    one, other = (Load(X, (I + 3,)) for _ in range(2))
    assert lines(For(I, Store(Y, (I,), one * other))) == [
        "for (var i_0 = 0; i_0 < 4; i_0++) {",
        "let t0 = b0[i_0 + 3];",
        "b1[i_0] = t0 * t0;",
    ]


def test_vectors_at_one_place_differ_by_their_lanes() -> None:
    body = Seq(tuple(Store(Y, (Ramp(Const(n), n),), Load(X, (Ramp(Const(0), n),))) for n in (8, 16)))
    text = render_kernel(Kernel("k", (X, Y), body), "k", Prelude())
    assert re.findall(r"= (.*);", text) == ["*(const f32x8 *)&b0[0]", "*(const f32x16 *)&b0[0]"]


def test_zeros_of_either_sign_differ() -> None:
    body = Seq((Store(Y, (Const(0),), Const(0.0, F32)), Store(Y, (Const(1),), Const(-0.0, F32))))
    assert lines(body) == ["b1[0] = 0.0f;", "b1[1] = -0.0f;"]


def test_a_load_is_forgotten_when_its_buffer_is_stored_to() -> None:
    read = Load(Y, (Const(0),))
    body = Seq((Store(Y, (Const(1),), read), Store(Y, (Const(2),), read + read)))
    assert lines(body, X, Y) == ["b1[1] = b1[0];", "let t0 = b1[0];", "b1[2] = t0 + t0;"]


def test_what_a_loop_stores_is_not_known_in_it() -> None:
    read = Load(Y, (Const(0),))
    body = Seq((Store(Z, (Const(0),), read * read), For(I, Store(Y, (Const(0),), read + 1.0))))
    found = lines(body, X, Y, Z)
    assert found[-1] == "b1[0] = b1[0] + 1.0f;"


def test_indices_are_computed_before_the_loops_in_which_they_stay() -> None:
    body = For(I, For(J, Store(Y, (I * 8 + J,), Load(X, (J * 4 + I,)))))
    assert lines(body) == [
        "for (var i_0 = 0; i_0 < 4; i_0++) {",
        "let t0 = i_0 * 8;",
        "for (var j_0 = 0; j_0 < 8; j_0++) {",
        "b1[t0 + j_0] = b0[i_0 + j_0 * 4];",
    ]


def test_nothing_is_moved_out_of_a_condition_alone() -> None:
    body = For(I, If(Const(1) < I, Store(Y, (I * 8 + 3,), Const(1.0, F32))))
    assert lines(body)[1:] == ["if (1 < i_0) {", "b1[i_0 * 8 + 3] = 1.0f;"]


def test_a_loop_that_stands_twice_at_different_depths() -> None:
    store = Store(Y, (J * 8,), Load(X, (J * 8,)))
    found = lines(Seq((For(J, store), For(I, For(J, store)))))
    assert found[-2:] == ["let t1 = j_1 * 8;", "b1[t1] = b0[t1];"]
    assert "j_1" in found[-3]


def test_local_buffers_are_variables_where_elements_are_known() -> None:
    acc = Buffer("acc", (2,), F32, Scope.LOCAL)
    start = Seq((Store(acc, (Const(0),), Const(0.0, F32)), Store(acc, (Const(1),), Const(1.0, F32))))
    step = For(J, Store(acc, (Const(0),), Load(acc, (Const(0),)) + Load(X, (J,))))
    end = Store(Y, (Const(0),), Load(acc, (Const(0),)) * Load(acc, (Const(1),)))
    assert lines(Alloc(acc, Seq((start, step, end)))) == [
        "var acc_0_0 = 0.0f;",
        "var acc_0_1 = 1.0f;",
        "for (var j_0 = 0; j_0 < 8; j_0++) {",
        "acc_0_0 = acc_0_0 + b0[j_0];",
        "b1[0] = acc_0_0 * acc_0_1;",
    ]


def test_vectors_of_a_local_buffer_are_vector_variables() -> None:
    acc = Buffer("acc", (4,), F32, Scope.LOCAL)
    whole = Ramp(Const(0), 4)
    body = Seq((Store(acc, (whole,), Splat(Const(2.0, F32), 4)), Store(Y, (Const(0),), Load(acc, (Const(2),)))))
    assert lines(Alloc(acc, body)) == ["var acc_0 = vec4f(2.0f);", "b1[0] = acc_0.z;"]


def test_a_variable_that_a_loop_stores_first_is_declared_before_it() -> None:
    acc = Buffer("acc", (1,), F32, Scope.LOCAL)
    zero = (Const(0),)
    body = Seq((For(J, Store(acc, zero, Load(X, (J,)))), Store(Y, zero, Load(acc, zero))))
    assert lines(Alloc(acc, body))[0] == "var acc_0: f32;"


def test_long_expressions_are_cut() -> None:
    e: Expr = Load(X, (Const(0),))
    for n in range(100):
        e = select(e < float(n), float(n), Load(X, (Const(n % 60),)) * 3.0)
    longest = max(len(re.findall(r"\(", line)) for line in lines(Store(Y, (Const(0),), e)))
    assert longest < 60


def test_names_are_never_words_of_the_language() -> None:
    loop = Var("for", 4)
    assert lines(For(loop, Store(Y, (loop,), Const(0.0, F32))))[0].startswith("for (var for_0 = 0;")


def test_integers_that_bracket() -> None:
    n = Buffer("n", (64,), I32)
    value = (Load(n, (I,)) & 3) + (Load(n, (I,)) & 4) * 2
    assert lines(For(I, Store(n, (I,), value), LoopKind.THREAD), n)[-1] == "b0[thread_x] = (t0 & 3) + (t0 & 4) * 2;"
