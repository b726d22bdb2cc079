"""The vectors of constants of a loop are put into registers ahead of it, where they are many."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..dtypes import F32
from ..ir.calls import Call, HoistedConstants, UnrolledInOrder
from ..ir.lanes import Splat
from ..ir.nodes import Const, For, Kernel, Node, Stmt
from ..ir.rewrite import rewrite_statements, walk

MANY = 8
"""Vectors of constants in a loop from which on they compete for registers: a polynomial's coefficients, say."""


def hoist_constants(kernel: Kernel) -> Kernel:
    """for i: y = (x * c0 + c1) * x + ... + c9   ->   for i: with c0, c1, ..., c9: y = (x * c0 + c1) * x + ... + c9

    Of loops without loops and calls inside. LLVM for wasm puts what it counts no registers for back into the loop, and
    V8 takes three instructions for each of them, each time.
    """

    def rule(n: Node) -> Stmt | None:
        if not isinstance(n, For) or isinstance(n.body, HoistedConstants):
            return None
        constants = _constants(n.body)
        return replace(n, body=HoistedConstants(constants, n.body)) if len(constants) >= MANY else None

    body = rewrite_statements(kernel.body, rule)
    return kernel if body is kernel.body else replace(kernel, body=body)


def _constants(body: Stmt) -> tuple[Splat, ...]:
    """The vectors of one float32 but zero, each once; none for a body with loops or calls."""
    splats: dict[tuple[bytes, int], Splat] = {}
    for n in walk(body):
        if isinstance(n, For | UnrolledInOrder | Call):
            return ()
        if isinstance(n, Splat) and isinstance(n.a, Const) and n.a.dtype == F32 and n.a.value != 0:
            splats.setdefault((np.float32(n.a.value).tobytes(), n.lanes), n)
    return tuple(splats.values())
