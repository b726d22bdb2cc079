"""The shapes of loop nest that naive kernels are made of: parallel loops around a store, or around a reduction.

A nest is read from statements wherever it is used, since every step of a schedule makes other loops; what it is for is
not: a kernel's forms say that (`forms.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import ScheduleError
from .nodes import Alloc, Binary, Buffer, Expr, For, Seq, Stmt, Store, Var
from .printer import print_node


@dataclass(frozen=True, slots=True)
class Pointwise:
    """Parallel loops, outermost first, around one store."""

    loops: tuple[Var, ...]
    store: Store


@dataclass(frozen=True, slots=True)
class Reduction:
    """Parallel loops around: local acc; acc = start; reduction loops: acc = acc `op` value; store."""

    loops: tuple[Var, ...]
    acc: Buffer
    start: Store
    over: tuple[Var, ...]
    update: Store
    store: Store

    @property
    def op(self) -> str:
        assert isinstance(self.update.value, Binary)
        return self.update.value.op

    @property
    def value(self) -> Expr:
        assert isinstance(self.update.value, Binary)
        return self.update.value.b


Nest = Pointwise | Reduction


def match_nest(stmt: Stmt) -> Nest | None:
    """`stmt` as a nest; None for other statements (a sequence, or one already scheduled)."""
    loops: list[Var] = []
    while isinstance(stmt, For) and stmt.parallel:
        loops.append(stmt.var)
        stmt = stmt.body
    match stmt:
        case Store():
            return Pointwise(tuple(loops), stmt)
        case Alloc(acc, Seq((Store() as start, middle, Store() as store))):
            over: list[Var] = []
            while isinstance(middle, For) and not middle.parallel:
                over.append(middle.var)
                middle = middle.body
            if isinstance(middle, Store) and middle.buffer is acc and isinstance(middle.value, Binary):
                return Reduction(tuple(loops), acc, start, tuple(over), middle, store)
    return None


def match_reduction(stmt: Stmt) -> Reduction:
    """`stmt` as a reduction. Raises ScheduleError for another nest."""
    nest = match_nest(stmt)
    if not isinstance(nest, Reduction):
        raise ScheduleError(f"a reduction is expected, not\n{print_node(stmt)}")
    return nest


def nests(stmt: Stmt) -> Iterator[Nest]:
    """The nests of a naive kernel, in order: bands, and the sequences in them, are loops around several."""
    nest = match_nest(stmt)
    match stmt:
        case _ if nest is not None:
            yield nest
        case Seq(stmts):
            for s in stmts:
                yield from nests(s)
        case For(_, body, _, _):
            yield from nests(body)
