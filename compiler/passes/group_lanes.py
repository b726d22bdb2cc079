"""Neighbouring elements are loaded as one vector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..ir.affine import Affine, affine
from ..ir.lanes import Extract, Ramp
from ..ir.nodes import Buffer, Expr, Kernel, Load, Scope, Store
from ..ir.rewrite import rewrite, walk
from ..target import LANES


def group_lanes(kernel: Kernel, chosen: Callable[[Buffer], bool] = lambda _: True) -> Kernel:
    """x[4*i + 2]   ->   x[4*i ..+4].z

    Of the global and shared buffers that are `chosen` those in which every access is to a vector at a multiple of four
    or (loads only) to an element whose lane is constant. Indices must be flat, or the last one be the lane.
    """
    refused: set[Buffer] = set()
    vectors: set[Buffer] = set()
    for n in walk(kernel.body):
        if isinstance(n, Load | Store) and n.buffer.scope is not Scope.LOCAL:
            lane = known_lane(n.indices[-1]) if n.indices else None
            if isinstance(n.indices[-1], Ramp):
                vectors.add(n.buffer)
            elif isinstance(n, Store):
                lane = None
            if lane is None or (isinstance(n.indices[-1], Ramp) and lane) or not chosen(n.buffer):
                refused.add(n.buffer)
            elif not isinstance(n.indices[-1], Ramp):
                vectors.add(n.buffer)
    grouped = vectors - refused

    def rule(n: object) -> Expr | None:
        match n:
            case Load(buffer, (*outer, last), guard) if buffer in grouped and not isinstance(last, Ramp):
                lane = known_lane(last)
                assert lane is not None
                first = affine(last - lane).to_expr()
                return Extract(Load(buffer, (*outer, Ramp(first, LANES)), guard), lane)
        return None

    body = rewrite(kernel.body, rule)
    return kernel if body is kernel.body else replace(kernel, body=body)


def known_lane(index: Expr) -> int | None:
    """Index modulo four, None where that is not the same in all iterations."""
    form = affine(index.base if isinstance(index, Ramp) else index)
    lane = form.constant % LANES
    return lane if (form + Affine((), -lane)).is_multiple(LANES) else None
