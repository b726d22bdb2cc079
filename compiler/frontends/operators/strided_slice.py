"""Strided slices (tf.strided_slice): begin, end and strides for each dimension, and masks with bits for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..converted_call import ConvertedCall

_FIRST, _LAST = -(2**31), 2**31 - 1


@dataclass(frozen=True, slots=True)
class Masks:
    """Bit i is that of the entry i: it begins at the first element, ends behind the last, stands for all dimensions
    between those before and behind, adds a dimension, or takes one away."""

    begin: int = 0
    end: int = 0
    ellipsis: int = 0
    new_axis: int = 0
    shrink_axis: int = 0

    def is_new(self, i: int) -> bool:
        """An ellipsis has no other bit that counts."""
        return bool(self.new_axis >> i & 1) and not self.is_ellipsis(i)

    def is_ellipsis(self, i: int) -> bool:
        return bool(self.ellipsis >> i & 1)

    def is_shrunk(self, i: int) -> bool:
        return bool(self.shrink_axis >> i & 1) and not self.is_new(i)


Bounds = Sequence[int] | str
"""Numbers, or an int64 vector that a run computes."""


def strided_slice(
    call: ConvertedCall, value: str, begin: Bounds, end: Bounds, strides: Sequence[int], masks: Masks
) -> str:
    """The slice of `value`. Raises ValueError where begin or end is computed and there is an ellipsis or a new axis."""
    entries = range(len(strides))
    placed = [i for i in entries if not masks.is_new(i) and not masks.is_ellipsis(i)]
    if len(placed) < len(strides) and (isinstance(begin, str) or isinstance(end, str)):
        raise ValueError("begin and end must be constant where there is an ellipsis, or a new axis")
    # Behind an ellipsis dimensions are counted from the last one.
    ellipsis = next((i for i in entries if masks.is_ellipsis(i)), None)
    axes = {i: at - (len(placed) if ellipsis is not None and i > ellipsis else 0) for at, i in enumerate(placed)}
    kept = [i for i in entries if not masks.is_shrunk(i) and not masks.is_ellipsis(i)]
    results = {i: at - (len(kept) if ellipsis is not None and i > ellipsis else 0) for at, i in enumerate(kept)}
    added = [results[i] for i in kept if masks.is_new(i)]
    squeezed = [axes[i] for i in placed if masks.is_shrunk(i)]
    if placed:
        if isinstance(begin, str) or isinstance(end, str):
            bounds = _computed(call, begin, end, strides, masks)
        else:
            bounds = _fixed(call, begin, end, strides, masks, placed)
        steps = [1 if masks.is_shrunk(i) else strides[i] for i in placed]
        value = call.node("Slice", [value, *bounds, call.integers([axes[i] for i in placed]), call.integers(steps)])
    if squeezed:
        value = call.node("Squeeze", [value, call.integers(squeezed)])
    return call.node("Unsqueeze", [value, call.integers(added)]) if added else value


def _fixed(
    call: ConvertedCall,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int],
    masks: Masks,
    placed: Sequence[int],
) -> tuple[str, str]:
    first, last = list(begin), list(end)
    for i in placed:
        if masks.is_shrunk(i):
            last[i] = _LAST if first[i] == -1 else first[i] + 1
            continue
        first[i] = (_LAST if strides[i] < 0 else 0) if masks.begin >> i & 1 else first[i]
        last[i] = (_FIRST if strides[i] < 0 else _LAST) if masks.end >> i & 1 else last[i]
    return call.integers([first[i] for i in placed]), call.integers([last[i] for i in placed])


def _computed(call: ConvertedCall, begin: Bounds, end: Bounds, strides: Sequence[int], masks: Masks) -> tuple[str, str]:
    """Begin and end that a run computes."""
    first, last = (b if isinstance(b, str) else call.integers(b) for b in (begin, end))
    entries = range(len(strides))
    shrunk = np.array([masks.is_shrunk(i) for i in entries])

    def chosen(where: np.ndarray, value: str, otherwise: str) -> str:
        return call.node("Where", [call.builder.constant(where), value, otherwise]) if where.any() else otherwise

    def masked(mask: int) -> np.ndarray:
        return np.array([bool(mask >> i & 1) and not masks.is_shrunk(i) for i in entries])

    if shrunk.any():
        after = call.node("Add", [first, call.integers(1)])
        after = call.node("Where", [call.node("Equal", [after, call.integers(0)]), call.integers(_LAST), after])
        last = chosen(shrunk, after, last)
    last = chosen(masked(masks.end), call.integers([_FIRST if s < 0 else _LAST for s in strides]), last)
    return chosen(masked(masks.begin), call.integers([_LAST if s < 0 else 0 for s in strides]), first), last
