"""Which buffers a kernel can see as arrays of vectors."""

from __future__ import annotations

from ..ir.index import affine
from ..ir.lanes import Ramp
from ..ir.nodes import Buffer, Expr, Kernel, Load, Store
from ..ir.rewrite import walk


def whole_vectors(kernel: Kernel) -> frozenset[Buffer]:
    """The parameters of which every access is a vector of four at a multiple of four."""
    accesses = [n for n in walk(kernel.body) if isinstance(n, Load | Store)]
    return frozenset(b for b in kernel.params if _whole(b, accesses))


def _whole(buffer: Buffer, accesses: list[Load | Store]) -> bool:
    return all(
        isinstance(a.indices[-1], Ramp) and not _lane(a.indices[-1].base) for a in accesses if a.buffer is buffer
    )


def _lane(base: Expr) -> bool:
    form = affine(base)
    return bool(form.constant % 4 or any(c % 4 for _, c in form.terms))
