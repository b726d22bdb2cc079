"""What the invocations of a workgroup compute together. It stands in kernels for GPUs only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ..dtypes import DType
from .nodes import Expr


class Among(Enum):
    """Whose values meet. BEFORE: of the invocations of a subgroup those before the one that asks, in an order that is
    the same for all (an exclusive scan); the first gets what the operator leaves any other operand unchanged with."""

    WORKGROUP = "workgroup"
    SUBGROUP = "subgroup"
    BEFORE = "before"


@dataclass(frozen=True, slots=True)
class AllReduce(Expr):
    """`op` over what `a` is in each invocation of the workgroup, or of the subgroup; all of them get the result.

    op = + | * | max | min; of max and min no operand is a NaN. It is the whole value of a store to a local buffer,
    which stands where a barrier may; one of a workgroup in no serial loop, where the next could overtake it. A
    subgroup is what hardware runs in lockstep: 4 to 128 invocations of one workgroup, nobody says how many or
    which.
    """

    op: str
    a: Expr
    among: Among

    @property
    def dtype(self) -> DType:
        return self.a.dtype
