"""Storage of a kernel's local and shared buffers: variables, or arrays of scalars or of vectors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...ir.affine import affine
from ...ir.lanes import Ramp
from ...ir.nodes import Binary, Buffer, Const, Expr, Load, Scope, Store


@dataclass(frozen=True, slots=True)
class Local:
    """`parts` variables, or elements of an array, of `lanes` scalars each."""

    buffer: Buffer
    lanes: int
    parts: int
    is_array: bool

    def part(self, access: Load | Store) -> int:
        """Which variable the access is to."""
        base = base_of(access)
        assert isinstance(base, Const)
        return int(base.value) // self.lanes

    def lane(self, access: Load | Store) -> int | None:
        """Which lane of a variable; None for all of it."""
        base = base_of(access)
        assert isinstance(base, Const)
        if self.lanes == 1 or isinstance(access.indices[0], Ramp):
            return None
        return int(base.value) % self.lanes

    def address(self, access: Load | Store) -> tuple[Expr, ...]:
        """Indices into the array: of the part, and of the lane where a scalar is one of a vector."""
        base = base_of(access)
        if self.lanes == 1:
            return (base,)
        if isinstance(access.indices[0], Ramp):
            return (affine(base // self.lanes).to_expr(),)
        return Binary("shr", base, Const(self.lanes.bit_length() - 1)), Binary("and", base, Const(self.lanes - 1))


def base_of(access: Load | Store) -> Expr:
    """The first element of an access to a buffer of one dimension."""
    (index,) = access.indices
    return index.base if isinstance(index, Ramp) else index


def place_local(buffer: Buffer, accesses: Iterable[Load | Store]) -> Local:
    """Variables where every access is to a known element, vectors where vectors are loaded or stored whole."""
    uses = list(accesses)
    ramps = [a for a in uses if isinstance(a.indices[0], Ramp)]
    widths = {a.indices[0].lanes for a in ramps if isinstance(a.indices[0], Ramp)}
    width = widths.pop() if len(widths) == 1 else 1
    whole = width > 1 and buffer.size % width == 0 and all(affine(base_of(a)).is_multiple(width) for a in ramps)
    lanes = width if whole else 1
    is_constant = all(isinstance(base_of(a), Const) for a in uses) and (whole or not ramps)
    return Local(buffer, lanes, buffer.size // lanes, buffer.scope is Scope.SHARED or not is_constant)
