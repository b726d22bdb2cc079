"""Blocked summation of long sums: the last step of the schedule of a reduction, on every target.

A running sum of n terms errs by up to n/2 roundings where all have the same sign (equal terms), by about their root
where they do not. In blocks of 64, and blocks of blocks, it errs by some dozens at most, and is no slower: LLVM unrolls
a loop that is as short. Lengths are those of one accumulator, after the division into lanes, invocations and stages.
"""

from __future__ import annotations

from ...ir.nodes import Stmt
from ..steps import sum_in_blocks

MOST, BLOCK = 256, 64
"""Terms of the longest unblocked sum, and of a block of a longer one."""

MOST_PRODUCTS, BLOCK_OF_PRODUCTS = 4608, 512
"""Terms for a contraction: a tile's sums fill the registers, so the totals of all blocks go through memory."""


def block_sums(stmt: Stmt) -> Stmt:
    """Blocks the sums of a scheduled reduction."""
    return sum_in_blocks(stmt, MOST, BLOCK)


def block_products(stmt: Stmt) -> Stmt:
    """Blocks the sums of a scheduled contraction."""
    return sum_in_blocks(stmt, MOST_PRODUCTS, BLOCK_OF_PRODUCTS)
