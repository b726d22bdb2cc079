"""Operators that only move or repeat elements, by a map of their indices."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.construct import maximum, minimum, select
from ...ir.nodes import Const, Expr, expr
from ...ir.sizes import Size, divides, equal, is_one, shown
from ...tensor import Tensor, compute
from ..axes import many_axes
from ..broadcast import broadcast_element, broadcast_shape
from ..call import Call
from .gather import to_int32


def _transpose(call: Call) -> Tensor:
    """Dimension d of the result is dimension perm[d] of the input; reversed without perm."""
    t = call.input(0)
    perm = many_axes(call, call.attribute("perm", tuple(reversed(range(t.rank)))), t.rank)
    if len(perm) != t.rank:
        raise call.unsupported(f"perm {list(perm)} does not fit a tensor of rank {t.rank}", "the model is invalid")
    return transposed(call.name, t, perm)


def transposed(name: str, t: Tensor, perm: Sequence[int]) -> Tensor:
    """`t` with its dimension perm[d] as dimension d."""
    place = [perm.index(d) for d in range(t.rank)]
    return compute(name, tuple(t.shape[d] for d in perm), (t,), lambda *axes: t.read([axes[d] for d in place]))


def _expand(call: Call) -> Tensor:
    """Broadcast with the shape, in both directions."""
    t = call.input(0)
    shape = broadcast_shape(call, [t.shape, call.counts(1, "shape") or ()])
    return compute(call.name, shape, (t,), lambda *axes: broadcast_element(t, axes))


def _tile(call: Call) -> Tensor:
    t = call.input(0)
    repeats = call.counts(1, "repeats") or ()
    if len(repeats) != t.rank or any(isinstance(r, int) and r < 0 for r in repeats):
        raise call.unsupported(f"repeats {shown(repeats)} do not fit {shown(t.shape)}", "the model is invalid")
    shape = tuple(e * r for e, r in zip(t.shape, repeats, strict=True))

    def body(*axes: Expr) -> Expr:
        if 0 in shape:
            return expr(0, t.dtype)
        return t.read(
            [
                Const(0) if is_one(extent) else axis if is_one(repeat) else axis % extent
                for axis, extent, repeat in zip(axes, t.shape, repeats, strict=True)
            ]
        )

    return compute(call.name, shape, (t,), body)


def _image(call: Call) -> tuple[Tensor, int]:
    t, block = call.input(0), call.attribute("blocksize", 0)
    if t.rank != 4 or block < 1:
        raise call.unsupported(
            f"it needs NCHW and a blocksize, not {shown(t.shape)} and {block}", "the model is invalid"
        )
    return t, block


def _depth_to_space(call: Call) -> Tensor:
    """[N, C*b*b, H, W] -> [N, C, H*b, W*b]; the block's place is the outer part of the channel (mode DCR) or the inner
    one (CRD, opset 11)."""
    t, b = _image(call)
    n, _, height, width = t.shape
    (depth,) = call.fixed(t, (1,))
    mode = call.attribute("mode", "DCR")
    if depth % (b * b) or mode not in ("DCR", "CRD"):
        raise call.unsupported(f"{depth} channels, blocksize {b}, mode {mode!r} do not fit", "the model is invalid")
    channels = depth // (b * b)

    def body(i: Expr, c: Expr, y: Expr, x: Expr) -> Expr:
        place = (y % b) * b + x % b
        channel = place * channels + c if mode == "DCR" else c * (b * b) + place
        return t.read((i, channel, y // b, x // b))

    return compute(call.name, (n, channels, height * b, width * b), (t,), body)


def _space_to_depth(call: Call) -> Tensor:
    """[N, C, H*b, W*b] -> [N, b*b*C, H, W], the block's place outermost in the channel."""
    t, b = _image(call)
    n, channels, height, width = t.shape
    if not divides(b, height) or not divides(b, width):
        raise call.unsupported(f"{shown((height, width))} is no multiple of blocksize {b}", "check the input shapes")

    def body(i: Expr, c: Expr, y: Expr, x: Expr) -> Expr:
        place = c // channels
        return t.read((i, c % channels, y * b + place // b, x * b + place % b))

    return compute(call.name, (n, channels * b * b, height // b, width // b), (t,), body)


def reversed_step(at: Expr, length: Expr, steps: Size) -> Expr:
    """The place of the step `at` where the first `length` of `steps` are in the opposite order, and the rest kept. No
    length given at run time leads outside of them."""
    inside = minimum(maximum(to_int32(length), 0), steps)
    return select(at < inside, maximum(inside - 1 - at, 0), at)


def _reverse_sequence(call: Call) -> Tensor:
    """The first sequence_lens[i] elements along time_axis of batch i turned round, the rest kept."""
    t, lengths = call.input(0), call.input(1)
    batch, time = call.attribute("batch_axis", 1), call.attribute("time_axis", 0)
    if t.rank < 2 or {batch, time} != {0, 1} or lengths.rank != 1 or not equal(lengths.shape[0], t.shape[batch]):
        raise call.unsupported(
            f"{shown(t.shape)}, {shown(lengths.shape)} lengths, batch_axis {batch} and time_axis {time} do not fit",
            "the model is invalid",
        )

    def body(*axes: Expr) -> Expr:
        source = reversed_step(axes[time], lengths[axes[batch]], t.shape[time])
        return t.read([source if d == time else axis for d, axis in enumerate(axes)])

    return compute(call.name, t.shape, (t, lengths), body)


OPERATORS = {
    "DepthToSpace": _depth_to_space,
    "Expand": _expand,
    "ReverseSequence": _reverse_sequence,
    "SpaceToDepth": _space_to_depth,
    "Tile": _tile,
    "Transpose": _transpose,
}
