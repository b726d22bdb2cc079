"""The facts that hold at a statement, which checks read, and nodes as text in their messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..nodes import Buffer, Expr, Node, Var
from ..printer import print_node
from ..rewrite import children

LONGEST = 200
"""Characters of a node that a message shows."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Where a pointer points: at elements `low` to `high` of memory of `size` elements, at both in some iteration where
    that is `exact`."""

    size: int
    low: int = 0
    high: int = 0
    exact: bool = True

    def leaves(self, lanes: int = 1) -> bool:
        """Whether so many elements are known to be outside in some iteration. Limits that are not exact prove it where
        all between them is outside."""
        low, high = self.low, self.high + lanes - 1
        return low < 0 or high >= self.size if self.exact else high < 0 or low >= self.size


@dataclass(frozen=True, slots=True)
class Place:
    """Facts that hold at a statement. `flat` after indices were flattened; `conditions` hold there; `reached` is False
    inside a loop without iterations; `top` where nothing but loops over the grid stands around it, `outermost` where
    nothing but sequences and serial loops that are not parallel do; `tensorized` in an instruction of the target.
    `pointers` reach what is known, None where nothing is; other buffers are their own memory."""

    readable: frozenset[Buffer]
    writable: frozenset[Buffer]
    flat: bool
    variables: frozenset[Var] = frozenset()
    conditions: tuple[Expr, ...] = ()
    reached: bool = True
    top: bool = True
    outermost: bool = True
    tensorized: bool = False
    pointers: Mapping[Buffer, Reach | None] = field(default_factory=dict)


def unique(node: Node) -> Iterator[Node]:
    """Every node once, however often it is shared."""
    stack, seen = [node], {id(node)}
    while stack:
        n = stack.pop()
        yield n
        for c in children(n):
            if id(c) not in seen:
                seen.add(id(c))
                stack.append(c)


def shown(n: Node) -> str:
    text = " ".join(print_node(n).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
