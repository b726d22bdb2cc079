"""Long sums are made in blocks: the last step of the schedule of a reduction, on every target.

A running sum of n terms errs by up to n/2 roundings where all err alike (equal terms), by about their root where they
do not. In blocks of 64, and blocks of blocks, it errs by some dozens at most, and is no slower: LLVM unrolls a loop
that is as short. Lengths are those that one accumulator meets: lanes, invocations and stages have had their parts.
"""

from __future__ import annotations

from ...ir.nodes import Stmt
from ..steps import sum_in_blocks

MOST, BLOCK = 256, 64
"""Terms of a sum that is made at once, and of a block of a longer one."""

MOST_PRODUCTS, BLOCK_OF_PRODUCTS = 4608, 512
"""Those of a contraction: the sums of a tile fill the registers, so those of all blocks go through memory."""


def block_sums(stmt: Stmt) -> Stmt:
    """Of a scheduled reduction."""
    return sum_in_blocks(stmt, MOST, BLOCK)


def block_products(stmt: Stmt) -> Stmt:
    """Of a scheduled contraction."""
    return sum_in_blocks(stmt, MOST_PRODUCTS, BLOCK_OF_PRODUCTS)
