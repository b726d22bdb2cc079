"""pack: a constant is stored in another layout, the one in which its kernel reads it."""

from __future__ import annotations

from ...errors import ScheduleError
from ...ir.layout import Layout
from ...ir.nodes import Buffer, Expr, Load, Stmt
from ...ir.rewrite import rewrite


def pack(stmt: Stmt, buffer: Buffer, layout: Layout) -> tuple[Stmt, Buffer]:
    """w[i, j]   ->   w'[j // 8, i, j % 8]          (layout: order (1, 0), block (1, 8))

    Returns the new buffer, which replaces the old one among the kernel's parameters.
    """
    if not buffer.constant or buffer.layout is None:
        raise ScheduleError(f"pack: {buffer.name} is not a constant; only constants can be packed")
    old = buffer.layout
    if layout.shape != old.shape:
        raise ScheduleError(f"pack: {buffer.name} is of shape {list(old.shape)}, its layout of {list(layout.shape)}")
    packed = layout.buffer(buffer.name, buffer.dtype, constant=True)

    def rule(n: object) -> Expr | None:
        if isinstance(n, Load) and n.buffer is buffer:
            return Load(packed, layout.index(old.logical(n.indices)), n.guard)
        return None

    return rewrite(stmt, rule), packed
