"""Images are N, ..., C in TFLite and Keras, and N, C, ... in ONNX. Transposes between operators that follow each other
cancel out here, where it is known which values are images; those that remain are part of the kernels that read or write
them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .model_builder import ModelBuilder


class Images:
    """The values that are there in both orders, or can be."""

    def __init__(self, builder: ModelBuilder) -> None:
        self._builder = builder
        self._planar: dict[str, tuple[str, int]] = {}

    def __contains__(self, value: str) -> bool:
        """Whether `value` is there in the order N, C, ..., too."""
        return value in self._planar

    def rank(self, value: str) -> int:
        return self._planar[value][1]

    def planar(self, value: str, rank: int) -> str:
        """N, C, ... of a value that is N, ..., C."""
        if value not in self._planar:
            perm = [0, rank - 1, *range(1, rank - 1)]
            self._planar[value] = self._builder.node("Transpose", [value], f"{value}.planar", perm=perm), rank
        return self._planar[value][0]

    def interleaved(self, value: str, rank: int, stem: str) -> str:
        """N, ..., C of a value that is N, C, ..., named `stem`."""
        result = self._builder.node("Transpose", [value], stem, perm=[0, *range(2, rank), 1])
        self._planar[result] = value, rank
        return result

    def mapped(self, op: str, values: Sequence[str], stem: str, more: Sequence[str] = (), **attributes: Any) -> str:
        """An operator on each element of `values`, which have one shape, in the order that all of them are in; `more`
        are scalars, or vectors along `axis`."""
        if not all(v in self for v in values):
            return self._builder.node(op, [*values, *more], stem, **attributes)
        rank = self.rank(values[0])
        if "axis" in attributes:
            attributes["axis"] = planar_axis(attributes["axis"], rank)
        inner = self._builder.node(op, [*(self._planar[v][0] for v in values), *more], f"{stem}.planar", **attributes)
        return self.interleaved(inner, rank, stem)

    def broadcast(
        self, op: str, values: Sequence[str], shapes: Sequence[tuple[int, ...]], constants: Sequence[bool], stem: str
    ) -> str:
        """An operator on operands of these shapes that are broadcast, in the order of the images among them, if all
        others are `constants` or can be had in that order for nothing. Free extents are -1."""
        rank = max(map(len, shapes))

        def is_free(i: int) -> bool:
            along_last = len(shapes[i]) < 2 or all(n == 1 for n in shapes[i][:-1])
            return values[i] in self or constants[i] or along_last

        planar = rank > 2 and any(v in self and len(s) == rank for v, s in zip(values, shapes, strict=True))
        if not planar or not all(is_free(i) for i in range(len(values))):
            return self._builder.node(op, values, stem)
        operands = []
        for value, shape in zip(values, shapes, strict=True):
            if not shape:
                operands.append(value)
            elif len(shape) == rank:
                operands.append(self.planar(value, rank))
            else:
                whole = self._builder.integers([*([1] * (rank - len(shape))), *shape])
                reshaped = self._builder.node("Reshape", [value, whole], f"{value}.of_rank_{rank}")
                operands.append(self.planar(reshaped, rank))
        inner = self._builder.node(op, operands, f"{stem}.planar")
        return self.interleaved(inner, rank, stem)

    def reduced(self, op: str, value: str, axes: Sequence[int], keep: bool, stem: str) -> str:
        """A reduction of a value in both orders. Without its spatial axes it is in one order."""
        rank = self.rank(value)
        places = {a % rank for a in axes}
        if rank - 1 in places or 0 in places or not (keep or len(places) == rank - 2):
            return self._builder.node(op, [value, self._builder.integers(axes)], stem, keepdims=int(keep))
        own = self._builder.integers([planar_axis(a, rank) for a in sorted(places)])
        inner = self._builder.node(op, [self.planar(value, rank), own], stem, keepdims=int(keep))
        return self.interleaved(inner, rank, stem) if keep else inner


def planar_axis(axis: int, rank: int) -> int:
    """The place in N, C, ... of an axis of N, ..., C."""
    axis %= rank
    return 0 if axis == 0 else 1 if axis == rank - 1 else axis + 1
