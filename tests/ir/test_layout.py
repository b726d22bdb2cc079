"""Layouts: where elements lie, and back; padding is zero."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from webnn_compile.dtypes import F32
from webnn_compile.ir.layout import Block, Layout
from webnn_compile.ir.nodes import Const, Expr, Var
from webnn_compile.ir.rewrite import substitute
from webnn_compile.ir.simplify import simplify_expr


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """Up to four axes in any order, padded, rounded up, some of them blocked."""
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=0, max_size=4)))
    rank = len(shape)
    order = tuple(draw(st.permutations(range(rank))))
    pad = tuple((draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in shape)
    align = tuple(draw(st.sampled_from([1, 1, 2, 3, 4])) for _ in shape)
    blocked = draw(st.lists(st.integers(0, rank - 1), unique=True, max_size=2)) if rank else []
    sizes = [draw(st.sampled_from([2, 4, 6])) for _ in blocked]
    blocks = tuple(Block(axis, size, size + draw(st.integers(0, 2))) for axis, size in zip(blocked, sizes, strict=True))
    return Layout(shape, order, pad, align, blocks)


def numbered(layout: Layout) -> np.ndarray:
    return np.arange(1, 1 + int(np.prod(layout.shape)), dtype=np.float32).reshape(layout.shape)


def at(indices: tuple[Expr, ...], env: dict[Var, int]) -> tuple[int, ...]:
    values = [simplify_expr(substitute(i, {v: Const(n) for v, n in env.items()})) for i in indices]
    assert all(isinstance(v, Const) for v in values)
    return tuple(int(v.value) for v in values if isinstance(v, Const))


@given(layouts())
def test_packing_and_back(layout: Layout) -> None:
    data = numbered(layout)
    packed = layout.pack(data)
    assert packed.shape == layout.physical_shape == layout.buffer("x", F32).shape
    np.testing.assert_array_equal(layout.unpack(packed), data)


@given(layouts())
def test_what_is_not_an_element_is_zero(layout: Layout) -> None:
    packed = layout.pack(numbered(layout))
    assert np.count_nonzero(packed) == int(np.prod(layout.shape))


@given(layouts())
def test_index_finds_the_element(layout: Layout) -> None:
    data = numbered(layout)
    packed = layout.pack(data)
    axes = tuple(Var("i", n) for n in layout.shape)
    place = layout.index(axes)
    for logical in np.ndindex(*layout.shape):
        assert packed[at(place, dict(zip(axes, logical, strict=True)))] == data[logical]


@given(layouts())
def test_logical_is_the_inverse_of_index(layout: Layout) -> None:
    axes = tuple(Var("i", n) for n in layout.shape)
    back = layout.logical(layout.index(axes))
    for logical in np.ndindex(*layout.shape):
        assert at(back, dict(zip(axes, logical, strict=True))) == logical


@given(layouts())
def test_extents_are_multiples(layout: Layout) -> None:
    for axis, step in enumerate(layout.align):
        assert layout.extent(axis) % step == 0
        assert layout.extent(axis) >= layout.shape[axis] + sum(layout.pad[axis])


def test_channels_last() -> None:
    layout = Layout.channels_last((1, 3, 4, 5), align=4, pad=((1, 1), (2, 0)))
    assert layout.physical_shape == (1, 6, 7, 4)
    i = Var("i", 3)
    assert layout.index((Const(0), i, Const(0), Const(0))) == (Const(0), Const(0) + 1, Const(0) + 2, i)
    assert not layout.is_row_major
    assert Layout.row_major((2, 3)).is_row_major
