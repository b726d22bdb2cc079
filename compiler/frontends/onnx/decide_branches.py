"""Branches of different ranks: an If is imported without the one that does not fit what follows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import onnx

from ...errors import WebnnCompileError

_MOST_REFUSED, _MOST_MISFITS = 100, 32
"""Ifs of one graph that are decided one after another; and trials that fail in all, so that combinations of many Ifs
take no longer than so many imports."""


class RanksDifferError(WebnnCompileError):
    """The branches of an If return different ranks, as the message says. `sides` are the branches to refuse, in the
    order to try."""

    def __init__(self, message: str, sides: Sequence[str]) -> None:
        super().__init__(message)
        self.sides = sides


@dataclass(frozen=True, slots=True)
class Refused:
    """The branch that an If is imported without, and why; None where no branch alone fits what follows."""

    side: str | None
    reason: str


class Decisions:
    """The Ifs that are being imported with a decision about their branches. `stated_ranks` are those that the graph
    states of its outputs, by name."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        typed = ((v.name, v.type.tensor_type) for v in graph.output)
        self.stated_ranks = {name: len(t.shape.dim) for name, t in typed if t.HasField("shape")}
        self._refused: dict[int, Refused] = {}
        self._misfits = 0

    def may_decide(self, node: onnx.NodeProto) -> bool:
        """Whether a branch of an If may be refused that is not decided."""
        is_open = id(node) not in self._refused and len(self._refused) < _MOST_REFUSED
        return is_open and self._misfits < _MOST_MISFITS

    def of(self, node: onnx.NodeProto) -> Refused | None:
        """The decision about an If; None where there is none."""
        return self._refused.get(id(node))

    @contextmanager
    def deciding(self, node: onnx.NodeProto, refused: Refused) -> Iterator[None]:
        """A context in which an If is imported so."""
        self._refused[id(node)] = refused
        try:
            yield
        finally:
            del self._refused[id(node)]

    def count(self, fits: bool) -> bool:
        """`fits`, whether a trial came to something."""
        self._misfits += not fits
        return fits
