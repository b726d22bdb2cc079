"""The loop order of a product on a CPU, as in GEBP (Goto and van de Geijn, "Anatomy of High-Performance Matrix
Multiplication", 2008): the number of panels of B inside the loop over tiles of rows."""

from __future__ import annotations

from ...costs import CpuCosts


def panels_inside(a: int, b: int, row_tiles: int, panels: int, costs: CpuCosts) -> int:
    """1: the loop over panels is around the rows; `panels`: inside them; else blocks of so many inside the rows.

    `a` and `b` are the operands of one product in bytes. The reread operand costs its bytes each time, unless it stays
    in the first-level cache: with the panels outside that is A, else B, of which a block then stays in the second-level
    cache.
    """
    again_a = 0 if a <= costs.operand_in_first_level else costs.short_runs * a * panels
    again_b = 0 if b <= costs.operand_in_first_level else b * row_tiles
    if again_a <= again_b:
        return 1
    most = max(1, costs.panels_in_second_level * panels // b)
    blocks = -(-panels // most)
    return -(-panels // blocks)
