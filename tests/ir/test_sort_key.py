"""Floats as integers in their order, and back."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from kernel_checks import run_kernel
from webnn_compile.dtypes import F32, F64, I32, DType
from webnn_compile.ir.nodes import Buffer, Expr, For, Kernel, Load, Store, Var
from webnn_compile.ir.sort_key import from_sort_key, sort_key


def each(values: np.ndarray, dtype: DType, of: Callable[[Expr], Expr]) -> np.ndarray:
    i = Var("i", values.size)
    x = Buffer("x", values.shape, dtype)
    result = of(Load(x, (i,)))
    y = Buffer("y", values.shape, result.dtype)
    (made,) = run_kernel(Kernel("each", (x, y), For(i, Store(y, (i,), result))), [values])
    return made


def values(dtype: DType) -> np.ndarray:
    bits = np.random.default_rng(0).integers(0, 256, (400, dtype.bytes), dtype=np.uint8)
    some = bits.reshape(-1).view(dtype.numpy)
    limits = np.finfo(dtype.numpy)
    special = [np.nan, -np.nan, np.inf, -np.inf, 0, -0.0, limits.max, limits.min, limits.smallest_subnormal]
    return np.concatenate([some, np.asarray(special, dtype.numpy)])


@pytest.mark.parametrize("dtype", [F32, F64])
def test_order(dtype: DType) -> None:
    x = values(dtype)
    for nan_lowest in (False, True):
        keys = each(x, dtype, lambda e, low=nan_lowest: sort_key(e, low))
        numbers = np.where(np.isnan(x), 0, x)
        at = np.where(np.isnan(x), -1 if nan_lowest else 1, 0)
        for a in range(0, x.size, 7):
            order = (numbers > numbers[a]).astype(int) - (numbers < numbers[a])
            expected = np.where(at == at[a], order, at - at[a])
            np.testing.assert_array_equal((keys > keys[a]).astype(int) - (keys < keys[a]), expected)
        back = each(x, dtype, lambda e, low=nan_lowest: from_sort_key(sort_key(e, low), dtype))
        np.testing.assert_array_equal(back, x)


def test_integers_are_their_own_keys() -> None:
    x = Load(Buffer("x", (), I32), ())
    assert sort_key(x) is x
    assert from_sort_key(x, I32) is x
