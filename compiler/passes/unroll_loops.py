"""UNROLL loops written out."""

from __future__ import annotations

from dataclasses import replace

from ..ir.nodes import Const, For, Kernel, LoopKind, Seq, Stmt
from ..ir.rewrite import rewrite_statements, substitute


def unroll_loops(kernel: Kernel) -> Kernel:
    """for v < 2 unroll: S(v)   ->   S(0); S(1)"""

    def rule(n: object) -> Stmt | None:
        if isinstance(n, For) and n.kind is LoopKind.UNROLL:
            return Seq(tuple(substitute(n.body, {n.var: Const(i)}) for i in range(n.var.extent)))
        return None

    body = rewrite_statements(kernel.body, rule)
    return kernel if body is kernel.body else replace(kernel, body=body)
