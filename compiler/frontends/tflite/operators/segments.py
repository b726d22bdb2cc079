"""Reductions of rows that have one number of a segment, and diagonals of matrices."""

from __future__ import annotations

from math import prod

import numpy as np

from ..call import Call, Handler
from .moved import moved

_LIMITS = {"max": "min", "min": "max"}
"""By reduction the field of np.finfo or np.iinfo that it begins from."""


def _first(dtype: str, reduction: str) -> float:
    """The result of a segment without rows."""
    if reduction in _LIMITS:
        info = np.finfo(dtype) if dtype.startswith("float") else np.iinfo(dtype)
        return getattr(info, _LIMITS[reduction])  # type: ignore[no-any-return]
    return 1 if reduction == "mul" else 0


def _segments(call: Call, count: int, reduction: str) -> None:
    """Rows of a negative number are left out: they go to a segment behind the last, which is cut off."""
    outer, shape, dtype = call.shape(1), call.shape(0), call.result().dtype
    inner = list(shape[len(outer) :])
    rows = call.node("Reshape", [call.read(0), call.integers([prod(outer), *inner])])
    numbers = call.cast(call.node("Reshape", [call.raw(1), call.integers([-1])]), "int64")
    below = call.node("Less", [numbers, call.integers(0)])
    numbers = call.node("Where", [below, call.integers(count), numbers])
    places = call.node("Unsqueeze", [numbers, call.integers([1])])
    start = call.node("Expand", [call.number(_first(dtype, reduction), dtype), call.integers([count + 1, *inner])])
    whole = call.node("ScatterND", [start, places, rows], reduction=reduction)
    call.write(call.node("Slice", [whole, *map(call.integers, ([0], [count], [0]))]))


def _segment_sum(call: Call) -> None:
    numbers = call.constant(1, "the numbers of segments")
    _segments(call, int(numbers[-1]) + 1 if numbers.size else 0, "add")


def _unsorted(reduction: str) -> Handler:
    def convert(call: Call) -> None:
        _segments(call, int(call.constant(2, "the number of segments").reshape(-1)[0]), reduction)

    return convert


def _on_diagonal(call: Call, rows: int, columns: int) -> str:
    return call.builder.constant(np.eye(rows, columns, dtype=bool), "diagonal")


def _matrix_diag(call: Call) -> None:
    size = call.shape(0)[-1]
    zero = call.number(0, call.tensor(0).dtype)

    def convert(data: list[str]) -> str:
        wide = call.node("Unsqueeze", [*data, call.integers([-1])])
        return call.node("Where", [_on_diagonal(call, size, size), wide, zero])

    moved(call, convert, 0)


def _matrix_set_diag(call: Call) -> None:
    """The diagonal is as long as the shorter side."""
    rows, columns = call.shape(0)[-2:]

    def convert(data: list[str]) -> str:
        wide = call.node("Unsqueeze", [data[1], call.integers([-1 if rows <= columns else -2])])
        return call.node("Where", [_on_diagonal(call, rows, columns), wide, data[0]])

    moved(call, convert, 0, 1)


OPERATORS: dict[str, Handler] = {
    "MATRIX_DIAG": _matrix_diag,
    "MATRIX_SET_DIAG": _matrix_set_diag,
    "SEGMENT_SUM": _segment_sum,
    "UNSORTED_SEGMENT_MAX": _unsorted("max"),
    "UNSORTED_SEGMENT_MIN": _unsorted("min"),
    "UNSORTED_SEGMENT_PROD": _unsorted("mul"),
    "UNSORTED_SEGMENT_SUM": _unsorted("add"),
}
