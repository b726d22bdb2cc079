"""Counts of the texels that a fragment fetches."""

from __future__ import annotations

import pytest
from webnn_compile.dtypes import F32, I32
from webnn_compile.ir.nodes import Buffer, Cast, Const, Expr, Load, Select, Unary, Var
from webnn_compile.schedule.rules.fragment_reduction import fetches

V, W, OTHER = Var("v", 6), Var("w", 3), Var("other", 9)
TABLE = Buffer("table", (6,), I32)


@pytest.mark.parametrize(
    ("index", "count"),
    [
        (OTHER, 1),
        (V, 2),
        (V * 4 + OTHER, 6),
        (V + W, 2),
        (Select(V < 2, V, V + 20), 3),
        (Cast(I32, Unary("floor", Cast(F32, V) * 0.5)), 1),
        (Load(TABLE, (V,)), 6),
        (Load(TABLE, (Const(0),)) + W, 3),
    ],
)
def test_texels_of_an_index(index: Expr, count: int) -> None:
    x = Buffer("x", (5, 64), F32)
    assert fetches([Load(x, (Const(0), index))], {V: V.extent, W: W.extent}) == count


def test_texels_of_loads_without_indices() -> None:
    assert fetches([Load(Buffer("x", (), F32), ())] * 2, {V: V.extent}) == 2
