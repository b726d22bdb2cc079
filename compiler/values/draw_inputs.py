"""Inputs of a run at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..dtypes import DType
from ..ir.nodes import Scalar
from ..ir.sizes import value_of
from ..program.dimensions import Dimension
from ..program.program import TensorSpec

Array = np.ndarray


def largest_sizes(dimensions: Sequence[Dimension]) -> dict[Scalar, int]:
    return {d.scalar: d.scalar.extent - 1 for d in dimensions}


def smallest_sizes(dimensions: Sequence[Dimension]) -> dict[Scalar, int]:
    """The smallest ones of which there are elements."""
    return {d.scalar: min(max(d.scalar.low, 1), d.scalar.extent - 1) for d in dimensions}


def draw_inputs(
    specs: Sequence[TensorSpec],
    dimensions: Sequence[Dimension],
    scalars: Mapping[Scalar, int],
    generator: np.random.Generator,
) -> dict[str, Array]:
    """At random, of the shapes that they have with these sizes."""
    values = {d.value_of: scalars[d.scalar] * d.multiple for d in dimensions if d.value_of is not None}
    inputs = {}
    for spec in specs:
        shape = tuple(value_of(n, scalars) for n in spec.shape)
        drawn = random_input(spec.dtype, shape, generator)
        inputs[spec.name] = np.full_like(drawn, values[spec.name]) if spec.name in values else drawn
    return inputs


def random_input(dtype: DType, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    """Standard normal floats; integers and bools 0 or 1, which are valid as indices almost everywhere."""
    drawn = generator.standard_normal(shape) if dtype.is_float else generator.integers(0, 2, shape)
    return np.asarray(drawn, dtype.numpy)
