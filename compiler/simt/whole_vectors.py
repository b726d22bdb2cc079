"""The buffers that a kernel can access as arrays of vectors."""

from __future__ import annotations

from ..ir.affine import affine
from ..ir.lanes import Ramp
from ..ir.nodes import Buffer, Kernel, Load, Store
from ..ir.rewrite import walk
from ..target import LANES


def whole_vectors(kernel: Kernel) -> frozenset[Buffer]:
    """The parameters of which every access is a vector of four at a multiple of four."""
    accesses = [n for n in walk(kernel.body) if isinstance(n, Load | Store)]
    return frozenset(b for b in kernel.params if _whole(b, accesses))


def _whole(buffer: Buffer, accesses: list[Load | Store]) -> bool:
    places = [a.indices[-1] for a in accesses if a.buffer is buffer]
    return all(isinstance(i, Ramp) and affine(i.base).is_multiple(LANES) for i in places)
