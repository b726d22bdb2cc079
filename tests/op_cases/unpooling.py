"""Rows of Col2Im and MaxUnpool."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from op_cases._arrays import Arrays, ints
from op_table import Array, Case, reference

_a = Arrays(92)
_x = _a.normal


def _col2im(id: str, x: Array, image: tuple[int, ...], block: tuple[int, ...], **attributes: Any) -> Case:
    inputs = (x, ints(*image), ints(*block))
    return Case(f"col2im-{id}", "Col2Im", inputs, attributes, 18, constants=frozenset({1, 2}))


_COL2IM = [
    _col2im("apart", _x(1, 5, 5), (5, 5), (1, 5)),
    _col2im("overlap", _x(2, 18, 12), (5, 6), (3, 3)),
    _col2im("strides", _x(1, 12, 9), (7, 8), (2, 3), strides=[2, 2]),
    _col2im("strides-wider", _x(1, 8, 6), (8, 7), (2, 2), strides=[3, 4], pads=[1, 0, 1, 1]),
    _col2im("pads", _x(2, 6, 54), (5, 7), (3, 2), pads=[1, 0, 2, 3]),
    _col2im("dilations", _x(1, 12, 9), (6, 7), (2, 3), dilations=[3, 2], pads=[0, 0, 0, 0]),
    _col2im("dilations-strides", _x(1, 6, 6), (7, 6), (2, 3), dilations=[2, 2], strides=[2, 1], pads=[0, 0, 0, 0]),
    _col2im("3d", _x(1, 16, 12), (3, 4, 3), (2, 2, 2), strides=[1, 1, 1]),
    _col2im("1d", _x(2, 8, 9), (20,), (4,), strides=[2]),
    _col2im("float64", _x(1, 8, 12).astype(np.float64), (4, 5), (2, 2)),
]


def _pooled(id: str, x: Array, kernel: tuple[int, ...], **attributes: Any) -> Case:
    """Numbers other than the maxima, placed where these were."""
    strides, pads = attributes.get("strides", (1,) * len(kernel)), attributes.get("pads", (0,) * 2 * len(kernel))
    places = _places(x, kernel, strides, pads)
    attributes["kernel_shape"] = list(kernel)
    return Case(f"maxunpool-{id}", "MaxUnpool", (_x(*places.shape), places), attributes, 11)


def _larger() -> Case:
    """With zeros at the end: places are those of the smaller result, in onnxruntime those of the larger one."""
    case = _pooled("larger", _x(1, 2, 6, 6), (2, 2), strides=[2, 2])
    (small,) = reference(case)
    whole = np.pad(small, [(0, 0), (0, 0), (0, 1), (0, 2)])
    return replace(case, inputs=(*case.inputs, ints(*whole.shape)), constants=frozenset({2}), expected=(whole,))


def _places(x: Array, kernel: tuple[int, ...], strides: tuple[int, ...], pads: tuple[int, ...]) -> Array:
    """The places of the maxima of windows in the whole of `x`."""
    rank = len(kernel)
    around = [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:], strict=True)]
    numbers = np.pad(np.arange(x.size).reshape(x.shape), around)
    padded = np.pad(x, around, constant_values=-np.inf)
    axes = tuple(range(2, 2 + rank))
    at = (slice(None), slice(None), *(slice(None, None, s) for s in strides))
    windows, numbered = (
        np.lib.stride_tricks.sliding_window_view(a, kernel, axes)[at].reshape(*a.shape[:2], -1, int(np.prod(kernel)))
        for a in (padded, numbers)
    )
    best = np.take_along_axis(numbered, windows.argmax(-1)[..., None], -1)
    shape = [(n - k) // s + 1 for n, k, s in zip(padded.shape[2:], kernel, strides, strict=True)]
    return np.asarray(best.reshape(*x.shape[:2], *shape), np.int64)


_UNPOOL = [
    _pooled("apart", _x(2, 3, 6, 8), (2, 2), strides=[2, 2]),
    _pooled("overlap", _x(1, 2, 7, 9), (3, 3), strides=[2, 2]),
    _pooled("every-place", _x(1, 2, 5, 6), (2, 3)),
    _pooled("gaps", _x(1, 2, 8, 7), (2, 1), strides=[3, 2]),
    _pooled("pads", _x(2, 2, 5, 7), (3, 3), strides=[2, 2], pads=[1, 1, 1, 1]),
    _pooled("1d", _x(2, 3, 9), (3,), strides=[3]),
    _pooled("3d", _x(1, 2, 4, 5, 6), (2, 1, 3), strides=[2, 1, 3]),
    _larger(),
]

CASES = [*_COL2IM, *_UNPOOL]
