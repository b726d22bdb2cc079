"""The address of an access: the part that a loop advances, and the constant that the instruction carries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .affine import Affine, affine
from .calls import Call, HoistedConstants, Pointer, UnrolledInOrder
from .facts import range_of_sum
from .lanes import Ramp
from .nodes import Alloc, Buffer, Expr, For, If, Load, Node, Outline, Scope, Seq, Store, Var
from .rewrite import children, free_vars, loads, walk_inner

Items = frozenset[tuple[Expr, int]]
"""Atoms of an element offset with their coefficients."""

_AROUND = frozenset({For, Alloc, Seq, Outline, If, UnrolledInOrder, HoistedConstants})
"""Statements with others in them."""

_ACCESSES = (Load, Store)

FURTHEST = 1 << 27
"""Elements that a pointer may be moved ahead of a buffer: of 8 bytes, in an address space of 32 bits."""


@dataclass(frozen=True, slots=True)
class Address:
    """buffer + sum of items + constant, in elements; `terms` are the items in the order of the access's index."""

    buffer: Buffer
    items: Items
    constant: int
    terms: tuple[tuple[Expr, int], ...] = field(compare=False)

    def within(self, bound: frozenset[Var]) -> Items:
        """The items that are known where just the variables `bound` are."""
        return frozenset((a, c) for a, c in self.items if is_known(a, bound))


def offset_bias(items: Iterable[tuple[Expr, int]]) -> int:
    """The bias added to items that count down, so that no pointer leaves its buffer on the way: in wasm one before the
    memory would trap, since what a load adds to its address does not wrap around."""
    ranges = [range_of_sum(Affine(((a, c),), 0)) for a, c in items if c < 0]
    return -sum(min(r[0], 0) for r in ranges if r is not None)


def is_known(atom: Expr, bound: frozenset[Var]) -> bool:
    """Whether an atom can be computed once where `bound` are known (what is loaded may change, so it cannot)."""
    if isinstance(atom, Var):
        return atom in bound
    return free_vars(atom) <= bound and not any(True for _ in loads(atom))


def address(access: Load | Store | Pointer) -> Address:
    """The address of a flat access. An index whose parts go too far, such as i - i / 3 * 3 for any int32, is a single
    item."""
    (index,) = (access.offset,) if isinstance(access, Pointer) else access.indices
    whole = index.base if isinstance(index, Ramp) else index
    form = affine(whole)
    if offset_bias(form.terms) > FURTHEST:
        form = Affine(((whole, 1),), 0)
    return Address(access.buffer, frozenset(form.terms), form.constant, form.terms)


class Addresses:
    """The addresses of accesses, and those below statements, each found once while one function is lowered."""

    def __init__(self) -> None:
        self._of: dict[int, tuple[Load | Store, Address]] = {}
        self._below: dict[int, tuple[Node, tuple[Address, ...]]] = {}

    def of(self, access: Load | Store) -> Address:
        entry = self._of.get(id(access))
        if entry is None:
            self._of[id(access)] = entry = access, address(access)
        return entry[1]

    def below(self, node: Node) -> tuple[Address, ...]:
        """Addresses of all global accesses below `node`, in order, each once."""
        entry = self._below.get(id(node))
        if entry is None:
            self._below[id(node)] = entry = node, tuple(dict.fromkeys(self._find(node)))
        return entry[1]

    def _find(self, node: Node) -> Iterator[Address]:
        if type(node) in _AROUND:
            for part in node.iterations if isinstance(node, UnrolledInOrder) else children(node):
                yield from self.below(part)
        elif isinstance(node, Call):
            # The function reads and writes through what it is given.
            yield from map(address, node.pointers)
        else:
            for n in walk_inner(node):
                if isinstance(n, _ACCESSES) and n.buffer.scope is Scope.GLOBAL:
                    yield self.of(n)
