"""Fresh names for values and nodes."""

from __future__ import annotations

from collections.abc import Iterable

from .ir import Graph


class Names:
    """The names in use; `fresh` takes a new one."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._counts: dict[str, int] = {}

    def fresh(self, stem: str) -> str:
        """`stem` where it is free, else `stem_2`, `stem_3`...; it is taken from then on."""
        name, count = stem, self._counts.get(stem, 1)
        while name in self._taken:
            count += 1
            name = f"{stem}_{count}"
        self._counts[stem] = count
        self._taken.add(name)
        return name


def value_names(graph: Graph) -> Names:
    """The names of all values of `graph`."""
    made = (v.name for node in graph.nodes for v in node.outputs if v is not None)
    return Names((*(v.name for v in graph.inputs), *(v.name for v in graph.constants), *made))
