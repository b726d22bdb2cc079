"""float16 in memory, float32 in arithmetic: how a device halves what it moves."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from ..dtypes import F16, F32
from ..ir.construct import maximum, minimum
from ..ir.lanes import Splat, lanes_of
from ..ir.nodes import Buffer, Cast, Const, Expr, Kernel, Load, Node, Store
from ..ir.rewrite import rewrite
from .legalise_floats import is_infinite
from .math_functions import Num

LARGEST = 65504.0
"""The largest float16."""


def store_halves(kernel: Kernel, halves: Set[Buffer]) -> Kernel:
    """y[i] = x[i] * 2   ->   y[i] = float16(float32(x[i]) * 2)          (x and y among `halves`)

    Of float32 parameters. Every value is widened when it is loaded, so that sums are made in float32.
    """
    now = {b: Buffer(b.name, b.shape, F16, b.scope, b.constant, b.layout) for b in kernel.params if b in halves}
    if not now:
        return kernel

    def rule(n: Node) -> Node | None:
        match n:
            case Load(b, indices, guard) if b in now:
                return Cast(F32, Load(now[b], indices, guard))
            case Store(b, indices, value) if b in now:
                return Store(now[b], indices, Cast(F16, value))
        return None

    params = tuple(now.get(b, b) for b in kernel.params)
    return replace(kernel, params=params, body=rewrite(kernel.body, rule))


def load_wide(kernel: Kernel) -> tuple[Kernel, frozenset[int]]:
    """The inverse: the kernel in float32 alone, and which of its parameters were halves."""
    now = {b: Buffer(b.name, b.shape, F32, b.scope, b.constant, b.layout) for b in kernel.params if b.dtype == F16}
    if not now:
        return kernel, frozenset()

    def rule(n: Node) -> Node | None:
        match n:
            case Cast(to, Load(b, indices, guard)) if b in now and to == F32:
                return Load(now[b], indices, guard)
            case Store(b, indices, Cast(_, value)) if b in now:
                return Store(now[b], indices, value)
        return None

    params = tuple(now.get(b, b) for b in kernel.params)
    halves = frozenset(i for i, b in enumerate(kernel.params) if b in now)
    return replace(kernel, params=params, body=rewrite(kernel.body, rule)), halves


def saturate_halves(kernel: Kernel) -> Kernel:
    """float16(x)   ->   float16(min(max(x, -65504), 65504)); a float16 that was widened alone stays as it is.

    What is beyond float16 becomes its largest number, as a mask of -3e38 needs, and no infinity, of which the next
    product would make a NaN. The model's own infinities stay, and NaN.
    """

    def rule(n: Node) -> Expr | None:
        match n:
            case Cast(to, Cast(_, a)) if to == F16 and a.dtype == F16:
                return a
            case Cast(to, a) if to == F16 and a.dtype == F32:
                x = Num(a, lanes_of(a))
                finite = Num(minimum(maximum(a, _bound(-LARGEST, a)), _bound(LARGEST, a)), x.lanes)
                return Cast(F16, is_infinite(x).where(x, finite, x).e)
        return None

    body = rewrite(kernel.body, rule)
    return kernel if body is kernel.body else replace(kernel, body=body)


def _bound(value: float, like: Expr) -> Expr:
    lanes = lanes_of(like)
    bound = Const(value, F32)
    return Splat(bound, lanes) if lanes > 1 else bound
