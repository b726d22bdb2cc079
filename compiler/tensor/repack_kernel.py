"""The kernel that copies a constant from one layout to another."""

from __future__ import annotations

from ..ir.construct import all_of
from ..ir.forms import Map
from ..ir.layout import Layout
from ..ir.nodes import Expr, For, Kernel, Load, Stmt, Store, Var
from ..ir.simplify import simplify
from .tensor import Tensor


def repack_kernel(t: Tensor, there: Layout, layout: Layout) -> Kernel:
    """From `there`, in the first parameter, to `layout`, in the second; padding is zero."""
    source = there.buffer("shipped", t.dtype)
    target = layout.buffer("packed", t.dtype)
    loops = tuple(Var(f"i{d}", n) for d, n in enumerate(target.shape))
    logical = layout.logical(loops)
    inside = [
        c
        for axis, (i, n) in enumerate(zip(logical, layout.shape, strict=True))
        for c in ((i >= 0, i < n) if layout.extent(axis) != n else ())
    ]
    value: Expr = Load(source, there.index(logical), all_of(*inside) if inside else None)
    body: Stmt = Store(target, loops, value)
    for v in reversed(loops):
        body = For(v, body)
    return simplify(Kernel("repack", (source, target), body, forms=(Map(),)))
