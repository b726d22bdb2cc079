"""Few bits in memory, 32 in arithmetic: how a device halves or quarters what it moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..dtypes import F16, F32, DType
from ..ir.construct import maximum, minimum
from ..ir.lanes import Splat, lanes_of
from ..ir.nodes import Buffer, Cast, Const, Expr, Kernel, Load, Node, Scope, Stmt, Store
from ..ir.rewrite import rewrite, rewrite_statements, walk
from .legalise_floats import is_infinite
from .math_functions import Num

LARGEST = 65504.0
"""The largest float16."""


def store_narrow(kernel: Kernel, types: Mapping[Buffer, DType]) -> Kernel:
    """y[i] = x[i] * 2   ->   y[i] = float16(float32(x[i]) * 2)          (x and y of type float16)

    Parameters of 32 bits get those of `types` in memory. Every value is widened when it is loaded, so that sums are
    made in 32 bits.
    """
    now = {b: replace(b, dtype=types[b]) for b in kernel.params if types.get(b, b.dtype) != b.dtype}
    if not now:
        return kernel

    def rule(n: Node) -> Node | None:
        match n:
            case Load(b, indices, guard) if b in now:
                return Cast(b.dtype, Load(now[b], indices, guard))
            case Store(b, indices, value) if b in now:
                return Store(now[b], indices, Cast(now[b].dtype, value))
        return None

    params = tuple(now.get(b, b) for b in kernel.params)
    return replace(kernel, params=params, body=rewrite(kernel.body, rule))


def load_wide(kernel: Kernel) -> tuple[Kernel, dict[int, DType]]:
    """The inverse: the kernel in 32 bits alone, and the types that its narrow parameters have in memory, by number."""
    now: dict[Buffer, Buffer] = {}
    for n in walk(kernel.body):
        match n:
            case Cast(wide, Load(b, _, _)) | Store(b, _, Cast(_, Expr(dtype=wide))) if _is_narrow(b):
                now.setdefault(b, replace(b, dtype=wide))
    narrow = {i: b.dtype for i, b in enumerate(kernel.params) if _is_narrow(b)}
    if not narrow:
        return kernel, {}

    def rule(n: Node) -> Node | None:
        match n:
            case Cast(_, Load(b, indices, guard)) if b in now:
                return Load(now[b], indices, guard)
            case Store(b, indices, Cast(_, value)) if b in now:
                return Store(now[b], indices, value)
        return None

    params = tuple(now.get(b, replace(b, dtype=F32)) if _is_narrow(b) else b for b in kernel.params)
    return replace(kernel, params=params, body=rewrite(kernel.body, rule)), narrow


def _is_narrow(b: Buffer) -> bool:
    return b.scope is Scope.GLOBAL and b.dtype.bits < F32.bits


def saturate_halves(kernel: Kernel) -> Kernel:
    """y[i] = float16(x)   ->   y[i] = float16(min(max(x, -65504), 65504)); a float16 that was widened stays as it is.

    What is beyond float16 becomes its largest number, as a mask of -3e38 needs, and no infinity, of which the next
    product would make a NaN. The model's own infinities stay, and NaN.
    """

    def rule(n: Node) -> Expr | None:
        match n:
            case Cast(to, Cast(_, a)) if to == F16 and a.dtype == F16:
                return a
        return None

    def store(n: Node) -> Stmt | None:
        match n:
            case Store(b, indices, Cast(to, a)) if to == F16 and a.dtype == F32:
                x = Num(a, lanes_of(a))
                finite = Num(minimum(maximum(a, _bound(-LARGEST, a)), _bound(LARGEST, a)), x.lanes)
                return Store(b, indices, Cast(F16, is_infinite(x).where(x, finite, x).e))
        return None

    body = rewrite_statements(rewrite(kernel.body, rule), store)
    return kernel if body is kernel.body else replace(kernel, body=body)


def _bound(value: float, like: Expr) -> Expr:
    lanes = lanes_of(like)
    bound = Const(value, F32)
    return Splat(bound, lanes) if lanes > 1 else bound
