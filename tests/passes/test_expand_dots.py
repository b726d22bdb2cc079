"""Products of words are the same in other operations, in lanes too."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_checks import run_kernel
from webnn_compile.dtypes import I16, I32, DType
from webnn_compile.ir.nodes import Binary, Buffer, For, Kernel, Load, LoopKind, Store, Var
from webnn_compile.ir.rewrite import walk
from webnn_compile.ir.scalar_ops import DOTS
from webnn_compile.ir.verify import verify_kernel
from webnn_compile.passes.expand_dots import expand_dots
from webnn_compile.passes.flatten_indices import flatten_indices
from webnn_compile.passes.vectorize_loops import vectorize_loops


@pytest.mark.parametrize("words", [I16, I32], ids=str)
@pytest.mark.parametrize("kind", [LoopKind.SERIAL, LoopKind.VECTOR])
def test_products_of_words(words: DType, kind: LoopKind) -> None:
    i = Var("i", 8)
    x, z, y = Buffer("x", (8,), I32), Buffer("z", (8,), words), Buffer("y", (8,), I32)
    store = Store(y, (i,), Binary("dot_pairs", Load(x, (i,)), Load(z, (i,))))
    before = vectorize_loops(flatten_indices(Kernel("k", (x, z, y), For(i, store, kind))))
    after = expand_dots(before)
    verify_kernel(after, "expand_dots")
    assert not any(isinstance(n, Binary) and n.op in DOTS for n in walk(after.body))
    generator = np.random.default_rng(0)
    a = generator.integers(-(2**15), 2**15, 16).astype(np.int16)
    half = np.int16 if words == I32 else np.int8
    b = generator.integers(np.iinfo(half).min, np.iinfo(half).max, 16, endpoint=True).astype(half)
    arrays = [a.view(np.int32), b.view(words.numpy)]
    want = (a.astype(np.int64) * b).reshape(8, 2).sum(1)
    for kernel in (before, after):
        np.testing.assert_array_equal(run_kernel(kernel, arrays)[0], want)


def test_other_kernels_stay() -> None:
    i = Var("i", 8)
    x, y = Buffer("x", (8,), I32), Buffer("y", (8,), I32)
    kernel = Kernel("k", (x, y), For(i, Store(y, (i,), Load(x, (i,)) * Load(x, (i,)))))
    assert expand_dots(kernel) is kernel
