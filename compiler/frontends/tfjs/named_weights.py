"""Weights of layers by their names in a manifest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..keras.read_weights import NETWORKS, Weights, in_turn

Array = np.ndarray
Path = tuple[str, ...]
Entry = tuple[Path, Array]


_MODELS = (*NETWORKS, "TimeDistributed")


class NamedWeights:
    """The weights of a model or a layer, each with the parts of its name, in order.

    A name begins with that of the layer, or of a model that is a layer. TensorFlow.js leaves that out: such a model has
    the weights that no layer beside it has. Parts between layer and variable are layers inside
    (`bidirectional/forward_lstm/kernel`), those before it wrappers.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries

    def own(self) -> tuple[Array, ...]:
        return tuple(data for _, data in self._entries)

    def parts(self, attributes: Sequence[str]) -> list[Weights]:
        """They follow each other, and have as many weights each."""
        n = len(self._entries) // len(attributes)
        return [NamedWeights(self._entries[i * n : (i + 1) * n]) for i in range(len(attributes))]

    def listed(self, attribute: str, layers: Sequence[tuple[str, int]]) -> list[Weights]:
        return [NamedWeights(part) for part in in_turn(self._entries, layers)]

    def layers(self, names: Sequence[tuple[str, str]]) -> list[Weights]:
        starts = [tuple(name.split("/")) for _, name in names]
        others = [(path, w) for path, w in self._entries if not any(path[: len(s)] == s for s in starts)]
        return [
            NamedWeights(
                _below(self._entries, start, 1) or _below(others, start) or (others if kind in _MODELS else [])
            )
            for (kind, _), start in zip(names, starts, strict=True)
        ]


def _below(entries: Sequence[Entry], start: Path, most: int | None = None) -> list[Entry]:
    """The entries whose names have the parts `start`, beginning with one of the first `most`, without all before."""
    found = []
    for path, data in entries:
        places = range(len(path) - len(start) if most is None else most)
        at = next((i for i in places if path[i : i + len(start)] == start), None)
        if at is not None:
            found.append((path[at + len(start) :], data))
    return found
