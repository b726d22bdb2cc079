"""Constants copied by strides: every layout from every other, to buffers and to images."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from glsl.test_fragments import texel_of
from webnn_compile.execution.arrange import arrange
from webnn_compile.glsl.textures import place_flat, place_image, texel_order
from webnn_compile.gpu.find_arrangement import find_arrangement
from webnn_compile.ir.layout import Block, Layout
from webnn_compile.program.device_program import Placement, Subdimension

SHAPES = [(12,), (8, 6), (16, 3, 2), (24, 5, 3, 3), (7, 4), (1, 9)]


def layouts(shape: tuple[int, ...]) -> list[Layout]:
    n = len(shape)
    none, ones = ((0, 0),) * n, (1,) * n
    orders = [tuple(range(n)), tuple(reversed(range(n))), (*range(1, n), 0)]
    made = [Layout(shape, o, none, ones) for o in orders]
    made += [Layout(shape, o, none, tuple(4 if a == o[-1] else 1 for a in range(n))) for o in orders]
    made += [Layout(shape, orders[2], none, ones, (Block(0, block, block),)) for block in (4, 8)]
    made += [Layout(shape, (*range(2, n), 1, 0), none, ones, (Block(1, 2, 2), Block(0, 4, 4)))] if n > 1 else []
    return list(dict.fromkeys(made))


def expected(data: np.ndarray, wanted: Layout, place: Placement | None) -> np.ndarray:
    packed = wanted.pack(data)
    if place is None:
        return packed.reshape(-1)
    texture = np.zeros((place.layers, place.height, place.width, 4), data.dtype)
    for index in np.ndindex(packed.shape):
        texture[texel_of(place, packed.shape, index)] = packed[index]
    return texture.reshape(-1)


def order_in(wanted: Layout, place: Placement | None) -> tuple[Subdimension, ...] | None:
    return None if place is None else texel_order(wanted.physical_shape, place)


@pytest.mark.parametrize("shape", [(5,), (9,), (3, 4), (17, 6), (2, 23, 5), (3, 2, 1, 9), (2049, 3), (4, 600, 300)])
def test_the_order_of_texels_is_that_of_coordinates(shape: tuple[int, ...]) -> None:
    """Each element stands in the image where counting through the order puts it; tall images among them."""
    assert texel_order(shape, place_flat(int(np.prod(shape)))) is None
    place = place_image(shape)
    assert place is not None
    order = texel_order(shape, place)
    assert order is not None
    extents = [o.extent for o in order]
    assert np.prod(extents) == place.width * place.height * place.layers * 4
    generator = np.random.default_rng(0)
    for index in (generator.integers(0, shape) for _ in range(50)):
        counts = [index[o.dim] // o.step % o.extent for o in order]
        at = texel_of(place, shape, tuple(map(int, index)))
        texture = (place.layers, place.height, place.width, 4)
        assert np.ravel_multi_index(counts, extents) == np.ravel_multi_index(at, texture)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_copies_are_what_packing_is(shape: tuple[int, ...]) -> None:
    data = np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)
    found = 0
    for there, wanted in product(layouts(shape), repeat=2):
        for place in (None, place_image(wanted.physical_shape)):
            dimensions = find_arrangement(there, wanted, order_in(wanted, place))
            if dimensions is None:
                assert there.blocks or wanted.blocks, (there, wanted, place)
                continue
            found += 1
            made = arrange(there.pack(data).reshape(-1), dimensions, shape)
            np.testing.assert_array_equal(made, expected(data, wanted, place), err_msg=f"{there} {wanted} {place}")
    assert found > 10


def test_weights_of_wasm_go_straight_into_images() -> None:
    """Panels of 8 output channels, to the image that a fragment reads: no kernel needed."""
    shape = (64, 32, 3, 3)
    none, ones = ((0, 0),) * 4, (1,) * 4
    panels = Layout(shape, (0, 2, 3, 1), none, ones, (Block(0, 8, 8),))
    wanted = Layout(shape, (2, 3, 1, 0), none, ones)
    dimensions = find_arrangement(panels, wanted, order_in(wanted, place_image(wanted.physical_shape)))
    assert dimensions is not None
    data = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    made = arrange(panels.pack(data).reshape(-1), dimensions, shape)
    np.testing.assert_array_equal(made, expected(data, wanted, place_image(wanted.physical_shape)))


def test_borders_are_not_copied() -> None:
    padded = Layout((4, 4), (0, 1), ((1, 1), (0, 0)), (1, 1))
    assert find_arrangement(Layout.row_major((4, 4)), padded) is None


def test_blocks_with_room_after_them_are_not_copied() -> None:
    none, ones = ((0, 0),) * 2, (1, 1)
    tight, roomy = (Layout((8, 8), (0, 1), none, ones, (Block(0, 4, room),)) for room in (4, 5))
    assert find_arrangement(tight, Layout.row_major((8, 8))) is not None
    assert find_arrangement(roomy, Layout.row_major((8, 8))) is None
    assert find_arrangement(Layout.row_major((8, 8)), roomy) is None
