"""How many panels of B a tile of rows meets before the next tile of rows has its turn."""

from __future__ import annotations

FIRST_LEVEL = 16384
"""Bytes: half of a usual first-level data cache."""

SECOND_LEVEL = 262144
"""Bytes: a quarter to a half of a usual second-level cache."""

SHORT_RUNS = 2
"""What a byte of A costs in bytes of B. B is read in the order of addresses, panel after panel, and the hardware
fetches it ahead of its use, from the third level, too; A is as many short runs as the tile has rows."""


def panels_inside(a: int, b: int, row_tiles: int, panels: int) -> int:
    """1: the loop over panels stands around the rows; `panels`: inside them; else blocks of so many inside the rows.

    `a` and `b` are the operands of one product in bytes. What is read again and again costs its bytes each time, unless
    it stays in the first-level cache: with the panels outside that is A, else B, of which a block then stays in the
    second-level cache.
    """
    again_a = 0 if a <= FIRST_LEVEL else SHORT_RUNS * a * panels
    again_b = 0 if b <= FIRST_LEVEL else b * row_tiles
    if again_a <= again_b:
        return 1
    most = max(1, SECOND_LEVEL * panels // b)
    blocks = -(-panels // most)
    return -(-panels // blocks)
