"""STRIDED_SLICE (tf.strided_slice): begin, end and strides for each dimension, and masks with bits for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..call import Call
from .moved import moved, sizes_of

_FIRST, _LAST = -(2**31), 2**31 - 1


class _Masks:
    def __init__(self, call: Call) -> None:
        o = call.options
        names = ("Begin", "End", "Ellipsis", "NewAxis", "ShrinkAxis")
        self._bits: dict[str, int] = {name: getattr(o, f"{name}Mask")() for name in names}

    def has(self, name: str, i: int) -> bool:
        return bool(self._bits[name] >> i & 1)

    def where(self, name: str, count: int) -> np.ndarray:
        return np.array([self.has(name, i) for i in range(count)])


def strided_slice(call: Call) -> None:
    """Begin and end may be computed by a run where there is no ellipsis and no new axis."""
    masks, strides = _Masks(call), [int(n) for n in call.constant(3, "the strides")]
    count, rank = len(strides), len(call.shape(0))
    fixed = call.tensor(1).data is not None and call.tensor(2).data is not None
    entries = range(count)
    placed = [i for i in entries if not masks.has("NewAxis", i) and not masks.has("Ellipsis", i)]
    if not fixed and len(placed) < count:
        raise call.unsupported("begin and end must be constant where there is an ellipsis, or a new axis")
    axes: dict[int, int] = {}
    added: list[int] = []
    dimension = place = 0  # of the operand, of the result
    for i in entries:
        if masks.has("Ellipsis", i):
            dimension, place = dimension + rank - len(placed), place + rank - len(placed)
        elif masks.has("NewAxis", i):
            added.append(place)
            place += 1
        else:
            axes[i] = dimension
            dimension += 1
            place += not masks.has("ShrinkAxis", i)
    begin, end = _fixed_bounds(call, masks, strides, placed) if fixed else _bounds(call, masks, strides)
    squeezed = [d for i, d in axes.items() if masks.has("ShrinkAxis", i)]
    steps = [1 if masks.has("ShrinkAxis", i) else strides[i] for i in placed]

    def cut(data: list[str]) -> str:
        value = data[0]
        if axes:
            value = call.node("Slice", [value, begin, end, call.integers([*axes.values()]), call.integers(steps)])
        if squeezed:
            value = call.node("Squeeze", [value, call.integers(squeezed)])
        return call.node("Unsqueeze", [value, call.integers(added)]) if added else value

    moved(call, cut, 0)


def _fixed_bounds(call: Call, masks: _Masks, strides: Sequence[int], placed: Sequence[int]) -> tuple[str, str]:
    first, last = call.constant(1, "the begin").tolist(), call.constant(2, "the end").tolist()
    for i in placed:
        if masks.has("ShrinkAxis", i):
            last[i] = _LAST if first[i] == -1 else first[i] + 1
            continue
        first[i] = (_LAST if strides[i] < 0 else 0) if masks.has("Begin", i) else first[i]
        last[i] = (_FIRST if strides[i] < 0 else _LAST) if masks.has("End", i) else last[i]
    return call.integers([first[i] for i in placed]), call.integers([last[i] for i in placed])


def _bounds(call: Call, masks: _Masks, strides: Sequence[int]) -> tuple[str, str]:
    """Begin and end that a run computes."""
    count = len(strides)
    shrunk = masks.where("ShrinkAxis", count)

    def chosen(where: np.ndarray, value: str, otherwise: str) -> str:
        return call.node("Where", [call.builder.constant(where), value, otherwise]) if where.any() else otherwise

    begin, end = sizes_of(call, 1), sizes_of(call, 2)
    after = call.node("Add", [begin, call.integers(1)])
    after = call.node("Where", [call.node("Equal", [after, call.integers(0)]), call.integers(_LAST), after])
    firsts, lasts = [_LAST if s < 0 else 0 for s in strides], [_FIRST if s < 0 else _LAST for s in strides]
    end = chosen(masks.where("End", count) & ~shrunk, call.integers(lasts), end)
    return chosen(masks.where("Begin", count) & ~shrunk, call.integers(firsts), begin), chosen(shrunk, after, end)
