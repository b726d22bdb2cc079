"""Metadata of a model's file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_LONGEST = 600
"""Characters of a description: some exporters write all of a README there."""


@dataclass(frozen=True, slots=True)
class Port:
    """An input or an output. Of `shape` a name or None is a free dimension; None where even the rank is free."""

    name: str
    dtype: str
    shape: tuple[int | str | None, ...] | None


@dataclass(frozen=True, slots=True)
class ModelCard:
    """`name` is the file's, `producer` the program that wrote it, if it says so. `operators` counts nodes by operator,
    the most frequent first, and `unsupported` names those that no importer takes; `parameters` are the elements of
    constants, and `weights` the bytes of these by the type of their elements. Inputs are those without a constant.
    `licence` is what the file says of it, such as "Apache-2.0"; `description` its own words about the model, and
    `author`. `signatures` are what may be computed of it, the one that the card describes first. `states` are the
    inputs and outputs, each two by name, that stand for variables of the file."""

    name: str
    producer: str
    opset: int
    operators: Mapping[str, int]
    parameters: int
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    licence: str = ""
    description: str = ""
    author: str = ""
    weights: Mapping[str, int] = field(default_factory=dict)
    unsupported: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()
    states: tuple[tuple[str, str], ...] = ()

    def facts(self) -> Iterator[tuple[str, str]]:
        """Facts by name, besides inputs, outputs and the licence."""
        if self.description:
            text = " ".join(self.description.split())
            yield "Description", text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
        if self.author:
            yield "Author", self.author
        opset = [f"opset {self.opset}"] if self.opset else []  # ONNX alone has one
        yield "Written by", ", ".join([*([self.producer] if self.producer else []), *opset])
        yield "Parameters", f"{self.parameters:,}"
        kinds = ", ".join(f"{n} {name}" for name, n in self.operators.items())
        yield "Operators", f"{sum(self.operators.values())} in the file: {kinds}"
