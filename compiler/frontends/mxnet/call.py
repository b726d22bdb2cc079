"""One operator while it is converted: its operands as values of the ONNX model, and its attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ..images import Images
from ..model_builder import ModelBuilder
from ..ranked_call import RankedCall, Value
from .read_model import Node


class Call(RankedCall):
    """An operator and its operands; of those that are parameters, the elements, too."""

    def __init__(
        self,
        builder: ModelBuilder,
        node: Node,
        values: Sequence[Value],
        weights: Sequence[np.ndarray | None],
        parameters: Mapping[str, np.ndarray],
    ) -> None:
        super().__init__(builder, Images(builder), values)
        self.source, self.weights = node, list(weights)
        self.parameters = parameters

    @property
    def stem(self) -> str:
        """The beginning of names of nodes."""
        return self.source.name

    def unsupported(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"{self.source.op} ({self.source.name!r}): {what}")

    def weight(self, i: int, suffix: str = "") -> np.ndarray:
        """The elements of operand `i`. Files before version 0.9 leave out the last ones, which are named after the node
        with this suffix."""
        data = self.weights[i] if i < len(self.weights) else self.parameters.get(f"{self.source.name}{suffix}")
        if data is None:
            raise self.unsupported(f"its operand {i} must be a parameter")
        return data

    def constant(self, data: np.ndarray, stem: str = "weights") -> str:
        return self.builder.constant(data, f"{self.stem}.{stem}")

    def attribute(self, name: str, default: Any = None) -> Any:
        return self.source.attribute(name, default)

    def number_of(self, name: str, default: float) -> float:
        found = self.attribute(name, default)
        if not isinstance(found, int | float):
            raise self.unsupported(f"{name} is {found!r}, and no number")
        return float(found)

    def flag(self, name: str, *, default: bool = False) -> bool:
        found = self.attribute(name, default)
        return found not in (0, False, "false", "None", None)

    def numbers(self, name: str, count: int | None, default: int | None = None) -> list[int]:
        """An attribute that is one integer for each of `count` dimensions, or one for all of them."""
        found = self.attribute(name)
        if found in (None, (), []):
            if default is None or count is None:
                raise self.unsupported(f"it has no {name}")
            return [default] * count
        listed = [int(n) for n in found] if isinstance(found, tuple | list) else [int(found)] * (count or 1)
        if count is not None and len(listed) != count:
            raise self.unsupported(f"{name} is {found!r}, for {count} dimensions")
        return listed

    def axes(self, name: str = "axis") -> list[int]:
        """Axes of the first operand; without an attribute all of them."""
        found, rank = self.attribute(name), self.x.rank
        listed = [] if found is None else list(found) if isinstance(found, tuple | list) else [found]
        axes = sorted({self.axis(int(a), rank) for a in listed}) or list(range(rank))
        return [a for a in range(rank) if a not in axes] if self.flag("exclude") and listed else axes


Handler = Callable[[Call], Value | Sequence[Value]]
"""Gives the result of an operator, or several."""
