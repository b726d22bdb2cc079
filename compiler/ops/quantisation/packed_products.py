"""Products by weights of few bits that stay in words of 32 bits: processors multiply four bytes at once, and add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...dtypes import F32, I8, I32
from ...ir.construct import maximum, minimum, unary
from ...ir.nodes import Binary, Const, Expr
from ...ir.scalar_ops import QUADS
from ...tensor import Tensor, compute, constant
from ..call import Call
from ..movement.reshaping import reshaped
from ..reductions.reduce_axes import reduce_over

BYTES = 4
"""Elements whose products are added at once."""

NARROW = 4
"""Bits of a part of an element, at most: sums of the products of a span fit 16 bits."""

SPAN = 32
"""Elements whose products are added as integers, at most."""

PANEL = 16
"""Columns whose words are neighbours in memory."""

_LEAST_PEAK = 127 * 2.0**-120
"""Largest magnitude of a block of zeros."""


@dataclass(frozen=True, slots=True)
class Quanta:
    """Weights (columns, blocks, size) of so many `bits`: `elements` less `zeros`, times `scales`, which are those of
    blocks, (columns, blocks)."""

    elements: np.ndarray
    bits: int
    scales: np.ndarray
    zeros: np.ndarray | None

    @property
    def shape(self) -> tuple[int, int, int]:
        columns, blocks, size = self.elements.shape
        return columns, blocks, size

    @property
    def middle(self) -> int:
        """The zero point of weights without `zeros`."""
        return 1 << (self.bits - 1)


def packed_products(call: Call, a: Tensor, w: Quanta) -> Tensor:
    """The product of `a` and the weights: rows of `a` are quantised to 8 bits, in blocks as the weights are, and the
    sums of a span are integers."""
    columns, blocks, size = w.shape
    parts = max(1, size // SPAN)
    held = f"uint{w.bits}"
    words = constant(f"{call.name}.words", _in_panels(_words(w).reshape(columns, blocks, parts, -1)), held)
    scales = constant(f"{call.name}.scales", _in_panels(w.scales.astype(np.float32)))
    zeros = None if w.zeros is None else constant(f"{call.name}.zeros", _in_panels(w.zeros.astype(np.uint8)))
    x, sums, step = _quantised(call, a, (blocks, parts, size // parts), w.middle if zeros is None else 1)

    def value(row: Sequence[Expr], p: Expr, c: Expr, b: Expr, part: Expr) -> Expr:
        total = _dots(
            [words[p, b, part, at, c] for at in range(words.extents[3])],
            [x.read([*row, b, part, Const(at)]) for at in range(x.extents[-1])],
            w.bits,
        )
        less = sums.read([*row, b, part])
        exact = total - (less if zeros is None else less * zeros[p, b, c].cast(I32))
        return exact.cast(F32) * (scales[p, b, c] * step.read([*row, b]))

    lead = a.shape[:-1]
    product = compute(
        f"{call.name}.panels",
        (*lead, words.extents[0], PANEL),
        (x, sums, step, words, scales, zeros),
        lambda *i: reduce_over("sum", (blocks, parts), lambda b, part: value(i[:-2], i[-2], i[-1], b, part)),
    )
    if columns % PANEL == 0:
        return reshaped(call.name, product, (*lead, columns))
    return compute(
        call.name, (*lead, columns), (product,), lambda *i: product.read([*i[:-1], i[-1] // PANEL, i[-1] % PANEL])
    )


def _quantised(call: Call, a: Tensor, shape: tuple[int, int, int], zero: int) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of `a` in blocks of parts of spans: words of int8; the sums of each span, times `zero`; and for each block
    what 1 stands for."""
    blocks, parts, span = shape
    lead, depth = a.shape[:-1], a.extents[-1]

    def element(row: Sequence[Expr], at: Expr) -> Expr:
        return a.read([*row, at], guard=None if depth == blocks * parts * span else at < depth)

    def peak_of(*i: Expr) -> Expr:
        size = parts * span
        return reduce_over("max_nan", (size,), lambda k: unary("abs", element(i[:-1], i[-1] * size + k)))

    peak = compute(f"{call.name}.peak", (*lead, blocks), (a,), peak_of)

    def largest(*i: Expr) -> Expr:
        return maximum(peak.read(i), _LEAST_PEAK)

    step = compute(f"{call.name}.step", peak.shape, (peak,), lambda *i: largest(*i) / 127.0)

    def quantum(*i: Expr) -> Expr:
        *row, b, part, k = i
        scaled = element(row, (b * parts + part) * span + k) * (127.0 / largest(*row, b))
        return minimum(maximum(-127.0, unary("round", scaled)), 127.0).cast(I8)

    quanta = compute(f"{call.name}.quanta", (*lead, *shape), (a, peak), quantum)

    def word(*i: Expr) -> Expr:
        first, *others = (quanta.read([*i[:-1], i[-1] * BYTES + j]).cast(I32) & 255 for j in range(BYTES))
        for j, byte in enumerate(others, 1):
            first = first | Binary("shl", byte, Const(8 * j))
        return first

    words = compute(f"{call.name}.x", (*lead, blocks, parts, span // BYTES), (quanta,), word)
    sums = compute(
        f"{call.name}.sums",
        (*lead, blocks, parts),
        (quanta,),
        lambda *i: reduce_over("sum", (span,), lambda k: quanta.read([*i, k]).cast(I32) * zero),
    )
    return words, sums, step


def _dots(words: Sequence[Expr], x: Sequence[Expr], bits: int) -> Expr:
    """The sum of the products of a span: of all elements, or of their low bits and of their high ones."""
    in_byte = 8 // bits
    totals: list[Expr] = []
    for high in range(0, bits, NARROW):
        dots = [
            Binary(QUADS, _part(word, first * bits + high, min(bits, NARROW)), x[at * in_byte + first])
            for at, word in enumerate(words)
            for first in range(in_byte)
        ]
        total: Expr = dots[0]
        for dot in dots[1:]:
            total = total + dot
        totals.append(Binary("shl", total, Const(high)) if high else total)
    low, *others = totals
    return low + others[0] if others else low


def _part(word: Expr, at: int, bits: int) -> Expr:
    """So many bits of each byte of a word, from bit `at` on."""
    return (Binary("shr", word, Const(at)) if at else word) & ((1 << bits) - 1) * 0x01010101


def _words(w: Quanta) -> np.ndarray:
    """(columns, blocks, words): byte j of a word has elements j, j + 4 ..., the first in the lowest bits."""
    columns, blocks, size = w.shape
    in_byte = 8 // w.bits
    split = w.elements.astype(np.uint8).reshape(columns, blocks, size // (BYTES * in_byte), in_byte, BYTES)
    whole = split[..., 0, :]
    for first in range(1, in_byte):
        whole = whole | split[..., first, :] << np.uint8(first * w.bits)
    return np.ascontiguousarray(whole).view("<i4")[..., 0]


def _in_panels(table: np.ndarray) -> np.ndarray:
    """(panels, ..., PANEL) of (columns, ...)."""
    padded = np.pad(table, [(0, -len(table) % PANEL), *[(0, 0)] * (table.ndim - 1)])
    return np.ascontiguousarray(np.moveaxis(padded.reshape(-1, PANEL, *table.shape[1:]), 1, -1))
