"""Groups that compute nothing: their output has the bytes of their operand (Reshape, a Transpose that the layouts
cancel), so both share memory and no kernel runs."""

from __future__ import annotations

from collections.abc import Mapping, Set

from ..ir.affine import Affine, flat_offset
from ..ir.layout import Layout
from ..ir.nodes import Expr, Load
from .fuse import Group
from .tensor import Tensor


def find_aliases(
    groups: tuple[Group, ...], layouts: Mapping[Tensor, Layout], fixed: Set[Tensor], own: Set[Tensor] = frozenset()
) -> dict[Tensor, Tensor]:
    """Output -> the tensor whose memory it shares: neither one in `fixed` (graph inputs) nor a constant. Those in `own`
    have memory of their own."""
    aliases: dict[Tensor, Tensor] = {}
    for g in groups:
        if g.output in own:
            continue
        if not isinstance(g.body, Load) or g.reduce is not None or g.body.guard is not None:
            continue
        source = next((t for t in g.reads if t.buffer is g.body.buffer), None)
        if source is None or source.is_constant or source in fixed or source.dtype != g.output.dtype:
            continue
        there, here = layouts[source], layouts[g.output]
        padded = any(lo or hi for lo, hi in (*there.pad, *here.pad))
        if not padded and _offset(there, g.body.indices) == _offset(here, g.axes):
            aliases[g.output] = source
    return aliases


def _offset(layout: Layout, logical: tuple[Expr, ...]) -> Affine:
    return flat_offset(layout.physical_shape, layout.index(logical))
