"""Weights of layers, from the two ways in which Keras writes HDF5.

- Keras 3 (`model.weights.h5` in a .keras file): a tree of groups like the tree of objects; a layer's group is named by
  its class, with a number from the second of a class on, and has its variables in the order of their creation.
- Whole-model files (.h5): a group for each layer by its name, and in an attribute the names of the weights in order.
  The group of a nested model has the weights of all its layers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, count, takewhile
from typing import Protocol, TypeVar

import numpy as np

from ..hdf5 import Node

Array = np.ndarray
T = TypeVar("T")

NETWORKS = ("Sequential", "Functional", "Model")
"""Classes of models, of which layers are made as of any other class."""


class Weights(Protocol):
    """The weights of a layer, with all that is inside of it."""

    def own(self) -> tuple[Array, ...]:
        """The variables of the layer itself, in the order of their creation."""

    def parts(self, attributes: Sequence[str]) -> list[Weights]:
        """The weights of the layers that it has as these attributes."""

    def layers(self, names: Sequence[tuple[str, str]]) -> list[Weights]:
        """The weights of a model's layers, by class and name."""

    def listed(self, attribute: str, layers: Sequence[tuple[str, int]]) -> list[Weights]:
        """The weights of the layers in a list that it has as this attribute, by class and number of weights."""


class TreeOfWeights:
    """A group of Keras 3: `group` is None for a layer without variables."""

    def __init__(self, group: Node | None) -> None:
        self._group = group

    def own(self) -> tuple[Array, ...]:
        variables = _child(self._group, "vars")
        if variables is None:
            return ()
        return tuple(_read(variables, name) for name in sorted(variables.names, key=int))

    def parts(self, attributes: Sequence[str]) -> list[Weights]:
        return [TreeOfWeights(_child(self._group, a)) for a in attributes]

    def layers(self, names: Sequence[tuple[str, str]]) -> list[Weights]:
        return self.listed("layers", [(kind, 0) for kind, _ in names])

    def listed(self, attribute: str, layers: Sequence[tuple[str, int]]) -> list[Weights]:
        found: list[Weights] = []
        used: Counter[str] = Counter()
        below = _child(self._group, attribute)
        for kind, _ in layers:
            stem = _snake_case(kind)
            found.append(TreeOfWeights(_child(below, f"{stem}_{used[stem]}" if used[stem] else stem)))
            used[stem] += 1
        return found


class ListOfWeights:
    """The weights of a layer, or a model in a model, in a whole-model file, each with the parts of its name."""

    def __init__(self, entries: Sequence[tuple[Sequence[str], Array]]) -> None:
        self._entries = entries

    def own(self) -> tuple[Array, ...]:
        return tuple(data for _, data in self._entries)

    def parts(self, attributes: Sequence[str]) -> list[Weights]:
        """They follow each other, and have as many weights each."""
        n = len(self._entries) // len(attributes)
        return [ListOfWeights(self._entries[i * n : (i + 1) * n]) for i in range(len(attributes))]

    def layers(self, names: Sequence[tuple[str, str]]) -> list[Weights]:
        return [ListOfWeights(self._of(*layer)) for layer in names]

    def listed(self, attribute: str, layers: Sequence[tuple[str, int]]) -> list[Weights]:
        return [ListOfWeights(part) for part in in_turn(self._entries, layers)]

    def _of(self, kind: str, name: str) -> list[tuple[Sequence[str], Array]]:
        """Weights below `name`: all, where the names leave out a model inside of a model."""
        found = [(path[path.index(name) + 1 :], data) for path, data in self._entries if name in path[:-1]]
        return found if found or kind not in NETWORKS else list(self._entries)


class FileOfWeights:
    """The weights of a whole-model file."""

    def __init__(self, file: Node) -> None:
        self._group = _child(file, "model_weights")
        if self._group is None:
            raise ValueError("it has no model_weights")

    def own(self) -> tuple[Array, ...]:
        return ()

    def parts(self, attributes: Sequence[str]) -> list[Weights]:
        return [self for _ in attributes]

    def layers(self, names: Sequence[tuple[str, str]]) -> list[Weights]:
        return [ListOfWeights(self._entries(name)) for _, name in names]

    def listed(self, attribute: str, layers: Sequence[tuple[str, int]]) -> list[Weights]:
        return [self for _ in layers]

    def _entries(self, name: str) -> list[tuple[Sequence[str], Array]]:
        layer = _child(self._group, name)
        if layer is None:
            return []
        names = texts(layer, "weight_names")
        return [(_below(n.split("/"), name), _read(layer, n)) for n in names]


def in_turn(entries: Sequence[T], layers: Sequence[tuple[str, int]]) -> list[Sequence[T]]:
    """The entries of layers that follow each other, each with its class and number of weights."""
    ends = accumulate(n for _, n in layers)
    return [entries[end - n : end] for end, (_, n) in zip(ends, layers, strict=True)]


def _below(path: Sequence[str], name: str) -> Sequence[str]:
    return path[path.index(name) + 1 :] if name in path[:-1] else path


def texts(node: Node, name: str) -> list[str]:
    """The elements of an attribute; Keras writes long ones in pieces, with numbers behind the name."""
    pieces = (f"{name}{i}" for i in count())
    keys = [name] if name in node.attributes else takewhile(node.attributes.__contains__, pieces)
    return [text for key in keys for text in node.texts(key)]


def _child(group: Node | None, name: str) -> Node | None:
    """A group inside of a group."""
    found = None if group is None else group.child(name)
    return None if found is None or found.is_dataset else found


def _read(group: Node, path: str) -> Array:
    """A variable as float32, or the integers that it has."""
    *above, last = path.split("/")
    at: Node | None = group
    for name in above:
        at = _child(at, name)
    data = None if at is None else at.child(last)
    if data is None or not data.is_dataset:
        raise ValueError(f"there is no variable {path!r}")
    try:
        return data.numbers
    except ValueError as error:
        raise ValueError(f"the variable {path!r}: {error}") from None


def _snake_case(name: str) -> str:
    """The name of a class as Keras writes it in paths: SeparableConv2D is separable_conv2d."""
    words = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", re.sub(r"\W+", "", name))
    return re.sub("([a-z])([A-Z])", r"\1_\2", words).lower()
