"""Integers of few bits in words of memory: the same results, and words that invocations share are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_checks import Array
from webnn_compile.dtypes import F32, I8, I16, I32, U8, U16, DType
from webnn_compile.errors import CannotExpress
from webnn_compile.ir.interpret import interpret
from webnn_compile.ir.lanes import Ramp, Splat
from webnn_compile.ir.nodes import Binary, Buffer, Cast, Const, Expr, For, Kernel, Load, Seq, Store, Var
from webnn_compile.ir.rewrite import walk
from webnn_compile.ir.verify import verify_kernel
from webnn_compile.passes.pack_words import pack_words, pack_words_by_masks
from webnn_compile.passes.store_narrow import load_wide, store_narrow

NARROW = st.sampled_from((I8, U8, I16, U16))


def full(count: int, dtype: DType) -> Array:
    """Random over all of a type."""
    limits = np.iinfo(dtype.numpy)
    return np.random.default_rng(count).integers(limits.min, limits.max + 1, count).astype(dtype.numpy)


def in_words(data: Array) -> Array:
    padded = np.concatenate([data, np.full(-data.nbytes % 4 // data.itemsize, 77, data.dtype)])
    return padded.view(np.int32)


def results(kernel: Kernel, x: Array, count: int, dtype: DType) -> Array:
    """Elements that a kernel of one operand stores, in words where the kernel has them."""
    words = kernel.params[1].dtype.bytes > dtype.bytes
    y = np.zeros(count, dtype.numpy)
    held = in_words(y) if words else y
    interpret(kernel, [in_words(x) if kernel.params[0].dtype.bytes > x.itemsize else x, held])
    return held.view(dtype.numpy)[:count]


@settings(max_examples=60)
@given(
    NARROW,
    st.sampled_from((I32, F32)),
    st.integers(0, 7),
    st.integers(1, 5),
    st.sampled_from((1, 2, 4, 5)),
    st.booleans(),
    st.booleans(),
)
def test_elements_and_vectors_are_loaded_from_anywhere(
    dtype: DType, wide: DType, start: int, count: int, step: int, vectors: bool, by_masks: bool
) -> None:
    i = Var("i", count)
    x = Buffer("x", (start + step * count + 4,), dtype)
    y = Buffer("y", (4 * count,), wide)
    at: Expr = i * step + start
    stores = [Store(y, (i * 4 + lane,), Cast(wide, Load(x, (at + lane,)))) for lane in range(4)]
    if vectors:
        stores = [Store(y, (Ramp(i * 4, 4),), Cast(wide, Load(x, (Ramp(at, 4),))))]
    kernel = Kernel("read", (x, y), For(i, Seq(tuple(stores))))
    packed = pack_words(kernel, by_masks=by_masks)
    verify_kernel(packed, "pack_words")
    assert packed.params[0].dtype == I32
    data = full(x.size, dtype)
    np.testing.assert_array_equal(results(packed, data, y.size, wide), results(kernel, data, y.size, wide))


@pytest.mark.parametrize("dtype", [I8, U8, I16, U16])
def test_bits_become_floats_without_shifts(dtype: DType) -> None:
    i = Var("i", 8)
    x, y = Buffer("x", (32,), dtype), Buffer("y", (32,), F32)
    vector = Store(y, (Ramp(i * 4, 4),), Cast(F32, Load(x, (Ramp(i * 4, 4),))))
    last = Store(y, (i * 4,), Cast(F32, Load(x, (i * 4 + 3,))))
    packed = pack_words_by_masks(Kernel("read", (x, y), For(i, Seq((vector, last)))))
    assert not {n.op for n in walk(packed.body) if isinstance(n, Binary)} & {"shl", "shr"}


@settings(max_examples=20)
@given(NARROW, st.integers(1, 5), st.booleans())
def test_whole_words_are_stored(dtype: DType, count: int, vectors: bool) -> None:
    i = Var("i", count)
    x, y = Buffer("x", (4 * count,), I32), Buffer("y", (4 * count,), dtype)
    stores = [Store(y, (i * 4 + lane,), Cast(dtype, Load(x, (i * 4 + lane,)))) for lane in range(4)]
    if vectors:
        stores = [Store(y, (Ramp(i * 4, 4),), Cast(dtype, Load(x, (Ramp(i * 4, 4),))))]
    kernel = Kernel("write", (x, y), For(i, Seq(tuple(stores))))
    packed = pack_words(kernel)
    verify_kernel(packed, "pack_words")
    data = full(x.size, dtype).astype(np.int32)
    np.testing.assert_array_equal(results(packed, data, y.size, dtype), data)


@pytest.mark.parametrize(("first", "last"), [(0, 3), (1, 5)])
def test_parts_of_words_are_refused(first: int, last: int) -> None:
    x, y = Buffer("x", (8,), I32), Buffer("y", (8,), I8)
    stores = tuple(Store(y, (Const(i),), Cast(I8, Load(x, (Const(i),)))) for i in range(first, last))
    with pytest.raises(CannotExpress, match="int8"):
        pack_words(Kernel("write", (x, y), Seq(stores)))


def test_a_kernel_of_words_alone_stays_as_it_is() -> None:
    x, y = Buffer("x", (8,), I32), Buffer("y", (8,), I32)
    kernel = Kernel("copy", (x, y), Store(y, (Const(0),), Load(x, (Const(0),))))
    assert pack_words(kernel) is kernel


def test_integers_of_few_bits_are_wide_while_a_kernel_is_scheduled() -> None:
    i = Var("i", 4)
    x, y = Buffer("x", (4,), I32), Buffer("y", (4,), I32)
    kernel = Kernel("copy", (x, y), For(i, Store(y, (i,), Load(x, (i,)) + 1)))
    stored = store_narrow(kernel, {x: U8, y: I16})
    assert [b.dtype for b in stored.params] == [U8, I16]
    wide, narrow = load_wide(stored)
    assert narrow == {0: U8, 1: I16}
    assert [b.dtype for b in wide.params] == [I32, I32]


@pytest.mark.parametrize("dtype", [U8, U16])
@pytest.mark.parametrize(("first", "bits"), [(0, 4), (4, 4), (2, 2), (1, 3), (6, 2), (0, 8)])
@pytest.mark.parametrize("less", [0, 8])
def test_bits_of_elements_become_floats_without_shifts(dtype: DType, first: int, bits: int, less: int) -> None:
    i = Var("i", 5)
    x, y = Buffer("x", (20,), dtype), Buffer("y", (20,), F32)
    at = Ramp(i * 4, 4)
    shifted = Binary("shr", Cast(I32, Load(x, (at,))), Splat(Const(first), 4))
    value: Expr = Cast(F32, Binary("and", shifted, Splat(Const((1 << bits) - 1), 4)))
    value = value - Splat(Const(float(less), F32), 4) if less else value
    kernel = Kernel("bits", (x, y), For(i, Store(y, (at,), value)))
    packed = pack_words_by_masks(kernel)
    assert not any(isinstance(n, Binary) and n.op == "shr" for n in walk(packed.body))
    data, got = full(20, dtype), np.zeros(20, np.float32)
    interpret(packed, [in_words(data), got])
    np.testing.assert_array_equal(got, (data >> first & ((1 << bits) - 1)).astype(np.float32) - less)
