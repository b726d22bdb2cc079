"""Operators that only move elements, against NumPy on random shapes and arguments."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from op_table import Case, evaluate_case
from webnn_compile.ops.movement.reshaping import dimension_groups

SHAPES = st.lists(st.integers(1, 5), min_size=0, max_size=4)


def _counted(shape: list[int]) -> np.ndarray:
    return np.arange(math.prod(shape), dtype=np.int32).reshape(shape)


@st.composite
def _two_shapes(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Two shapes of as many elements: the same prime factors, cut into dimensions at different places."""
    primes = draw(st.lists(st.sampled_from([1, 2, 3, 5]), max_size=5))
    shapes = []
    for _ in range(2):
        ordered = draw(st.permutations(primes))
        cuts = sorted(draw(st.lists(st.integers(0, len(primes)), max_size=4)))
        shapes.append([math.prod(ordered[i:j]) for i, j in zip([0, *cuts], [*cuts, len(primes)], strict=True)])
    return shapes[0], shapes[1]


@settings(max_examples=60, deadline=None)
@given(_two_shapes())
def test_reshape_keeps_the_order_of_elements(shapes: tuple[list[int], list[int]]) -> None:
    old, new = shapes
    x = _counted(old)
    case = Case("r", "Reshape", (x, np.asarray(new, np.int64)), constants=frozenset({1}))
    np.testing.assert_array_equal(evaluate_case(case)[0], x.reshape(new))


@settings(max_examples=60, deadline=None)
@given(_two_shapes())
def test_dimension_groups_have_equal_products_and_cannot_be_cut(shapes: tuple[list[int], list[int]]) -> None:
    old, new = shapes
    groups = dimension_groups(old, new)
    assert [d for olds, _ in groups for d in olds] == [d for d, e in enumerate(old) if e != 1]
    assert [d for _, news in groups for d in news] == [d for d, e in enumerate(new) if e != 1]
    for olds, news in groups:
        left = {math.prod(old[d] for d in olds[: i + 1]) for i in range(len(olds))}
        right = {math.prod(new[d] for d in news[: i + 1]) for i in range(len(news))}
        assert left & right == {math.prod(old[d] for d in olds)}


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 6),
    st.integers(-9, 9),
    st.integers(-9, 9),
    st.sampled_from([-3, -2, -1, 1, 2, 3]),
)
def test_slice_clamps_as_onnx_says(extent: int, start: int, end: int, step: int) -> None:
    first = start + extent if start < 0 else start
    last = end + extent if end < 0 else end
    # The clamping of the ONNX specification, word by word; an empty dimension has no last element.
    if step > 0:
        first, last = min(max(first, 0), extent), min(max(last, 0), extent)
    else:
        first, last = min(max(first, 0), extent - 1), min(max(last, -1), extent - 1)
    x = _counted([extent, 2])
    inputs = (x, *(np.asarray([v]) for v in (start, end, 0, step)))
    (result,) = evaluate_case(Case("s", "Slice", inputs, constants=frozenset({1, 2, 3, 4})))
    np.testing.assert_array_equal(result, x[list(range(first, last, step))])


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(["constant", "reflect", "edge", "wrap"]),
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=3),
)
def test_pad_is_numpys(mode: str, dimensions: list[tuple[int, int, int]]) -> None:
    x = _counted([e for e, _, _ in dimensions])
    pads = np.asarray([[b, a] for _, b, a in dimensions], np.int64)
    case = Case("p", "Pad", (x, pads.T.reshape(-1)), {"mode": mode}, constants=frozenset({1}))
    np.testing.assert_array_equal(evaluate_case(case)[0], np.pad(x, pads.tolist(), mode=mode))


@settings(max_examples=40, deadline=None)
@given(SHAPES, st.data())
def test_concat_undoes_split(shape: list[int], data: st.DataObject) -> None:
    shape = [*shape, data.draw(st.integers(1, 7))]
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    cuts = sorted(data.draw(st.lists(st.integers(0, shape[axis]), min_size=1, max_size=3)))
    sizes = np.diff([0, *cuts, shape[axis]])
    x = _counted(shape)
    parts = evaluate_case(Case("s", "Split", (x, sizes), {"axis": axis}, constants=frozenset({1}), outputs=len(sizes)))
    assert [p.shape[axis] for p in parts] == sizes.tolist()
    np.testing.assert_array_equal(evaluate_case(Case("c", "Concat", tuple(parts), {"axis": axis}))[0], x)


@settings(max_examples=30, deadline=None)
@given(st.permutations(range(4)), st.lists(st.integers(1, 4), min_size=4, max_size=4))
def test_transpose_is_numpys(perm: list[int], shape: list[int]) -> None:
    x = _counted(shape)
    (result,) = evaluate_case(Case("t", "Transpose", (x,), {"perm": perm}))
    np.testing.assert_array_equal(result, x.transpose(perm))
