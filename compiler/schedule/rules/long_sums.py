"""Long sums in blocks, as the last step of the schedule of every nest, on every target.

Lengths are those that one accumulator meets, after vectors, invocations and stages have had their parts. They are such
that the error of a sum of equal numbers, the worst case in practice, stays near 1e-6 of it.
"""

from __future__ import annotations

from ...ir.nodes import Stmt
from ..nest import Reduction
from ..steps import sum_in_blocks
from .contraction import find_roles

MOST, BLOCK = 256, 64
"""Terms of a sum that is made at once, and of a block of a longer one."""

MOST_PRODUCTS, BLOCK_OF_PRODUCTS = 4608, 512
"""Those of a contraction: a block's end takes as long as a few terms, for a tile of sums goes through memory."""


def sum_long_in_blocks(stmt: Stmt, nest: Reduction) -> Stmt:
    """`stmt` is what the schedule made of `nest`."""
    if find_roles(nest) is not None:
        return sum_in_blocks(stmt, MOST_PRODUCTS, BLOCK_OF_PRODUCTS)
    return sum_in_blocks(stmt, MOST, BLOCK)
