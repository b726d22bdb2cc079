"""Where an access lies: the part that a loop advances, and the constant that the instruction carries."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.index import affine
from ..ir.nodes import Buffer, Expr, Load, Node, Ramp, Scope, Store, Var
from ..ir.rewrite import free_vars, loads, walk

Items = frozenset[tuple[Expr, int]]
"""Atoms of an element offset with their coefficients."""


@dataclass(frozen=True, slots=True)
class Address:
    """buffer + sum of items + constant, in elements."""

    buffer: Buffer
    items: Items
    constant: int

    def within(self, bound: frozenset[Var]) -> Items:
        """The items that are known where just the variables `bound` are."""
        return frozenset((a, c) for a, c in self.items if is_known(a, bound))


def is_known(atom: Expr, bound: frozenset[Var]) -> bool:
    """Whether an atom can be computed once where `bound` are known (what is loaded may change, so it cannot)."""
    return free_vars(atom) <= bound and not any(True for _ in loads(atom))


def address(access: Load | Store) -> Address:
    """The address of a flat access."""
    (index,) = access.indices
    form = affine(index.base if isinstance(index, Ramp) else index)
    return Address(access.buffer, frozenset(form.terms), form.constant)


def global_addresses(node: Node) -> list[Address]:
    """Those of all global accesses below `node`, in order, each once."""
    found: dict[Address, None] = {}
    for n in walk(node):
        if isinstance(n, Load | Store) and n.buffer.scope is Scope.GLOBAL:
            found[address(n)] = None
    return list(found)


def affine_terms(access: Load | Store) -> tuple[tuple[Expr, int], ...]:
    """The atoms of a flat access with their coefficients, in order of appearance."""
    (index,) = access.indices
    return affine(index.base if isinstance(index, Ramp) else index).terms
