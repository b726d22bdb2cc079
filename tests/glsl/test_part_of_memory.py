"""Kernels of few rows of memory that others fill, such as a step of one token beside prompts of many: other texels are
not computed."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_checks import run_kernel
from nests import naive
from webnn_compile.dtypes import F32
from webnn_compile.glsl.backend import fragment_kernel
from webnn_compile.glsl.textures import place_flat
from webnn_compile.ir.nodes import Buffer, Const, Expr, For, Kernel, Load, Stmt, Store, Var

COLUMNS = 12


def rows_of(count: int, memory: int) -> Kernel:
    """y[i, j] = 2 x[i, j] + 1, of `count` rows."""
    i, j = Var("i", count), Var("j", COLUMNS)
    x, y = Buffer("x", (count, COLUMNS), F32), Buffer("y", (memory, COLUMNS), F32)
    row: Expr = i if count > 1 else Const(0)
    body: Stmt = For(j, Store(y, (row, j), Load(x, (row, j)) * 2.0 + 1.0))
    return naive("rows", (x, y), For(i, body) if count > 1 else body)


@pytest.mark.parametrize(("count", "memory", "computed"), [(1, 64, 1), (3, 64, 3), (32, 64, 32), (33, 64, 64)])
def test_texels_of_other_rows_are_not_computed(count: int, memory: int, computed: int) -> None:
    """Where they are as many as those of the kernel, or more; they have poison before."""
    kernel = rows_of(count, memory)
    scheduled = fragment_kernel(kernel, {b: place_flat(b.size) for b in kernel.params})
    x = np.random.default_rng(count).random((count, COLUMNS), np.float32)
    (found,) = run_kernel(scheduled, [x.ravel()])
    rows = found.ravel()[: memory * COLUMNS].reshape(memory, COLUMNS)
    np.testing.assert_array_equal(rows[:count], 2 * x + 1)
    assert not np.isnan(rows[:computed]).any()
    assert np.isnan(rows[computed:]).all()
