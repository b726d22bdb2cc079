"""Where in a kernel a check looks, and how it shows what it found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..nodes import Buffer, Expr, Node, Var
from ..printer import print_node
from ..rewrite import children

LONGEST = 200
"""Characters of a node that a message shows."""


@dataclass(frozen=True, slots=True)
class Place:
    """Facts that hold at a statement. `flat` after indices were flattened; `conditions` hold there; `reached` is False
    inside a loop without iterations; `top` where nothing but loops over the grid stands around it, `outermost` where
    nothing but sequences and serial loops that are not parallel do; `tensorized` in an instruction of the target."""

    readable: frozenset[Buffer]
    writable: frozenset[Buffer]
    flat: bool
    variables: frozenset[Var] = frozenset()
    conditions: tuple[Expr, ...] = ()
    reached: bool = True
    top: bool = True
    outermost: bool = True
    tensorized: bool = False


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
