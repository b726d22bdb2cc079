"""Weights of layers by their names in a manifest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..keras.read_weights import NETWORKS, Weights

Array = np.ndarray
Path = tuple[str, ...]


class NamedWeights:
    """The weights of a model or a layer, each with the parts of its name, in order.

    A name begins with that of the layer, or of the model that is a layer; TensorFlow.js leaves out the model. What
    stands between layer and variable is that of layers inside (`bidirectional/forward_lstm/kernel`).
    """

    def __init__(self, entries: Sequence[tuple[Path, Array]]) -> None:
        self._entries = entries

    def own(self) -> tuple[Array, ...]:
        return tuple(data for _, data in self._entries)

    def parts(self, attributes: Sequence[str]) -> list[Weights]:
        """They follow each other, and have as many weights each."""
        n = len(self._entries) // len(attributes)
        return [NamedWeights(self._entries[i * n : (i + 1) * n]) for i in range(len(attributes))]

    def layers(self, names: Sequence[tuple[str, str]]) -> list[Weights]:
        return [NamedWeights(self._of(*layer)) for layer in names]

    def _of(self, kind: str, name: str) -> Sequence[tuple[Path, Array]]:
        start = tuple(name.split("/"))
        found = [(path[len(start) :], data) for path, data in self._entries if path[: len(start)] == start]
        return found if found or kind not in NETWORKS else self._entries
