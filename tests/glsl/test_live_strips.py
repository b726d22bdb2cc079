"""Appends to caches draw the texels of new rows alone, wherever these lie in a texture."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import webnn_compile
from onnx_models import model, node
from webnn_compile.glsl.device import context
from webnn_compile.program.device_program import Strips


@contextmanager
def areas(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The texels of each draw."""
    gl, drawn = context(), []
    viewport = gl.glViewport

    def counted(x: int, y: int, width: int, height: int) -> None:
        drawn.append(width * height)
        viewport(x, y, width, height)

    with monkeypatch.context() as patch:
        patch.setattr(gl, "glViewport", counted)
        yield drawn


def cache(heads: int, width: int) -> Any:
    shape = (1, heads, "rows", width)
    nodes = [node("Concat", ["past", "new"], ["present"], "append", axis=2), node("Neg", ["new"], ["y"])]
    return model(nodes, {"past": (1, heads, "P", width), "new": shape}, ["present", "y"])


@pytest.mark.parametrize(
    ("heads", "width", "room", "strips"),
    [
        (1, 4, 50, 0),  # a texture of one row
        (1, 4, 2500, 1),
        (3, 8, 1100, 3),  # of which some go on in the texture's next row
        (2, 12, 700, 2),  # rows of three texels, which do not divide the texture's
        (5, 6, 700, 0),  # rows that end within a texel
        (40, 4, 100, 0),  # more heads than the texture has rows
    ],
)
def test_texels_of_an_append(heads: int, width: int, room: int, strips: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {"dims": {"rows": (1, 9), "P": (0, room)}, "states": ["past=present"]}
    compiled = webnn_compile.compile(cache(heads, width), "webgl", cache=False, **given)
    rng = np.random.default_rng(heads)
    there = np.zeros((1, heads, 0, width), np.float32)
    with areas(monkeypatch) as drawn:
        for rows in (*rng.integers(1, 10, 6), *[9] * (room // 9 - 8), 1, 2, 1):
            new = rng.standard_normal((1, heads, rows, width)).astype(np.float32)
            there = np.concatenate([there, new], axis=2)
            drawn.clear()
            compiled.run({"new": new})
            each = rows * width // 4
            assert not strips or len(drawn) == strips + 1
            assert set(drawn[:strips]) <= {each, 2 * 2048}
            assert drawn[:strips].count(each) >= strips - 1
    np.testing.assert_array_equal(compiled.save_state()["past"], there)


def test_rectangles_cover_strips_that_go_on_in_the_next_row() -> None:
    strips = Strips(first=6, length=4, period=15, count=3, width=8)
    assert list(strips.rectangles({})) == [(0, 0, 8, 2), (0, 2, 8, 2), (4, 4, 4, 1)]
