"""Largest and least of vectors by the relaxed instruction: for wasm with relaxed SIMD."""

from __future__ import annotations

from dataclasses import replace

from ..dtypes import F32
from ..ir.lanes import Splat, lanes_of
from ..ir.nodes import Binary, Const, Expr, Kernel, Node, Select
from ..ir.rewrite import rewrite
from ..target import WASM_RELAXED


def relax_extremes(kernel: Kernel) -> Kernel:
    """max(a, b)   ->   relaxed_max(a, b)          select(a < b, b, a)   ->   relaxed_max(a, b)

    The meaning stays: a NaN in `a` does. LLVM takes a selection by a comparison for the relaxed instruction, too, but
    with its operands in either order. That instruction returns the second one where one is a NaN, on x86 in V8 and
    SpiderMonkey: so the order has to be explicit.
    """

    def rule(n: Node) -> Expr | None:
        match n:
            case Binary("max" | "min" as op, a, b) if _relaxable(a):
                return Binary(f"relaxed_{op}", a, b)
            case Select(Binary("<", x, y), chosen, other) if _relaxable(x):
                if _same(chosen, y) and _same(other, x):
                    return Binary("relaxed_max", x, y)
                if _same(chosen, x) and _same(other, y):
                    return Binary("relaxed_min", y, x)
        return None

    body = rewrite(kernel.body, rule)
    return kernel if body is kernel.body else replace(kernel, body=body)


def _relaxable(e: Expr) -> bool:
    return e.dtype == F32 and lanes_of(e) == WASM_RELAXED.lanes


def _same(a: Expr, b: Expr) -> bool:
    """Whether both are one node, or equal constants."""
    return a is b or (isinstance(a, Splat) and isinstance(a.a, Const) and a == b)
