"""The interpreter of kernels: order, guards, and accesses out of range."""

from __future__ import annotations

import numpy as np
import pytest
from nests import matrix_product, padded_sum
from webnn_compile.dtypes import F32, I32
from webnn_compile.errors import InternalError
from webnn_compile.ir.interpret import interpret
from webnn_compile.ir.lanes import Ramp
from webnn_compile.ir.nodes import Alloc, Buffer, Const, For, Kernel, Load, Scope, Seq, Store, Var


def test_a_matrix_product() -> None:
    generator = np.random.default_rng(0)
    a, b = generator.standard_normal((3, 5)).astype(np.float32), generator.standard_normal((5, 4)).astype(np.float32)
    c = np.full((3, 4), np.nan, np.float32)
    interpret(matrix_product(3, 4, 5).kernel, [a, b, c])
    np.testing.assert_allclose(c, a @ b, rtol=1e-5, atol=1e-6)


def test_a_guarded_load_is_zero_outside() -> None:
    x, y = np.arange(8, dtype=np.float32).reshape(4, 2), np.full((4, 2), np.nan, np.float32)
    interpret(padded_sum(4, 3, 1).kernel, [x, y])
    np.testing.assert_array_equal(y[:, 0], [0 + 2, 0 + 2 + 4, 2 + 4 + 6, 4 + 6])


def test_statements_run_in_order() -> None:
    """A sum that reads what the iteration before has stored."""
    i = Var("i", 5)
    y = Buffer("y", (6,), I32)
    step = For(i, Store(y, (i + 1,), Load(y, (i,)) + i), parallel=False)
    out = np.zeros(6, np.int32)
    interpret(Kernel("running_sum", (y,), Seq((Store(y, (Const(0),), Const(10)), step))), [out])
    np.testing.assert_array_equal(out, [10, 10, 11, 13, 16, 20])


def test_a_load_that_is_shared_sees_what_was_stored_between() -> None:
    """One node in three statements: values are kept only as long as nothing that they depend on changes."""
    i, y = Var("i", 2), Buffer("y", (4,), I32)
    shared = Load(y, (Const(0),)) + i
    body = Seq((Store(y, (i + 1,), shared), Store(y, (Const(0),), shared * 10), Store(y, (Const(3),), shared)))
    out = np.array([1, 0, 0, 0], np.int32)
    interpret(Kernel("k", (y,), For(i, body)), [out])
    np.testing.assert_array_equal(out, [110, 1, 11, 111])


def test_local_memory_holds_nan_at_first() -> None:
    y, acc = Buffer("y", (), F32), Buffer("acc", (), F32, Scope.LOCAL)
    out = np.zeros((), np.float32)
    interpret(Kernel("k", (y,), Alloc(acc, Store(y, (), Load(acc, ())))), [out])
    assert np.isnan(out)


@pytest.mark.parametrize("index", [Const(4), Const(-1), Ramp(Const(1), 4), Load(Buffer("n", (1,), I32), (Const(1),))])
def test_an_access_out_of_range(index: object) -> None:
    x, y, n = Buffer("x", (4,), F32), Buffer("y", (), F32), Buffer("n", (1,), I32)
    if isinstance(index, Load):
        index = Load(n, index.indices)
    kernel = Kernel("k", (x, n, y), Store(y, (), Load(x, (index,))))  # type: ignore[arg-type]
    with pytest.raises(InternalError, match=r"kernel k: access to Buffer\([xn].* is out of range"):
        interpret(kernel, [np.zeros(4, np.float32), np.zeros(1, np.int32), np.zeros((), np.float32)])


@pytest.mark.parametrize("given", [np.zeros(3, np.float32), np.zeros(4, np.float64)])
def test_an_array_that_does_not_fit(given: np.ndarray) -> None:
    y = Buffer("y", (4,), F32)
    i = Var("i", 4)
    with pytest.raises(ValueError, match="given as"):
        interpret(Kernel("k", (y,), For(i, Store(y, (i,), Const(0.0, F32)))), [given])
