"""From a scheduled kernel over textures to one that the shader language can express."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..dtypes import BOOL, I32
from ..ir.lanes import Extract, Ramp, Splat, lanes_of
from ..ir.nodes import Binary, Cast, Const, Expr, Kernel, Load, Node, Select, Stmt, Store
from ..ir.rewrite import rewrite, rewrite_statements
from ..ir.simplify import NOTHING, simplify
from ..passes.branch_unlikely import branch_unlikely
from ..passes.divide_indices import divide_indices
from ..passes.expand_dots import expand_dots
from ..passes.flatten_indices import flatten_locals
from ..passes.keep_bits import keep_bits
from ..passes.keep_nans import keep_nans
from ..passes.legalise_floats import legalise_floats
from ..passes.round_clamped import round_clamped
from ..passes.saturate_casts import saturate_casts
from ..passes.scale_quotients import scale_quotients
from ..passes.share_nodes import share_nodes
from ..passes.unroll_loops import unroll_loops
from ..passes.vectorize_loops import vectorize_loops
from ..passes.whole_quotients import whole_quotients
from ..system.run_passes import Observer, ignore, run_passes


def fetch_guarded(kernel: Kernel) -> Kernel:
    """x[i] if g   ->   select(g, x[i], 0)

    A fetch out of bounds is safe and returns some value (WebGL 2, section 4.2), which is not used.
    """

    def rule(n: Node) -> Expr | None:
        match n:
            case Load(buffer, indices, guard) if guard is not None:
                zero, lanes = Const(0.0 if n.dtype.is_float else 0, n.dtype), lanes_of(n)
                return Select(_wide(guard, lanes), Load(buffer, indices), _wide(zero, lanes))
        return None

    body = rewrite(kernel.body, rule, {Load})
    return kernel if body is kernel.body else replace(kernel, body=body)


def fetch_texels(kernel: Kernel) -> Kernel:
    """x[layer, row, column, 2]   ->   x[layer, row, column, 0..+4].z"""

    def rule(n: Node) -> Expr | None:
        match n:
            case Load(buffer, (layer, row, column, Const(component, _)), guard):
                texel = Load(buffer, (layer, row, column, Ramp(Const(0), 4)), guard)
                return Extract(texel, int(component))
        return None

    body = rewrite(kernel.body, rule, {Load})
    return kernel if body is kernel.body else replace(kernel, body=body)


def skip_zeros(kernel: Kernel) -> Kernel:
    """acc = acc + 0.0 * w   ->   nothing: taps in the padding after unrolling"""

    def rule(n: Node) -> Stmt | None:
        match n:
            case Store(buffer, at, Binary("+", Load(read, there), Binary("*", a, b))) if read is buffer and at == there:
                return NOTHING if _is_zero(a) or _is_zero(b) else None
        return None

    body = rewrite_statements(kernel.body, rule)
    return kernel if body is kernel.body else replace(kernel, body=body)


def _is_zero(e: Expr) -> bool:
    return (isinstance(e, Const) and not e.value) or (isinstance(e, Splat) and _is_zero(e.a))


def select_truth_values(kernel: Kernel) -> Kernel:
    """min(a, int(b))   ->   min(a, b ? 1 : 0), where b is a bool: NVIDIA's compiler (580.159) takes the first for a."""

    def whole(e: Expr) -> Expr:
        match e:
            case Cast(_, condition) if condition.dtype == BOOL and lanes_of(e) == 1:
                return Select(condition, Const(1), Const(0))
        return e

    def rule(n: Node) -> Expr | None:
        match n:
            case Binary("max" | "min" as op, a, b) if a.dtype == I32:
                return Binary(op, whole(a), whole(b))
        return None

    body = rewrite(kernel.body, rule, {Binary})
    return kernel if body is kernel.body else replace(kernel, body=body)


def _wide(e: Expr, lanes: int) -> Expr:
    return Splat(e, lanes) if lanes > 1 else e


FRAGMENT_PASSES: tuple[Callable[[Kernel], Kernel], ...] = (
    flatten_locals,
    vectorize_loops,
    unroll_loops,
    expand_dots,
    share_nodes,
    simplify,
    skip_zeros,
    keep_bits,
    share_nodes,
    fetch_texels,
    divide_indices,
    whole_quotients,
    scale_quotients,
    round_clamped,
    legalise_floats,
    keep_nans,
    saturate_casts,
    select_truth_values,
    fetch_guarded,
    branch_unlikely,
)


def lower_fragment(kernel: Kernel, observe: Observer = ignore) -> Kernel:
    """The passes, in order."""
    return run_passes(kernel, FRAGMENT_PASSES, observe)
