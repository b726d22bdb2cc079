"""How large an expression becomes by inlining."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from ...ir.nodes import Buffer, Expr, Load, Node
from ...ir.rewrite import children

BODY_LIMIT = 400
"""Nodes of an expression beyond which nothing more is inlined into it."""

DEPTH_LIMIT = 64
"""Levels of an expression beyond which nothing more is inlined into it: walks recurse as deep as expressions are, and a
mathematical function adds some thirty levels. A kernel of so many maps in a row gains little by one more."""


class ExprSize(NamedTuple):
    """Nodes and levels of an expression as a tree."""

    size: int
    depth: int

    @property
    def is_too_large(self) -> bool:
        """Whether nothing more may be inlined into such an expression."""
        return self.size > BODY_LIMIT or self.depth > DEPTH_LIMIT


class Tree(NamedTuple):
    """An expression as a tree: its measure, and how often it reads each buffer; shared parts count each time."""

    measure: ExprSize
    reads: Counter[Buffer]

    def with_inlined(self, inlined: Mapping[Buffer, ExprSize]) -> ExprSize:
        """The measure with the expressions of `inlined` in place of the loads of those buffers."""
        inner = [(inlined[buffer], n) for buffer, n in self.reads.items() if buffer in inlined]
        size = self.measure.size + sum(n * m.size for m, n in inner)
        return ExprSize(size, self.measure.depth + max((m.depth for m, _ in inner), default=0))


def measure_tree(e: Expr) -> Tree:
    """Counts `e` as a tree; each of its shared parts is visited once."""
    done: dict[int, Tree] = {}

    def go(n: Node) -> Tree:
        if id(n) not in done:
            size, depth, reads = 1, 0, Counter[Buffer]()
            for c in children(n):
                inner, inner_reads = go(c)
                size += inner.size
                depth = max(depth, inner.depth)
                reads.update(inner_reads)
            if isinstance(n, Load):
                reads[n.buffer] += 1
            done[id(n)] = Tree(ExprSize(size, depth + 1), reads)
        return done[id(n)]

    return go(e)
