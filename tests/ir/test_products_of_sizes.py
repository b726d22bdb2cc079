"""Quotients and remainders by products of sizes, over every value of small variables and sizes."""

from __future__ import annotations

import pytest
from index_expressions import iterations, value
from webnn_compile.ir.affine import affine
from webnn_compile.ir.nodes import Expr, Scalar, Var

H, W = Scalar("h", 4, low=1), Scalar("w", 4, low=1)
MATRIX, ROW, COLUMN = Var("matrix", 9), Var("row", 3, H), Var("column", 3, W)
GROUP = Var("group", 3)
NUMBER = (MATRIX * H + ROW) * W + COLUMN
AREA = H * W

SIMPLER: list[tuple[Expr, Expr]] = [
    (NUMBER // (AREA * 4), MATRIX // 4),
    (NUMBER % (AREA * 4), (MATRIX % 4) * H * W + ROW * W + COLUMN),
    (NUMBER % (AREA * 4) // AREA, MATRIX % 4),
    (NUMBER % (AREA * 4) // W % H, ROW),
    (NUMBER % (AREA * 4) % W, COLUMN),
    (NUMBER // (AREA * 4) * 4 + NUMBER % (AREA * 4) // AREA, MATRIX),
    (NUMBER // (W * 3), affine((MATRIX * H + ROW) // 3).to_expr()),
    ((GROUP * H * W * 6 + NUMBER) // (AREA * 3), GROUP * 2 + MATRIX // 3),
    ((NUMBER - AREA) // (AREA * 4), affine((MATRIX - 1) // 4).to_expr()),
]


@pytest.mark.parametrize("example", range(len(SIMPLER)))
def test_a_factor_of_some_terms_is_cancelled(example: int) -> None:
    before, after = SIMPLER[example]
    assert affine(before) == affine(after)
    _check_equal(before, after)


@pytest.mark.parametrize(
    "e",
    [
        (MATRIX * H * W + ROW * W + COLUMN * 2) // (AREA * 4),
        (MATRIX * H * W + ROW * W - COLUMN) % (AREA * 4),
        (MATRIX * H + ROW * W) // (AREA * 4),
        NUMBER % (AREA * 4 + 1),
        (NUMBER + 1) // (AREA * 4),
    ],
)
def test_what_the_other_terms_may_exceed_stays(e: Expr) -> None:
    form = affine(e)
    assert any(a.op == e.op for a, _ in form.terms)  # type: ignore[attr-defined]
    _check_equal(e, form.to_expr())


def _check_equal(e: Expr, form: Expr) -> None:
    for at in iterations((H, W, GROUP, MATRIX, ROW, COLUMN), {}):
        assert value(e, at) == value(form, at), at
