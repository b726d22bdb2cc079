"""Labels and scores by label, which the model itself returns: as strings, and as maps of ZipMap."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from ..graph.ir import Array, Graph, OutputLabels, Value
from ..graph.tail import Tail
from .fitted import Fitted, OfOneOutput
from .labels import Labels


@dataclass(frozen=True, slots=True)
class LabelOfEach(OfOneOutput):
    """The label of each element of an integer output."""

    labels: Labels

    kind = "labels"
    many = False
    tokenizer = None

    def add(self, _: Tail) -> dict[str, Value]:
        return {"places": self.output}

    def read(self, parts: Mapping[str, Array], shapes: object) -> Array:
        names: Array = np.asarray(self.labels.names)
        return np.take(names, parts["places"])

    def describe(self) -> str:
        return f"one of {_shown(self.labels.names)}"


@dataclass(frozen=True, slots=True)
class ScoreOfEachLabel(OfOneOutput):
    """By label the score of each row of an output [rows, labels] or [labels]. `keys` are those in Python, where a label
    may be a number."""

    labels: Labels
    keys: tuple[str, ...] | tuple[int, ...]

    kind = "scores"
    many = False
    tokenizer = None

    def add(self, _: Tail) -> dict[str, Value]:
        return {"scores": self.output}

    def read(self, parts: Mapping[str, Array], shapes: object) -> list[dict[str | int, float]]:
        rows = parts["scores"].reshape(-1, len(self.keys))
        return [dict(zip(self.keys, row, strict=True)) for row in rows.tolist()]

    def describe(self) -> str:
        return f"scores of {_shown(self.labels.names)}"


_SHOWN = 5


def _shown(names: tuple[str, ...]) -> str:
    return ", ".join([*names[:_SHOWN], *([f"... ({len(names)} labels)"] if len(names) > _SHOWN else [])])


def fit_own(graph: Graph, taken: Collection[Value]) -> tuple[Fitted, ...]:
    """The answers that the model's outputs are by themselves, but for those that others have `taken`."""
    both = ((v, graph.labels[v.name]) for v in graph.outputs if v not in taken and v.name in graph.labels)
    return tuple(_fitted(v, labels) for v, labels in both if not labels.scores or v.shape[-1:] == (len(labels.names),))


def _fitted(output: Value, labels: OutputLabels) -> Fitted:
    names = Labels(tuple(map(str, labels.names)), "the model's labels")
    return ScoreOfEachLabel(output, names, labels.names) if labels.scores else LabelOfEach(output, names)
