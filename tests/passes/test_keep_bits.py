"""keep_bits: the same numbers, without shifts."""

from __future__ import annotations

import numpy as np
import pytest
from webnn_compile.dtypes import F32, I32
from webnn_compile.ir.interpret import interpret
from webnn_compile.ir.nodes import Binary, Buffer, Cast, Const, For, Kernel, Load, Store, Var
from webnn_compile.ir.rewrite import walk
from webnn_compile.passes.keep_bits import keep_bits


def bits_of(first: int, mask: int) -> Kernel:
    x, y, i = Buffer("x", (8,), I32), Buffer("y", (8,), F32), Var("i", 8)
    bits = Binary("and", Binary("shr", Load(x, (i,)), Const(first)), Const(mask))
    return Kernel("k", (x, y), For(i, Store(y, (i,), Cast(F32, bits))))


@pytest.mark.parametrize(("first", "mask", "kept"), [(4, 15, True), (0, 3, True), (20, 15, True), (21, 15, False)])
def test_bits(first: int, mask: int, kept: bool) -> None:
    kernel = bits_of(first, mask)
    result = keep_bits(kernel)
    assert (result is not kernel) == kept
    assert kept == all(not (isinstance(n, Binary) and n.op == "shr") for n in walk(result.body))
    x = np.array([0, -1, 255, 2**31 - 1, -(2**31), 12345678, -87654321, 16], np.int32)
    want, got = np.zeros(8, np.float32), np.zeros(8, np.float32)
    interpret(kernel, [x, want])
    interpret(result, [x, got])
    np.testing.assert_array_equal(got, want)
