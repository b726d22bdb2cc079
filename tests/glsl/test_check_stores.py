"""A fragment writes only what its kernel stores: which kernels are proved to, and what becomes of the others."""

from __future__ import annotations

import pytest
from nests import naive
from webnn_compile.dtypes import F32
from webnn_compile.errors import CannotExpress, InternalError
from webnn_compile.glsl.backend import WebGl
from webnn_compile.glsl.check_stores import check_stores
from webnn_compile.glsl.compose import compose
from webnn_compile.glsl.textures import place_flat
from webnn_compile.ir.forms import Map
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
    Scalar,
    Scope,
    Seq,
    Stmt,
    Store,
    Var,
)

X = Var("x", 8)
ROW = Scalar("row", 8)
IS_ROW = X.eq(ROW)
OUT = Buffer("y", (2, 1, 8, 4), F32)


def texel(layer: int, value: float = 1.0) -> Store:
    return Store(OUT, (Const(layer), Const(0), X, Ramp(Const(0), 4)), Splat(Const(value, F32), 4))


def lane(layer: int, component: int) -> Store:
    return Store(OUT, (Const(layer), Const(0), X, Const(component)), Const(1.0, F32))


def fragment(body: Stmt) -> Kernel:
    return Kernel("part", (OUT,), For(X, body, LoopKind.BLOCK), scalars=(ROW,))


BOTH = Seq((texel(0), texel(1)))
LOCAL = Buffer("sum", (1,), F32, Scope.LOCAL)


@pytest.mark.parametrize(
    "body",
    [
        BOTH,
        If(IS_ROW, BOTH),
        If(IS_ROW & (X < ROW), BOTH),
        If(IS_ROW, Seq((BOTH, If(X < ROW, texel(0, 2.0))))),
        If(IS_ROW, Seq((*(lane(0, c) for c in range(4)), texel(1)))),
        If(IS_ROW, Alloc(LOCAL, For(Var("k", 3), BOTH))),
    ],
)
def test_all_or_nothing(body: Stmt) -> None:
    check_stores(fragment(body))


@pytest.mark.parametrize(
    ("body", "component", "layer"),
    [
        (If(IS_ROW, If(X < ROW, BOTH)), 0, 0),
        (Seq((If(IS_ROW, texel(0)), If(X < ROW, texel(1)))), 0, 0),
        (If(IS_ROW, texel(0)), 0, 1),
        (If(IS_ROW, Seq((*(lane(0, c) for c in range(3)), texel(1)))), 3, 0),
        (If(IS_ROW, Seq((texel(0), If(X < ROW, texel(1))))), 0, 1),
        (If(IS_ROW, For(Var("k", 3, ROW), BOTH)), 0, 0),
        (Seq(()), 0, 0),
    ],
)
def test_a_part(body: Stmt, component: int, layer: int) -> None:
    """A path that stores some of a fragment's texels would write the others, too."""
    with pytest.raises(InternalError, match=f"kernel part: .* component {component} of layer {layer}, which"):
        check_stores(fragment(body))


def row_of(stack: tuple[int, ...]) -> Kernel:
    """A loop's kernel, which stores one row of what is stacked."""
    counter = Scalar("i", stack[0])
    x, y = Buffer("x", stack[1:], F32), Buffer("y", stack, F32)
    loops = [Var(f"d{d}", n) for d, n in enumerate(stack[1:])]
    value: Expr = Load(x, tuple(loops))
    body: Stmt = Store(y, (counter, *loops), value)
    for v in reversed(loops):
        body = For(v, body)
    return Kernel("row", (x, y), body, scalars=(counter,), row=True, forms=(Map(),))


def shader(kernel: Kernel) -> str:
    places = [place_flat(b.size) for b in kernel.params]
    return compose(WebGl().compile_kernel(kernel, places).kernel)


def test_a_row_discards_and_a_whole_result_is_padded_with_zeros() -> None:
    row = shader(row_of((300, 40)))
    assert row.count("if (") == 1
    assert row.count("else discard;") == 1
    assert "o0 = vec4(0)" not in row
    x, y = Buffer("x", (300, 40), F32), Buffer("y", (300, 40), F32)
    i, j = Var("i", 300), Var("j", 40)
    whole = shader(naive("whole", (x, y), For(i, For(j, Store(y, (i, j), Load(x, (i, j)))))))
    assert "discard" not in whole
    assert "o0 = vec4(0)" in whole


def test_a_row_of_several_layers_is_not_for_webgl() -> None:
    """Nothing would discard one layer of a fragment and not the other."""
    shader(row_of((4, 1 << 22)))
    with pytest.raises(CannotExpress, match="a row of a stack that takes several layers"):
        shader(row_of((5, 1 << 22)))
