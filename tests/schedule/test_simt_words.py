"""Results of which a word of memory holds several elements: every invocation stores whole words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_checks import Array
from nests import naive
from webnn_compile.dtypes import I8, I32
from webnn_compile.ir.interpret import interpret
from webnn_compile.ir.layout import Block, Layout
from webnn_compile.ir.nodes import Buffer, For, Kernel, Load, Select, Stmt, Store, Var
from webnn_compile.ir.verify import verify_kernel
from webnn_compile.passes.store_narrow import store_narrow
from webnn_compile.schedule.schedule_simt import schedule_simt
from webnn_compile.simt.lower import lower
from webnn_compile.target import WEBGPU


def shifted(layout: Layout) -> Kernel:
    """y[i, j, ...] = x[...] - 3 in `layout`, of which the loops are over the logical elements; some by a selection."""
    loops = tuple(Var(name, n) for name, n in zip("ijk", layout.shape, strict=False))
    x, y = Buffer("x", layout.shape, I32), layout.buffer("y", I32)
    value = Select(loops[0] < 2, Load(x, loops) - 3, Load(x, loops))
    body: Stmt = Store(y, layout.index(loops), value)
    for axis in reversed(layout.order):
        body = For(loops[axis], body)
    return naive("shifted", (x, y), body)


def results(kernel: Kernel, x: Array) -> Array:
    y = np.zeros(kernel.params[1].shape, kernel.params[1].dtype.numpy)
    interpret(kernel, [x.reshape(kernel.params[0].shape), y])
    return y.reshape(-1)


@settings(max_examples=30)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=3), st.sampled_from((1, 4)), st.booleans(), st.booleans())
def test_results_of_any_shape(shape: list[int], align: int, turned: bool, blocked: bool) -> None:
    rank = len(shape)
    order = tuple(reversed(range(rank))) if turned else tuple(range(rank))
    blocks = (Block(0, 2, 2),) if blocked else ()
    layout = replace(Layout.row_major(tuple(shape)), order=order, align=(align,) * rank, blocks=blocks)
    kernel = shifted(layout)
    scheduled = schedule_simt(kernel, WEBGPU, words=True)
    verify_kernel(scheduled, "schedule_simt")
    x = np.random.default_rng(0).integers(-100, 100, shape).astype(np.int32)
    want = results(kernel, x)
    np.testing.assert_array_equal(results(scheduled, x)[: want.size], want)
    lowered = lower(store_narrow(scheduled, {scheduled.params[1]: I8}))
    verify_kernel(lowered, "lower")
    got = results(lowered, x).view(np.int8)
    np.testing.assert_array_equal(got[: want.size], want)


@pytest.mark.parametrize(("extents", "vectors"), [((8, 12), True), ((5, 3), False)])
def test_vectors_where_they_are_whole_words(extents: tuple[int, ...], vectors: bool) -> None:
    scheduled = schedule_simt(shifted(Layout.row_major(extents)), WEBGPU, words=True)
    assert (scheduled.params[1].shape == extents) == vectors
