"""The vectors of constants of a loop are put into registers ahead of it, where they are many."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..dtypes import F32
from ..ir.calls import Call, HoistedConstants, UnrolledInOrder
from ..ir.lanes import Splat
from ..ir.nodes import Binary, Const, For, Kernel, Node, Stmt
from ..ir.rewrite import rewrite_statements, walk
from ..ir.scalar_ops import DOTS

MANY = 8
"""Vectors of constants in a loop from which on they compete for registers: a polynomial's coefficients, say."""


def hoist_constants(kernel: Kernel) -> Kernel:
    """for i: y = (x * c0 + c1) * x + ... + c9   ->   for i: with c0, c1, ..., c9: y = (x * c0 + c1) * x + ... + c9

    Of loops without loops and calls inside. LLVM for wasm puts what it counts no registers for back into the loop, and
    V8 takes three instructions for each of them, each time. What dots are multiplied by (`halve_dots`) is put ahead
    though it is one.
    """

    def rule(n: Node) -> Stmt | None:
        if not isinstance(n, For) or isinstance(n.body, HoistedConstants):
            return None
        constants = _constants(n.body)
        return replace(n, body=HoistedConstants(constants, n.body)) if constants else None

    body = rewrite_statements(kernel.body, rule)
    return kernel if body is kernel.body else replace(kernel, body=body)


def _constants(body: Stmt) -> tuple[Splat, ...]:
    """The vectors of one float32 but zero, each once, where they are many and nothing is unrolled; and operands of
    dots. None for a body with loops or calls."""
    splats: dict[tuple[bytes, int], Splat] = {}
    ones: dict[Splat, None] = {}
    unrolled = False
    for n in walk(body):
        match n:
            case For() | Call() | HoistedConstants():
                return ()
            case UnrolledInOrder():
                unrolled = True
            case Splat(Const(value, dtype), lanes) if dtype == F32 and value != 0:
                splats.setdefault((np.float32(value).tobytes(), lanes), n)
            case Binary(op, _, Splat(Const()) as factor) if op in DOTS:
                ones[factor] = None
    return (*(() if unrolled or len(splats) < MANY else splats.values()), *ones)
