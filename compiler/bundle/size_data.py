"""Sizes as data for the runtime, which computes them for each run.

Size = int | { text, most, value: Expression }            Expression: ir/size_data.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..ir.nodes import Expr, Scalar
from ..ir.size_data import expression_data
from ..ir.sizes import Size, capacity, scalars_of, text_of
from ..program.dimensions import Dimension
from ..program.program import TensorSpec
from ..program.refusals import Refusal
from ..program.states import follows, grows

Numbers = Mapping[Scalar, int]
"""The number of a scalar in the runtime."""


def number_scalars(
    dimensions: Sequence[Dimension],
    outputs: Sequence[TensorSpec],
    refusals: Sequence[Refusal] = (),
    others: Iterable[Scalar] = (),
) -> dict[Scalar, int]:
    """Numbers the scalars of dimensions first, then those of the shapes of outputs, of refusals and of what a run
    leaves of a state: these are equal in all backends of a bundle."""
    of_dimensions = (d.scalar for d in dimensions)
    shapes = scalars_of(*(n for spec in outputs for n in spec.shape if isinstance(n, Expr)))
    left = scalars_of(*(d.after for d in dimensions if isinstance(d.after, Expr)))
    numbered = dict.fromkeys((*of_dimensions, *shapes, *(r.scalar for r in refusals), *left, *others))
    return {s: i for i, s in enumerate(numbered)}


def refusal_data(refusals: Sequence[Refusal], numbers: Numbers) -> list[dict[str, Any]]:
    """The branches that no run may take."""
    return [{"scalar": numbers[r.scalar], "text": r.text} for r in refusals]


def size_data(n: Size, numbers: Numbers) -> int | dict[str, Any]:
    """A size of a shape."""
    if isinstance(n, int):
        return n
    return {"text": text_of(n), "most": capacity(n), "value": expression_data(n, numbers)}


def dimensions_data(
    dimensions: Sequence[Dimension], inputs: Sequence[TensorSpec], numbers: Numbers
) -> list[dict[str, Any]]:
    """`least` and `most` are of the size, in which the scalar counts multiples; `after` is what a run leaves of it in a
    state: one that it leaves as it is `stays`, and one that grows by other numbers of rows than that which positions
    count does so `apart`. Positions are less than `limit`. Of one with a `window` sessions drop rows before a run that
    would leave more, which that counts which is `droppedOf` it."""
    return [_dimension(d, dimensions, inputs, numbers) for d in dimensions]


def _dimension(
    d: Dimension, dimensions: Sequence[Dimension], inputs: Sequence[TensorSpec], numbers: Numbers
) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": d.name, "least": d.least, "most": d.most, "multiple": d.multiple}
    if d.value_of is not None:
        entry["input"] = next(i for i, spec in enumerate(inputs) if spec.name == d.value_of)
    if d.after is not None:
        entry["after"] = size_data(d.after, numbers)
        if not grows(d):
            entry["stays"] = True
        elif not follows(dimensions, d):
            entry["apart"] = True
    if d.limit is not None:
        entry["limit"] = d.limit
    if d.window is not None:
        entry["window"] = d.window
    if d.dropped_of is not None:
        entry["droppedOf"] = d.dropped_of
    return entry
