"""Readers and order of tensors, for all steps of fusion."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Set
from dataclasses import dataclass
from math import prod

from ...ir.nodes import Buffer, Var
from ..program import TensorProgram
from ..tensor import Tensor
from .measure import Tree, measure_tree

SELDOM = 4
"""How many times as many elements a table has as are looked up in it, at least."""


@dataclass(frozen=True, slots=True)
class Dataflow:
    """`readers` of each tensor, and its position in the `order` of the program; `stored` tensors are always
    materialised; `trees` measures each computed tensor's own body. A kernel reads at most `most_reads` tensors. With
    `few_launches` single elements are computed again by each reader, and elements of so many nodes as `repeats` by each
    of two."""

    program: TensorProgram
    most_reads: int | None
    readers: Mapping[Tensor, tuple[Tensor, ...]]
    stored: frozenset[Tensor]
    order: Mapping[Tensor, int]
    trees: Mapping[Tensor, Tree]
    few_launches: bool = False
    repeats: int = 0

    def has_too_many_reads(self, members: Set[Tensor], inlined: Container[Buffer]) -> bool:
        """Whether a kernel of `members`, and of the maps inlined into them, reads more tensors than a kernel may."""
        if self.most_reads is None:
            return False
        reads: set[Tensor] = set()
        open_, seen = list(members), set(members)
        while open_:
            for r in open_.pop().reads:
                if r.buffer in inlined and r not in seen:
                    seen.add(r)
                    open_.append(r)
                elif r not in members and r.buffer not in inlined:
                    reads.add(r)
        return len(reads) > self.most_reads


def find_dataflow(
    program: TensorProgram, most_reads: int | None, *, few_launches: bool = False, repeats: int = 0
) -> Dataflow:
    """The dataflow of `program`."""
    readers: dict[Tensor, list[Tensor]] = {}
    for t in program.tensors:
        for r in t.reads:
            readers.setdefault(r, []).append(t)
    return Dataflow(
        program=program,
        most_reads=most_reads,
        readers={t: tuple(of) for t, of in readers.items()},
        stored=program.stored.union((t for _, t in program.outputs), _kept_at_load(program, readers)),
        order={t: i for i, t in enumerate(program.tensors)},
        trees={t: measure_tree(t.body) for t in program.tensors if t.body is not None},
        few_launches=few_launches,
        repeats=repeats,
    )


def _kept_at_load(program: TensorProgram, readers: Mapping[Tensor, list[Tensor]]) -> Iterator[Tensor]:
    """The tensors that are computed at load and read in a run: not those of which a run reads few elements, once each,
    such as rows of a table."""
    for t in program.tensors:
        if not t.prepared:
            continue
        runs = [r for r in readers.get(t, ()) if not r.prepared]
        looked_up = runs and all(looks_up(r, t) for r in runs)
        if t.is_reduction or t not in readers or (runs and not looked_up):
            yield t


def looks_up(t: Tensor, table: Tensor) -> bool:
    """Whether `t`, which reads `table`, has few of its elements."""
    return not t.is_reduction and SELDOM * prod(t.extents) <= prod(table.extents)


def count(axes: tuple[Var, ...]) -> int:
    """Iterations of loops over `axes`."""
    return prod(a.extent for a in axes)
