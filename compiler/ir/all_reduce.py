"""Collectives of the invocations of a workgroup. They stand in kernels for GPUs only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ..dtypes import DType
from .nodes import Expr


class Among(Enum):
    """The invocations whose values are combined. EXCLUSIVE_SCAN: those of the subgroup before the invocation, in an
    order that is the same for all; the first gets the operator's neutral element."""

    WORKGROUP = "workgroup"
    SUBGROUP = "subgroup"
    EXCLUSIVE_SCAN = "before"


@dataclass(frozen=True, slots=True)
class AllReduce(Expr):
    """A collective: `op` over the values of `a` in the invocations of the workgroup or subgroup; all get the result.

    `op` is an operator of `reduction.COMBINE`; of max and min no operand is a NaN. It is the whole value of a store to
    a local buffer, which stands where a barrier may; one of a workgroup in no serial loop, where the next could
    overtake it. A subgroup is what hardware runs in lockstep: 4 to 128 invocations of one workgroup; neither their
    number nor which they are is known.
    """

    op: str
    a: Expr
    among: Among

    @property
    def dtype(self) -> DType:
        return self.a.dtype
