"""How a statement's memory accesses move with its loops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..dtypes import BOOL, F32, I8, I16, I32, U8, U32
from ..ir.affine import Affine, flat_offset
from ..ir.nodes import Binary, Buffer, Expr, If, Load, Node, Scope, Select, Store, Var
from ..ir.rewrite import children, free_vars, walk

ELEMENTS = (F32, I32, U32, I8, U8, I16)
"""Types of elements that fill lanes; mostly, narrow ones are widened where they are loaded, and made where stored."""


@dataclass(frozen=True, slots=True)
class Access:
    """A global load or store with its element offset in canonical form."""

    node: Load | Store
    offset: Affine

    @property
    def buffer(self) -> Buffer:
        return self.node.buffer

    def stride(self, var: Var) -> int | None:
        """The stride of the address in `var`, in elements; None where it is not constant."""
        if any(var in free_vars(atom) for atom, _ in self.offset.terms if atom != var):
            return None
        return self.offset.coefficient(var)


def accesses(node: Node) -> Iterator[Access]:
    """Every load and store of a global buffer below `node`."""
    for n in walk(node):
        if isinstance(n, Load | Store) and n.buffer.scope is Scope.GLOBAL:
            yield Access(n, flat_offset(n.buffer.shape, n.indices))


def vectorisable(node: Node, var: Var) -> bool:
    """Whether a loop over `var` can run in SIMD lanes: its elements have at most 32 bits, each access is contiguous or
    uniform in `var`, guards, gathered indices and integer divisions are uniform."""
    for n in walk(node):
        if isinstance(n, If):
            return False
        if isinstance(n, Load):
            if n.guard is not None and _varies(n.guard, var):
                return False
            if any(isinstance(x, Load) and _varies(x, var) for i in n.indices for x in walk(i)):
                return False
        if isinstance(n, Store | Load) and n.buffer.dtype not in ELEMENTS:
            return False
    values = [n.value for n in walk(node) if isinstance(n, Store)] + ([node] if isinstance(node, Expr) else [])
    for x in (x for v in values for x in _outside_loads(v)):
        if x.dtype not in (*ELEMENTS, BOOL):
            return False
        divides = isinstance(x, Binary) and x.dtype.is_int and x.op in ("//", "%", "fmod", "/")
        if divides and _varies(x, var):
            return False
    return all(a.stride(var) in ((1,) if isinstance(a.node, Store) else (0, 1)) for a in accesses(node))


def _varies(e: Expr, var: Var) -> bool:
    """Whether `e` differs from lane to lane. An accumulator also has a value per lane."""
    return var in free_vars(e) or any(isinstance(x, Load) and x.buffer.scope is Scope.LOCAL for x in walk(e))


def contiguous(node: Node, outer: Var, inner: Var) -> bool:
    """Whether the stride of `outer` is `inner.extent` times that of `inner` in every access, so that both may be fused
    without leaving a division. Elements of an inner loop that is dynamic are not: memory has room for its capacity."""
    if inner.length is not None:
        return False
    for n in walk(node):
        if isinstance(n, Load) and n.guard is not None and free_vars(n.guard) & {outer, inner}:
            return False
        if isinstance(n, Select) and free_vars(n.cond) & {outer, inner} and not _is_data(n.cond):
            return False
    for a in accesses(node):
        o, i = a.stride(outer), a.stride(inner)
        if o is None or i is None or o != i * inner.extent:
            return False
    return not _index_as_value(node, {outer, inner})


def _is_data(cond: Expr) -> bool:
    """A condition on loaded elements: its loop variables occur in indices only."""
    return all(isinstance(x, Load) or not isinstance(x, Var) for x in _outside_loads(cond))


def _index_as_value(node: Node, variables: set[Var]) -> bool:
    """Whether a loop variable is used as a number, not only to address memory."""
    return any(
        isinstance(n, Store) and any(isinstance(x, Var) and x in variables for x in _outside_loads(n.value))
        for n in walk(node)
    )


def _outside_loads(e: Expr) -> Iterator[Expr]:
    stack: list[Expr] = [e]
    while stack:
        n = stack.pop()
        yield n
        if not isinstance(n, Load):
            stack.extend(c for c in children(n) if isinstance(c, Expr))
