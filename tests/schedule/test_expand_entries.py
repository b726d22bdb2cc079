"""Elements of matrices of numbers: as data, as constants, as selections."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_checks import assert_same, kernel_of
from webnn_compile.dtypes import F32
from webnn_compile.ir.entry import Entry
from webnn_compile.ir.nodes import Buffer, Const, Expr, For, Store, Var
from webnn_compile.ir.printer import print_node
from webnn_compile.ir.rewrite import walk
from webnn_compile.ir.simplify import simplify_expr
from webnn_compile.schedule.expand_entries import expand_entries
from webnn_compile.tensor import compute
from webnn_compile.tensor.evaluate import evaluate

MATRIX = ((1.0, -0.75, 3.5), (0.0, 2.25, -1.0), (4.0, 0.5, -8.0), (1.0, 1.0, 1.0), (2.0, 0.125, 6.0))


@pytest.mark.parametrize("period", [5, 3])
def test_selections_give_the_elements(period: int) -> None:
    i, j, out = Var("i", 9), Var("j", 3), Buffer("y", (9, 3), F32)
    body = For(i, For(j, Store(out, (i, j), Entry(MATRIX, i % period, j))))
    before = kernel_of(body, out)
    after = kernel_of(expand_entries(body), out)
    assert not any(isinstance(n, Entry) for n in walk(after.body))
    assert_same(before, after, "expand_entries")


def test_a_tensor_has_the_elements() -> None:
    def element(i: Expr, j: Expr) -> Expr:
        return Entry(MATRIX, i % 5, j)

    made = evaluate(compute("t", (7, 3), (), element), {})
    np.testing.assert_array_equal(made, np.asarray(MATRIX, np.float32)[np.arange(7) % 5])


def test_constant_indices_give_a_constant() -> None:
    assert simplify_expr(Entry(MATRIX, Const(2), Const(1))) == Const(0.5, F32)
    row = Entry(MATRIX, Var("i", 5), Const(1))
    assert simplify_expr(row) is row
    assert print_node(row).endswith("][i, 1]")
