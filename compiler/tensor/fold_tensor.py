"""Constant folding of tensors: those that grow are prepared, computed by a kernel at load, so that no file has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..dtypes import BOOL, F16, F32, I8, I16, I32, U8, U16, U32
from ..ir.nodes import COMPARISONS, Binary, Expr, Node, Unary
from ..ir.reduction import Reduce
from ..ir.rewrite import walk
from .evaluate import Array, evaluate, unevaluated
from .halves import fits_half
from .tensor import Tensor, constant

GROWTH = 2**13
"""Fewest bytes that a kernel at load saves: its code, for each target, takes a few thousand."""

MOST_READS = 4
"""Tensors that a kernel at load reads: as many as one may on every target."""

_GROWING = (F16.numpy, F32.numpy, I8.numpy, I16.numpy, U8.numpy)
_EXACT = ("+", "-", "*", *COMPARISONS)
_DTYPES = frozenset({BOOL, F16, F32, I8, I16, I32, U8, U16, U32})


def fold(t: Tensor, data: Array | None = None) -> Tensor:
    """The tensor with its elements, which are `data`, where they are known at compile time; prepared where it grows."""
    if t.data is not None or not t.depends_only_on_constants:
        return t
    data = evaluate(t) if data is None else data
    if may_prepare([t]) and grows(data, shipped_bytes(t.reads)):
        return prepared(t, data)
    return constant(t.name, data)


def prepared(t: Tensor, data: Array) -> Tensor:
    """`t`, whose elements are `data`, as a tensor to compute at load; so are those that it is made of."""
    reads = tuple(r if r.data is not None else prepared(r, evaluate(r)) for r in t.reads)
    return replace(t, reads=reads, data=data, prepared=True)


def grows(data: Array, operands: float) -> bool:
    """Whether floats, or integers of 8 and 16 bits, take more bytes than the `operands` that they are made of. Others
    are indices and sizes, of which the elements are needed."""
    if data.dtype not in _GROWING or data.nbytes < operands + GROWTH:
        return False
    return data.nbytes // (2 if fits_half(data) else 1) >= operands + GROWTH


def may_prepare(tensors: Sequence[Tensor]) -> bool:
    """Whether kernels of all targets compute the elements that are known at build: they move, select, convert, add and
    multiply. Devices round quotients and functions otherwise, and sums go by their order."""
    return all(
        t.body is not None and len(t.reads) <= MOST_READS and all(_is_exact(n) for n in walk(t.body))
        for t in unevaluated(tensors)
    )


def _is_exact(n: Node) -> bool:
    match n:
        case Reduce():
            return False
        case Binary(op, a, _) if a.dtype.is_float:
            return op in _EXACT
        case Unary(_, a) if a.dtype.is_float:
            return False
    return not isinstance(n, Expr) or n.dtype in _DTYPES


def shipped_bytes(tensors: Sequence[Tensor]) -> int:
    """The bytes of the constants that `tensors` are, or are computed from, each once."""
    shipped: dict[Tensor, None] = {}
    waiting = list(tensors)
    while waiting:
        r = waiting.pop()
        if r.data is None or r.prepared:
            waiting.extend(r.reads)
        else:
            shipped[r] = None
    return sum(r.data.nbytes for r in shipped if r.data is not None)
