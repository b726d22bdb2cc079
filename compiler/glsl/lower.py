"""From a scheduled kernel over textures to one that the shader language can say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..ir.lanes import lanes_of
from ..ir.nodes import Const, Expr, Extract, Kernel, Load, Node, Ramp, Select, Splat
from ..ir.rewrite import rewrite
from ..ir.simplify import simplify
from ..passes.divide_indices import divide_indices
from ..passes.expand_extremes import expand_extremes
from ..passes.flatten_indices import flatten_locals
from ..passes.legalise_floats import legalise_floats
from ..passes.saturate_casts import saturate_casts
from ..passes.share_nodes import share_nodes
from ..passes.unroll_loops import unroll_loops
from ..passes.vectorize_loops import vectorize_loops


def fetch_guarded(kernel: Kernel) -> Kernel:
    """x[i] if g   ->   select(g, x[i], 0)

    A fetch beyond a texture yields something, and harms nothing (WebGL 2, section 4.2); what it yields is not used.
    """

    def rule(n: Node) -> Expr | None:
        match n:
            case Load(buffer, indices, guard) if guard is not None:
                zero: Expr = Const(0.0 if n.dtype.is_float else 0, n.dtype)
                lanes = lanes_of(n)
                if lanes > 1:
                    zero, guard = Splat(zero, lanes), Splat(guard, lanes)
                return Select(guard, Load(buffer, indices), zero)
        return None

    body = rewrite(kernel.body, rule)
    return kernel if body is kernel.body else replace(kernel, body=body)


def fetch_texels(kernel: Kernel) -> Kernel:
    """x[layer, row, column, 2]   ->   x[layer, row, column, 0..+4].z"""

    def rule(n: Node) -> Expr | None:
        match n:
            case Load(buffer, (layer, row, column, Const(component, _)), guard):
                texel = Load(buffer, (layer, row, column, Ramp(Const(0), 4)), guard)
                return Extract(texel, int(component))
        return None

    body = rewrite(kernel.body, rule)
    return kernel if body is kernel.body else replace(kernel, body=body)


FRAGMENT_PASSES: tuple[Callable[[Kernel], Kernel], ...] = (
    flatten_locals,
    vectorize_loops,
    unroll_loops,
    share_nodes,
    simplify,
    share_nodes,
    fetch_texels,
    divide_indices,
    legalise_floats,
    expand_extremes,
    saturate_casts,
    fetch_guarded,
)


def lower_fragment(kernel: Kernel) -> Kernel:
    """The passes, in order."""
    for run in FRAGMENT_PASSES:
        kernel = run(kernel)
    return kernel
