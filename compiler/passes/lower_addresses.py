"""Accesses to global memory go through pointers, which loops advance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from typing import cast

from ..ir.addresses import Address, Addresses, Items, address, is_known, offset_bias
from ..ir.calls import Advance, Call, HoistedConstants, Pointer, UnrolledInOrder
from ..ir.lanes import Ramp
from ..ir.nodes import Binary, Buffer, Const, Expr, For, Kernel, Load, Node, Scope, Seq, Stmt, Store, Var
from ..ir.pointers import Advancing, LoopPointer, Opaque, PointTo
from ..ir.rewrite import free_vars, map_children, map_inner

NOTHING: Items = frozenset()

KnownOffset = tuple[Buffer, Items]
"""A buffer, and the items of an offset in it that are known: where a pointer points, moved up by their bias."""

Computed = tuple[Buffer, Pointer]
"""A pointer, and its address."""


def lower_addresses(kernel: Kernel) -> Kernel:
    """for i: for j: y[8*i + j] = x[t[i] + 7 - j]
    ->  for i: q from y by 8, r from t by 1: for j: s from q by 1, p from x + 7 by -1: s[0] = p[r[0]*1]

    A pointer is made where the last of what it needs becomes known: at the head of a function, where those are numbers
    that it is given, else by a loop, which advances it by multiples of its variable, and computes other terms at the
    head of its body. What an access adds to its pointer is a constant, after the terms that load something. So in an
    innermost loop most accesses are a pointer plus a constant, which is what a wasm load or an x86 operand can hold.

    A pointer is moved up ahead of terms that count down, so that none leaves its buffer on the way: in wasm one before
    the memory would trap, since what a load adds to its address does not wrap around.
    """
    body = _lower_function(kernel.body, kernel.params, kernel.scalars)
    return kernel if body is kernel.body else replace(kernel, body=body)


def _lower_function(body: Stmt, params: Sequence[Buffer], numbers: Iterable[Var]) -> Stmt:
    f = _Function(params, numbers)
    _, computed = f.enter(body)
    return _point_to(computed, f.statement(body))


class _Function:
    """A function while its statements are lowered: the variables that are known, in the order in which they became so,
    the pointers that are made, and the items of each address that a pointer includes. `ahead` are the pointers that
    single elements are read through in place of others, with how far they are from those."""

    def __init__(self, params: Sequence[Buffer], numbers: Iterable[Var]) -> None:
        self._addresses = Addresses()
        self._variables = {v: i for i, v in enumerate(numbers)}
        self._pointers: dict[KnownOffset, Buffer] = {(p, NOTHING): p for p in params}
        self._items: dict[Address, Items] = {}
        self._ahead: dict[KnownOffset, tuple[Buffer, int]] = {}
        self._lowered: dict[int, Node] = {}

    def statement(self, s: Stmt) -> Stmt:
        match s:
            case Store():
                return self._store(s)
            case For():
                return self._loop(s)
            case Call(body, params, pointers, numbers):
                arguments = tuple(map(self._argument, pointers))
                inner = _lower_function(body, params, numbers)
                return s if inner is body and arguments == pointers else Call(inner, params, arguments, numbers)
            case UnrolledInOrder():
                return self._in_order(s)
        return cast(Stmt, map_children(s, lambda c: c if isinstance(c, Expr) else self.statement(c)))

    def enter(self, body: Stmt, var: Var | None = None) -> tuple[list[LoopPointer], list[Computed]]:
        """Makes the pointers that `body` needs and that became known just before it, by the variable of a loop or by
        all of the function's numbers: those that the loop advances, and those that are then computed."""
        bound = frozenset(self._variables)
        self._pointers, self._items = dict(self._pointers), dict(self._items)
        advanced: list[LoopPointer] = []
        computed: list[Computed] = []
        for a in self._addresses.below(body):
            outside = self._items.get(a, NOTHING)
            new = frozenset(i for i in a.items - outside if is_known(i[0], bound))
            if not new:
                continue
            self._items[a] = now = outside | new
            pointer = self._pointers[a.buffer, outside]
            advance = next((i for i in new if i[0] is var), None)
            if advance is not None:
                key = a.buffer, outside | {advance}
                if key not in self._pointers:
                    start = Pointer(pointer, Const(offset_bias([advance])))
                    self._pointers[key] = _pointer(pointer)
                    advanced.append(LoopPointer(self._pointers[key], start, advance[1]))
                pointer = self._pointers[key]
            if (a.buffer, now) not in self._pointers:
                at = Pointer(pointer, self._sum(new - {advance}, 0))
                self._pointers[a.buffer, now] = _pointer(pointer)
                computed.append((self._pointers[a.buffer, now], at))
        return advanced, computed

    def _loop(self, loop: For) -> For:
        around = self._pointers, self._items
        self._variables[loop.var] = len(self._variables)
        body = loop.body
        advanced, computed = self.enter(body, loop.var)
        if isinstance(body, HoistedConstants):
            body = replace(body, body=_point_to(computed, self.statement(body.body)))
        else:
            body = _point_to(computed, self.statement(body))
        if advanced:
            body = Advancing(tuple(advanced), body)
        del self._variables[loop.var]
        self._pointers, self._items = around
        return loop if body is loop.body else replace(loop, body=body)

    def _in_order(self, s: UnrolledInOrder) -> Stmt:
        """The iterations, and between two of them what makes the sums and the pointers opaque."""
        around = self._ahead
        sums = (Opaque(s.sums),) if s.sums else ()
        parts: list[tuple[list[Computed], Stmt]] = []
        for i, iteration in enumerate(s.iterations):
            moved = [self._advance(a) for a in s.advances] if i else []
            parts.append((moved, self.statement(iteration)))
        self._ahead = around
        moved, result = parts.pop()
        for before, iteration in reversed(parts):
            result = Seq((iteration, *sums, _point_to(moved, result, opaque=True)))
            moved = before
        return result

    def _advance(self, advance: Advance) -> Computed:
        a = address(advance.pointer)
        key = a.buffer, a.items
        pointer, done = self._ahead.get(key, (self._pointers[key], 0))
        moved = _pointer(pointer)
        self._ahead = {**self._ahead, key: (moved, done + advance.step)}
        return moved, Pointer(pointer, Const(advance.step))

    def _argument(self, p: Pointer) -> Pointer:
        a = address(p)
        return Pointer(self._pointers[a.buffer, a.items], Const(a.constant - offset_bias(a.items)))

    def _store(self, s: Store) -> Store:
        self._lowered = {}
        if s.buffer.scope is not Scope.GLOBAL:
            return cast(Store, map_inner(s, self._lower))
        value = self._expression(s.value)
        buffer, indices = self._place(s)
        same = value is s.value and buffer is s.buffer and indices == s.indices
        return s if same else Store(buffer, indices, value)

    def _expression(self, e: Expr) -> Expr:
        return cast(Expr, self._lower(e))

    def _lower(self, n: Node) -> Node:
        """Lowers an expression of the statement; what is shared in it stays so."""
        lowered = self._lowered.get(id(n))
        if lowered is None:
            if isinstance(n, Load) and n.buffer.scope is Scope.GLOBAL:
                lowered = self._load(n)
            else:
                lowered = map_inner(n, self._lower)
            self._lowered[id(n)] = lowered
        return lowered

    def _load(self, e: Load) -> Load:
        guard = None if e.guard is None else self._expression(e.guard)
        buffer, indices = self._place(e)
        same = guard is e.guard and buffer is e.buffer and indices == e.indices
        return e if same else Load(buffer, indices, guard)

    def _place(self, access: Load | Store) -> tuple[Buffer, tuple[Expr]]:
        """The pointer of an access, and what it adds."""
        a = self._addresses.of(access)
        (at,) = access.indices
        items = self._items.get(a, NOTHING)
        pointer, done = self._pointers[a.buffer, items], 0
        if not isinstance(at, Ramp):
            pointer, done = self._ahead.get((a.buffer, items), (pointer, 0))
        added, constant = a.items - items, a.constant - offset_bias(a.items) - done
        offset = self._sum(added, constant) if added else Const(constant)
        return pointer, (Ramp(offset, at.lanes) if isinstance(at, Ramp) else offset,)

    def _sum(self, items: Items, constant: int) -> Expr:
        """The bias that `items` need, the items, each a product, the largest multiple first, and a constant."""
        bias = offset_bias(items)
        terms: list[Expr] = [Const(bias)] if bias else []
        ordered = sorted(items, key=lambda item: self._rank(*item)) if len(items) > 1 else items
        terms += (Binary("*", self._expression(atom), Const(c)) for atom, c in ordered)
        if constant or not terms:
            terms.append(Const(constant))
        return reduce(lambda a, b: Binary("+", a, b), terms)

    def _rank(self, atom: Expr, coefficient: int) -> tuple[int, str, list[int]]:
        """An order that does not depend on identities, so that equal input gives equal output."""
        return -coefficient, repr(atom), sorted(self._variables[v] for v in free_vars(atom))


def _pointer(like: Buffer) -> Buffer:
    return Buffer(like.name, like.shape, like.dtype)


def _point_to(computed: Sequence[Computed], body: Stmt, *, opaque: bool = False) -> Stmt:
    """`body` with pointers, in order."""
    for pointer, at in reversed(computed):
        body = PointTo(pointer, at, body, opaque)
    return body
