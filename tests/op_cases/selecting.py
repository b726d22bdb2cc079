"""Rows of operators whose results have as many elements as their data decides, and of TopK."""

from __future__ import annotations

from typing import Any

import numpy as np
from op_cases._arrays import LINES, Arrays, ints, scalar
from op_table import Array, Case

_a = Arrays(49)

SECOND = frozenset({1})


def _sparse(*shape: int, dtype: str = "float32") -> Array:
    """Zeros, and other numbers at about half of the places."""
    return (_a.integers(1, 9, *shape) * _a.bools(*shape)).astype(dtype)


def _top_k(name: str, x: Array, k: int, *, known: bool = False, opset: int = 21, **attributes: Any) -> Case:
    """`known`: k is a constant."""
    constants = SECOND if known else frozenset[int]()
    return Case(f"topk-{name}", "TopK", (x, ints(k)), attributes, opset, constants, outputs=2)


def _unique(name: str, x: Array, outputs: int = 4, **attributes: Any) -> Case:
    return Case(f"unique-{name}", "Unique", (x,), attributes, outputs=outputs)


def _boxes(batches: int, count: int) -> Array:
    """Corners, in any order."""
    near = _a.uniform(0, 6, batches, count, 2)
    far = near + _a.uniform(1, 5, batches, count, 2)
    swapped = _a.bools(batches, count, 2)
    return np.concatenate((np.where(swapped, far, near), np.where(swapped, near, far)), axis=2)


def _suppression(
    name: str, boxes: Array, scores: Array, *limits: Array | None, known: bool = False, **attributes: Any
) -> Case:
    """`limits` are the most boxes of a class, the share that may overlap and the least score."""
    constants = frozenset(range(2, 5)) if known else frozenset[int]()
    return Case(f"nonmaxsuppression-{name}", "NonMaxSuppression", (boxes, scores, *limits), attributes, 11, constants)


_TIES = np.asarray([[2, 1, 2, 1, 2], [3, 3, 3, 3, 3]], np.float32)
_SPECIAL = np.resize(np.asarray([1, np.nan, -0.0, -np.inf, 0, np.inf, -1, 1e-40], np.float32), (2, 403))
_FEW, _MANY = ints(3), ints(100)
_HALF, _LEAST = np.asarray([0.3], np.float32), np.asarray([0.4], np.float32)

CASES = [
    Case("nonzero", "NonZero", (_sparse(4, 5),)),
    Case("nonzero-1d", "NonZero", (_sparse(13),)),
    Case("nonzero-3d", "NonZero", (_sparse(2, 3, 7),), opset=9),
    Case("nonzero-scalar", "NonZero", (scalar(3),)),
    Case("nonzero-nothing", "NonZero", (np.zeros((3, 4), np.float32),)),
    Case("nonzero-empty", "NonZero", (np.zeros((3, 0), np.float32),)),
    Case("nonzero-special", "NonZero", (np.asarray([0.0, -0.0, np.nan, np.inf, 1e-30], np.float32),)),
    *(Case(f"nonzero-{t}", "NonZero", (_sparse(3, 6, dtype=t),)) for t in ("int64", "uint8", "bool")),
    Case("nonzero-constant", "NonZero", (_sparse(3, 4),), constants=frozenset({0})),
    Case("compress-axis0", "Compress", (_a.normal(3, 4, 5), _a.bools(3)), {"axis": 0}),
    Case("compress-axis1", "Compress", (_a.normal(3, 4, 5), _a.bools(4)), {"axis": 1}),
    Case("compress-negative-axis", "Compress", (_a.integers(-9, 9, 3, 4), _a.bools(3)), {"axis": -2}, 9),
    Case("compress-flat", "Compress", (_a.normal(3, 5), _a.bools(15))),
    Case("compress-short", "Compress", (_a.normal(4, 5), np.asarray([False, True])), {"axis": 0}),
    Case("compress-nothing", "Compress", (_a.normal(3, 5), np.zeros(5, bool)), {"axis": 1}),
    Case("compress-everything", "Compress", (_a.normal(3, 5), np.ones(3, bool)), {"axis": 0}),
    Case("compress-constant", "Compress", (_a.normal(3, 5), _a.bools(5)), {"axis": 1}, constants=SECOND),
    _top_k("1d", _a.normal(9), 4),
    _top_k("known", _a.normal(3, 17), 2, known=True),
    _top_k("known-many", _a.normal(2, 17), 13, known=True, opset=11),
    _top_k("first-axis", _a.normal(5, 3), 2, axis=0),
    _top_k("middle-axis", _a.normal(2, 7, 3), 3, known=True, axis=1),
    _top_k("smallest", _a.normal(3, 8), 5, largest=0),
    _top_k("smallest-known", _a.normal(3, 8), 1, known=True, largest=0, axis=0),
    _top_k("ties", _TIES, 4),
    _top_k("ties-smallest", _TIES, 4, known=True, largest=0),
    _top_k("all", _a.normal(2, 6), 6),
    _top_k("none", _a.normal(2, 6), 0),
    _top_k("none-known", _a.normal(2, 6), 0, known=True),
    _top_k("infinite", np.asarray([[np.inf, -np.inf, 0, -np.inf, np.inf, 1]], np.float32), 5),
    *(
        _top_k(f"nan-{k}{'-smallest' * (1 - largest)}{'-known' * known}", LINES, k, known=known, largest=largest)
        for k in (2, 4)
        for largest in (0, 1)
        for known in (False, True)
    ),
    _top_k("nan-sorted", np.where(_a.bools(2, 21), _a.normal(2, 21), np.float32(np.nan)), 20, known=True),
    _top_k("int64", _a.integers(-99, 99, 3, 9), 4),
    _top_k("int64-known", _a.integers(-99, 99, 3, 9), 4, known=True, largest=0),
    _top_k("uint8", _a.integers(0, 255, 7, dtype="uint8"), 3, known=True),
    _top_k("all-of-many", _a.normal(2, 67), 67, known=True, largest=0),
    _top_k("selected", _a.normal(2, 403), 21, known=True),
    _top_k("selected-smallest", _a.normal(403), 40, known=True, largest=0),
    _top_k("selected-first-axis", _a.normal(411, 3), 25, known=True, axis=0),
    _top_k("selected-ties", _a.integers(0, 4, 2, 419).astype(np.float32), 150, known=True),
    _top_k("selected-all-equal", np.full((2, 401), -2.5, np.float32), 33, known=True, largest=0),
    *(
        _top_k(f"selected-special{'-smallest' * (1 - largest)}", _SPECIAL, 90, known=True, largest=largest)
        for largest in (0, 1)
    ),
    _top_k("selected-int64", _a.integers(-(2**40), 2**40, 2, 405), 30, known=True),
    _top_k("selected-uint8", _a.integers(0, 255, 2, 407, dtype="uint8"), 30, known=True, largest=0),
    Case("topk-opset-7", "TopK", (_a.normal(3, 8),), {"k": 3}, 7, outputs=2),
    _unique("flat", _a.integers(0, 5, 3, 4).astype(np.float32)),
    _unique("by-appearance", _a.integers(0, 5, 13).astype(np.float32), sorted=0),
    _unique("int64", _a.integers(-4, 4, 11)),
    _unique("sorted-2", _a.integers(-4, 4, 11), sorted=2),
    _unique("values-alone", _a.integers(0, 4, 3, 3, dtype="int32"), 1),
    _unique("axis0", _a.integers(0, 2, 7, 2).astype(np.float32), axis=0),
    _unique("axis1", _a.integers(0, 2, 2, 7), axis=1),
    _unique("axis1-by-appearance", _a.integers(0, 2, 2, 7).astype(np.float32), axis=1, sorted=0),
    _unique("middle-axis", _a.integers(0, 2, 2, 5, 2).astype(np.float32), axis=-2),
    # As NumPy has it: in onnxruntime all elements may become one NaN.
    Case(
        "unique-nan",
        "Unique",
        (LINES,),
        outputs=4,
        expected=tuple(np.unique(LINES.reshape(-1), return_index=True, return_inverse=True, return_counts=True)),
    ),
    _unique("all-equal", np.full(6, 2.5, np.float32)),
    _suppression("runtime", _boxes(1, 9), _a.uniform(0, 1, 1, 1, 9), _FEW, _HALF, _LEAST),
    _suppression("known", _boxes(1, 9), _a.uniform(0, 1, 1, 1, 9), _FEW, _HALF, _LEAST, known=True),
    _suppression("batches", _boxes(2, 7), _a.uniform(0, 1, 2, 3, 7), _MANY, _HALF, _LEAST),
    _suppression(
        "scalar-limits", _boxes(1, 6), _a.uniform(0, 1, 1, 2, 6), scalar(2, "int64"), scalar(0.5), scalar(0.1)
    ),
    _suppression("any-score", _boxes(1, 6), _a.normal(1, 2, 6), _MANY, _HALF),
    _suppression("no-overlap", _boxes(1, 8), _a.uniform(0, 1, 1, 1, 8), _MANY),
    _suppression("no-limit", _boxes(1, 6), _a.uniform(0, 1, 1, 1, 6)),
    _suppression("nothing", _boxes(1, 6), _a.uniform(0, 0.3, 1, 2, 6), _FEW, _HALF, _LEAST, known=True),
    _suppression("none-wanted", _boxes(1, 6), _a.uniform(0, 1, 1, 1, 6), ints(0), _HALF),
    _suppression("equal-boxes", np.tile(_boxes(1, 1), (1, 5, 1)), _a.uniform(0, 1, 1, 1, 5), _FEW, _HALF),
    _suppression("equal-scores", _boxes(1, 7), np.full((1, 1, 7), 0.5, np.float32), _MANY, _HALF, known=True),
    _suppression(
        "centers", _a.uniform(1, 6, 2, 6, 4), _a.uniform(0, 1, 2, 2, 6), _MANY, _HALF, _LEAST, center_point_box=1
    ),
]
