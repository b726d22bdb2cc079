"""Rotary embeddings: pairs of elements of a head are turned by angles that go by its position. RotaryEmbedding of
ai.onnx (opset 23) and of com.microsoft, which have other inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...dtypes import F16, F32, I64
from ...ir.construct import maximum, minimum, select
from ...ir.nodes import Const, Expr
from ...ir.sizes import Size, equal, is_one, least, number, shown, text_of
from ...tensor import Tensor, compute
from ..call import Call
from ..movement.gather import to_int32
from ..movement.joining import joined
from .heads import heads_joined, heads_of


@dataclass(frozen=True, slots=True)
class Angles:
    """Cosines and sines with a column for each pair of elements. `row(batch, place)` is the index of a token's row, and
    `reads` are the tensors by which it is computed."""

    cos: Tensor
    sin: Tensor
    row: Callable[[Expr, Expr], tuple[Expr, ...]]
    reads: tuple[Tensor, ...] = ()


def rotated(name: str, t: Tensor, angles: Angles, *, interleaved: bool) -> Tensor:
    """`t` of (batch, heads, length, size) with pairs (x, y) of the first elements of each head as (x cos - y sin,
    y cos + x sin), and the rest as it is. The elements of a pair are neighbours where they are `interleaved`, else as
    far apart as there are pairs."""
    cos, sin = angles.cos, angles.sin
    size, pairs = t.extents[3], cos.extents[-1]

    def half(which: int) -> Tensor:
        def body(b: Expr, h: Expr, i: Expr, k: Expr) -> Expr:
            x, y = (t[b, h, i, k * 2 + n if interleaved else k + n * pairs] for n in (0, 1))
            at = (*angles.row(b, i), k)
            return y * cos.read(at) + x * sin.read(at) if which else x * cos.read(at) - y * sin.read(at)

        return compute(f"{name}.{which}", (*t.shape[:3], pairs), (t, cos, sin, *angles.reads), body)

    first, second = half(0), half(1)
    parts = [first, second]
    if interleaved:
        parts = [
            compute(
                f"{name}.pairs",
                (*t.shape[:3], 2 * pairs),
                (first, second),
                lambda b, h, i, d: select((d % 2).eq(0), first[b, h, i, d // 2], second[b, h, i, d // 2]),
            )
        ]
    if 2 * pairs < size:
        rest = (*t.shape[:3], size - 2 * pairs)
        parts.append(compute(f"{name}.rest", rest, (t,), lambda b, h, i, d: t[b, h, i, d + 2 * pairs]))
    return joined(name, parts, 3) if len(parts) > 1 else parts[0]


def row_of(cache: Tensor, position: Expr) -> tuple[Expr]:
    """The row of a position that a run computes: the nearest one to a position that is out of range."""
    rows = cache.shape[0]
    nearest = minimum(maximum(position, 0), number(rows) - 1)
    return (nearest if least(rows) else maximum(nearest, 0),)


def rotary_embedding(call: Call) -> Tensor:
    """The first input of (batch, heads, length, size) or (batch, length, heads * size), turned."""
    x = call.input(0)
    if x.rank not in (3, 4):
        raise call.unsupported(f"input 0 ({x.name!r}) has shape {shown(x.shape)}", "the model is invalid")
    tokens = x.shape[0], x.shape[2 if x.rank == 4 else 1]
    turned = call.attribute("rotary_embedding_dim", 0)
    angles = (_contributed_angles if call.domain else _angles)(call, tokens, turned)
    size = _head_size(call, x, turned, 2 * angles.cos.extents[-1])
    interleaved = call.flag("interleaved", 0)
    if x.rank == 4:
        return rotated(call.name, x, angles, interleaved=interleaved)
    heads = heads_of(f"{call.name}.heads", x, x.extents[2] // size, size)
    return heads_joined(call, rotated(call.name, heads, angles, interleaved=interleaved))


def _head_size(call: Call, x: Tensor, turned: int, whole: int) -> int:
    """The elements of a head, all of which, `whole`, are turned where the attribute does not say otherwise."""
    heads = call.attribute("num_heads", 0)
    (size,) = call.fixed(x, (-1,))
    if x.rank == 3:
        heads = heads or size // max(whole, 1)
        size = size // heads if heads > 0 and size % heads == 0 else 0
    if not whole or whole != (turned or size) or whole > size:
        raise call.unsupported(
            f"input 0 ({x.name!r}) has shape {shown(x.shape)}, num_heads is {heads}, rotary_embedding_dim {turned}, "
            f"and caches turn {whole} elements of a head",
            "the model is invalid: export it again",
        )
    return size


def _angles(call: Call, tokens: tuple[Size, Size], turned: int) -> Angles:
    """The angles of ai.onnx: a row for each position, or for each token where there are no positions."""
    columns = turned // 2 if turned else None
    positions = call.optional(3, tokens)
    cos = call.input(1, (*tokens, columns) if positions is None else (None, columns))
    call.fixed(cos, (-1,))
    sin = call.input(2, cos.shape)
    if positions is None:
        return Angles(cos, sin, lambda b, i: (b, i))
    return Angles(cos, sin, lambda b, i: row_of(cos, to_int32(positions[b, i])), (positions,))


def _contributed_angles(call: Call, tokens: tuple[Size, Size], turned: int) -> Angles:
    """The angles of com.microsoft, whose positions are those of tokens, or that of the first token of all sequences or
    of each one."""
    call.check_dtypes((0, 2, 3), F32, F16)
    call.check_dtypes((1,), I64)
    if call.attribute("is_packed_batching", 0):
        raise call.unsupported("attribute is_packed_batching=1: sequences follow each other", "export it with 0")
    cos = call.input(2, (None, turned // 2 if turned else None))
    call.fixed(cos, (1,))
    positions, batch = call.input(1), tokens[0]
    is_first = positions.rank < 2
    fits = positions.rank == 0 or is_one(positions.shape[0]) or equal(positions.shape[0], batch)
    if not fits or not (is_first or (positions.rank == 2 and equal(positions.shape[1], tokens[1]))):
        raise call.unsupported(
            f"positions have shape {shown(positions.shape)}, where [1], [{text_of(batch)}] or {shown(tokens)} is "
            "expected",
            "the model is invalid: export it again",
        )

    def row(b: Expr, i: Expr) -> tuple[Expr]:
        own = [Const(0) if is_one(n) else k for n, k in zip(positions.shape, (b, i), strict=False)]
        position = to_int32(positions.read(own))
        return row_of(cos, position + i if is_first else position)

    return Angles(cos, call.input(3, cos.shape), row, (positions,))


OPERATORS = {"RotaryEmbedding": rotary_embedding}
