"""Convolutions of images of few channels as sums over rows of their windows: a row has as many pairs as neighbours."""

from __future__ import annotations

from dataclasses import replace

from ..dtypes import I8, I16, I32
from ..ir.affine import affine
from ..ir.contraction import find_contraction, loaded_operand
from ..ir.nodes import Binary, Const, Expr, Load, Node, Var
from ..ir.reduction import Reduce
from ..ir.rewrite import free_vars, rewrite, substitute
from .fold_tensor import fold
from .program import TensorProgram
from .replace_tensors import replace_tensors
from .tensor import Tensor, compute

CHANNELS = (3,)
"""Images of so many are common, and have an odd one in each pixel. Of more, an odd one adds fewer pairs."""


def merge_taps(program: TensorProgram) -> TensorProgram:
    """y[n, o, i, j] = sum over c < C, a, b < B of int32(x[n, c, i + a, s*j + b]) * int32(w[o, c, a, b])
    ->  y[n, o, i, j] = sum over a, k < C*B of int32(x[n, k % C, i + a, s*j + k // C]) * int32(rows[o, a, k])

    for int16 x of CHANNELS and constants w, where rows of windows begin at multiples of two elements of memory that is
    channels last. Processors multiply two neighbours at once: of 7 times 3 elements 11 pairs, where each 3 channels are
    two.
    """
    readers = [x for t in program.tensors for x in t.reads]
    outputs = {t for _, t in program.outputs}

    def make(t: Tensor) -> tuple[Tensor, ...]:
        match = _match(t)
        if match is None or match[0] in outputs or readers.count(match[0]) > 1:
            return (t,)
        return _by_rows(t, *match)

    return replace_tensors(program, make)


def merged_channels(x: Load) -> int | None:
    """The channels of an image whose elements `x` reads along rows: C where its indices are k % C and ... + k // C."""
    if len(x.indices) < 3:
        return None
    match x.indices[1]:
        case Binary("%", Var() as k, Const(int(channels))) if affine(x.indices[-1]).coefficient(k // channels) == 1:
            return channels
    return None


def _match(t: Tensor) -> tuple[Tensor, Load, Tensor, Load] | None:
    """The image and the constant that are multiplied, and how they are read."""
    if t.is_dynamic or t.dtype != I32 or not isinstance(t.body, Reduce) or t.body.op != "sum" or len(t.body.axes) < 2:
        return None
    over, contraction = t.body.axes, find_contraction(t.axes, t.body.axes, t.body.value)
    for way in contraction.orientations if contraction is not None else ():
        x, w = loaded_operand(way.a), loaded_operand(way.b)
        if x is None or w is None or x.dtype != I16 or w.dtype not in (I8, I16) or w.guard is not None:
            continue
        by_buffer = {r.buffer: r for r in t.reads}
        image, constant = by_buffer[x.buffer], by_buffer[w.buffer]
        channel, tap = over[0], over[-1]
        index, channels = affine(x.indices[-1]), channel.extent
        begins = index.without(tap).scale(channels)
        even = all(c % 2 == 0 for _, c in begins.terms)
        alone = x.indices[1] == channel and all(tap not in free_vars(i) for i in x.indices[:-1])
        few = image.extents[1] == channels and channels in CHANNELS and tap is not channel and not image.is_dynamic
        rows = (
            w.indices[1] == channel and w.indices[-1] == tap and all(c not in w.indices[2:-1] for c in (channel, tap))
        )
        known = constant.depends_only_on_constants and not image.depends_only_on_constants
        if few and even and alone and rows and known and index.coefficient(tap) == 1:
            return image, x, constant, w
    return None


def _by_rows(t: Tensor, image: Tensor, x: Load, constant: Tensor, w: Load) -> tuple[Tensor, ...]:
    assert isinstance(t.body, Reduce)
    channel, *taps, tap = t.body.axes
    channels = channel.extent
    filter_, _, *places, _ = w.indices
    shape = [constant.extents[0], *constant.extents[2:-1], tap.extent * channels]

    def row(o: Expr, *at: Expr) -> Expr:
        *a, k = at
        return constant.read([o, k % channels, *a, k // channels])

    rows = fold(compute(f"{constant.name}.rows", shape, (constant,), row))
    k = Var(tap.name, tap.extent * channels)
    merged: dict[Var, Expr] = {channel: k % channels, tap: k // channels}

    def rule(n: Node) -> Expr | None:
        if n is w:
            return Load(rows.buffer, (filter_, *places, k))
        return substitute(x, merged) if n is x else None

    body = replace(t.body, axes=(*taps, k), value=rewrite(t.body.value, rule, {Load}))
    summed = replace(t, body=body, reads=(image, rows))
    return (summed,) if rows.body is None else (rows, summed)
