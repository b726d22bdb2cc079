"""Values of features while a model is converted, and their form where a part of a pipeline takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from ...errors import UnsupportedError
from ..model_builder import ModelBuilder
from .classes import Labels
from .types import onnx_type


@dataclass(frozen=True, slots=True)
class FeatureValue:
    """An ONNX value of this element type. Of `shape` None is a free dimension; it is None where it is unknown."""

    name: str
    dtype: str
    shape: tuple[int | None, ...] | None


Features = Mapping[str, FeatureValue | Labels]
"""Values by the name of their feature."""


def take(
    builder: ModelBuilder, features: Features, name: str, dtype: str, shape: tuple[int | str | None, ...] | None
) -> str:
    """The ONNX value of a feature as an input of `dtype` and `shape`, of which names and None are free; with the shape
    None in its own. Raises UnsupportedError where nothing computes it, it is a label, or it has another number of
    elements."""
    value = features.get(name)
    if not isinstance(value, FeatureValue):
        raise UnsupportedError(
            f"nothing computes its input {name!r}" if value is None else f"its input {name!r} is a label, not a number"
        )
    taken = value.name
    if value.dtype != dtype:
        taken = builder.node("Cast", [taken], name, to=onnx_type(dtype))
    if shape is None or value.shape == shape or not all(isinstance(n, int) for n in shape):
        return taken
    fixed = [n for n in shape if isinstance(n, int)]
    given = None if value.shape is None or None in value.shape else prod(n or 0 for n in value.shape)
    if given is not None and given != prod(fixed):
        raise UnsupportedError(f"its input {name!r} has {prod(fixed)} elements, and {given} are computed for it")
    return builder.node("Reshape", [taken, builder.integers(fixed)], name)
