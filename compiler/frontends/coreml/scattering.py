"""Elements that are written by places, as programs and neural networks have it."""

from __future__ import annotations

from ..converted_call import ConvertedCall

_REDUCTIONS = {"add": "add", "max": "max", "min": "min", "mul": "mul", "update": "none", "sub": "add", "div": "mul"}


class Scatter:
    """Writes `updates` to `data`, of `rank` dimensions, at `indices` (int64), combined by the `mode` of Core ML with
    what is there. Raises KeyError for a mode that it does not have."""

    def __init__(self, call: ConvertedCall, data: str, rank: int, indices: str, updates: str, mode: str) -> None:
        self._call, self._data, self._rank, self._indices = call, data, rank, indices
        self._reduction = _REDUCTIONS[mode]
        # To subtract is to add what is negative, to divide to multiply by what is inverse.
        op = {"sub": "Neg", "div": "Reciprocal"}.get(mode)
        self._updates = call.node(op, [updates]) if op else updates

    def at_places(self) -> str:
        """Each vector of the indices is a place."""
        return self._call.node("ScatterND", [self._data, self._indices, self._updates], reduction=self._reduction)

    def along(self, axis: int) -> str:
        """Each index stands for one element."""
        operands = [self._data, self._indices, self._updates]
        return self._call.node("ScatterElements", operands, axis=axis, reduction=self._reduction)

    def slices(self, axis: int, width: int) -> str:
        """Indices, of `width` dimensions, are those of whole slices along an axis, which stands first in ONNX; the
        updates have the dimensions of the indices there."""
        call, rank = self._call, self._rank
        axis %= rank
        front = [axis, *range(axis), *range(axis + 1, rank)]
        moved = list(range(axis, axis + width))
        perm = [*moved, *(i for i in range(rank - 1 + width) if i not in moved)]
        self._data = call.node("Transpose", [self._data], perm=front)
        self._updates = call.node("Transpose", [self._updates], perm=perm)
        self._indices = call.node("Unsqueeze", [self._indices, call.integers([-1])])
        return call.node("Transpose", [self.at_places()], perm=[front.index(i) for i in range(rank)])
