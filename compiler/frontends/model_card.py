"""Metadata of a model's file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Port:
    """An input or an output. Of `shape` a name or None is a free dimension; None where even the rank is free."""

    name: str
    dtype: str
    shape: tuple[int | str | None, ...] | None


@dataclass(frozen=True, slots=True)
class ModelCard:
    """`name` is the file's, `producer` the program that wrote it, if it says so. `operators` counts nodes by operator,
    the most frequent first; `parameters` are the elements of constants. Inputs are those without a constant. `licence`
    is what the file says of it, such as "Apache-2.0"."""

    name: str
    producer: str
    opset: int
    operators: Mapping[str, int]
    parameters: int
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    licence: str = ""
