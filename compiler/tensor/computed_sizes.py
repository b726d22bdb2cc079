"""Sizes that a run computes: each is a scalar, and the tensor of one element that it is read from.

A size is a named result of its node. The scalar is made when the node is added to a graph, and stays with it
(`Node.sizes`): wherever the node is defined again, in a pass, in a region or as tensors for a target, it is the same.
The tensor is defined anew each time, so the scalar does not refer to it: `Sizes` says what it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from ..ir.memo import keep
from ..ir.name_size import named_value
from ..ir.nodes import Expr, Scalar
from ..ir.sizes import scalars_of
from .tensor import Tensor, compute


@dataclass(frozen=True, eq=False, slots=True)
class Sizes:
    """The tensors of one element that scalars are read from."""

    sources: Mapping[Scalar, Tensor] = field(default_factory=dict)

    def source(self, s: Scalar) -> Tensor | None:
        """None for a scalar that no tensor decides: a dimension of the model, or a loop's counter."""
        value = named_value(s)
        return self.sources.get(s) if value is None else _source_of(s, value)

    def moved(self, replaced: Mapping[Tensor, Tensor]) -> Sizes:
        """The sizes where tensors are replaced by others."""
        if not any(t in replaced for t in self.sources.values()):
            return self
        return Sizes({s: replaced.get(t, t) for s, t in self.sources.items()})

    def sources_of(self, expressions: Iterable[Expr]) -> tuple[Tensor, ...]:
        """The tensors that decide the scalars in `expressions`, in order."""
        return tuple(t for s in scalars_of(*expressions) if (t := self.source(s)) is not None)


NO_SIZES = Sizes()


@keep
def _source_of(s: Scalar, value: Expr) -> Tensor:
    return compute(s.name, (1,), (), lambda _: value)


Own = Mapping[str, Scalar]
"""The sizes of a node by name, without the node's."""


NONE: Own = {}


@dataclass(eq=False, slots=True)
class Definition:
    """The definition of one node, in which it makes the sizes `own`."""

    _node: str
    _known: Own
    _sources: dict[Scalar, Tensor]
    own: dict[str, Scalar] = field(default_factory=dict)

    @property
    def sizes(self) -> Sizes:
        """Sizes of all definitions so far that this one is inside of, or that are inside of it."""
        return Sizes(self._sources)

    def with_sources(self) -> Iterator[tuple[Scalar, Tensor]]:
        """The sizes of this node, with what each is read from."""
        return ((s, self._sources[s]) for s in self.own.values())

    def add(self, name: str, extent: int, low: int, source: Tensor) -> Scalar:
        """A size of this node, read from `source`: that of its first definition, where its interval is the same."""
        key = stem = name.removeprefix(self._node)
        again = 0
        while key in self.own:
            again += 1
            key = f"{stem}#{again}"
        s = self._known.get(key)
        if s is None or (s.extent, s.low) != (extent, low):
            s = Scalar(name, extent, low=low, computed=True)
        self.own[key] = s
        self._sources[s] = source
        return s


_current: ContextVar[Definition] = ContextVar("_current")


@contextmanager
def definition(node: str, first: Own = NONE) -> Iterator[Definition]:
    """Inside of it sizes are those of `node`, whose first definition made those of `first`."""
    around = _current.get(None)
    opened = Definition(node, first, {} if around is None else around._sources)
    token = _current.set(opened)
    try:
        yield opened
    finally:
        _current.reset(token)


def sizes_so_far() -> Sizes:
    """The sizes of the definitions that this one is inside of, and of those inside of these, so far."""
    current = _current.get(None)
    return NO_SIZES if current is None else current.sizes


def computed_size(name: str, extent: int, source: Tensor, low: int = 0) -> Scalar:
    """The element of `source` as a size: low <= size < extent."""
    current = _current.get(None)
    return (current or Definition("", NONE, {})).add(name, extent, low, source)
