"""Products of words by the instructions of one processor, on another one: by its own, or those that all have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..ir.nodes import Binary, Expr, Kernel, Node
from ..ir.rewrite import rewrite
from ..ir.scalar_ops import DOTS, NARROW_QUADS, PAIRS, QUADS, SIGNED, SIGNED_QUADS, UNSIGNED_QUADS

GENERIC = {PAIRS: "dot_pairs", SIGNED_QUADS: SIGNED, UNSIGNED_QUADS: QUADS, NARROW_QUADS: QUADS}
"""By kind the operation that is no instruction in particular."""


def own_dots(kernel: Kernel, dots: Sequence[str]) -> Kernel:
    """a wasm_dot_pairs b   ->   a dot_pairs b          (`dots`, the target's, have no wasm_dot_pairs)

    Tensors of products that a run packs say the instruction of the target for which the model was lowered
    (`tensor/multiply_words`); references and `--verify` run such a model on the host.
    """

    def rule(n: Node) -> Expr | None:
        if not isinstance(n, Binary) or n.op not in DOTS or n.op in dots or n.op in GENERIC.values():
            return None
        kind = DOTS[n.op]
        return Binary(next((op for op in dots if DOTS[op] == kind), GENERIC[kind]), n.a, n.b)

    body = rewrite(kernel.body, rule, {Binary})
    return kernel if body is kernel.body else replace(kernel, body=body)
