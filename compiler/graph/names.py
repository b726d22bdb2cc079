"""Fresh names for values and nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from .ir import Graph


class Names:
    """The names in use; `fresh` takes a new one."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._counts: dict[str, int] = {}
        self._order: list[tuple[str, str, int | None]] = []
        """Fresh names in order, each with its stem and the count of that before."""

    def fresh(self, stem: str) -> str:
        """`stem` where it is free, else `stem_2`, `stem_3`...; it is taken from then on."""
        name, count = stem, self._counts.get(stem, 1)
        while name in self._taken:
            count += 1
            name = f"{stem}_{count}"
        self._order.append((name, stem, self._counts.get(stem)))
        self._counts[stem] = count
        self._taken.add(name)
        return name

    def checkpoint(self) -> Callable[[], None]:
        """A function that frees the names that are taken from now on."""
        size = len(self._order)

        def restore() -> None:
            while len(self._order) > size:
                name, stem, before = self._order.pop()
                self._taken.discard(name)
                if before is None:
                    del self._counts[stem]
                else:
                    self._counts[stem] = before

        return restore


def value_names(graph: Graph) -> Names:
    """The names of all values of `graph`, those of its nodes' regions included."""
    return Names(_names(graph))


def _names(graph: Graph) -> Iterator[str]:
    yield from (v.name for v in (*graph.inputs, *graph.constants))
    for node in graph.nodes:
        yield from (v.name for v in node.outputs if v is not None)
        for region in node.regions:
            yield from _names(region)
