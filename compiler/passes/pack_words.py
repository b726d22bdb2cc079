"""Integers of 8 and 16 bits in words of 32: for languages whose buffers have no smaller elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from ..dtypes import F32, I8, I16, I32, U8, U16, DType
from ..errors import CannotExpress
from ..ir.affine import affine
from ..ir.lanes import Extract, Lanes, Ramp, Splat, lanes_of
from ..ir.layout import Layout
from ..ir.nodes import Binary, Buffer, Cast, Const, Expr, Kernel, Load, Node, Seq, Stmt, Store
from ..ir.rewrite import rewrite, rewrite_top_down
from ..ir.simplify import simplify_expr
from ..target import LANES

PACKED = frozenset({I8, U8, I16, U16})
"""Element types of which a word holds several."""


def pack_words_by_masks(kernel: Kernel) -> Kernel:
    """`pack_words` without shifts of elements that become float32 (`_floats`), which take several times as long where
    the lanes of a vector are shifted one by one."""
    return pack_words(kernel, by_masks=True)


def pack_words(kernel: Kernel, *, by_masks: bool = False) -> Kernel:
    """int32(x[i]); y[4*i ..+4] = int8(v)                    (x, y: int8[n])
    ->  (x'[i // 4] << (24 - i % 4 * 8)) >> 24; y'[i] = v.x & 255 | (v.y & 255) << 8 | (v.z & 255) << 16 | v.w << 24

    The first element is in a word's lowest bits. The last word may have elements beyond the buffer's. Raises
    CannotExpress for a store of a part of a word: invocations would write the same word.
    """
    words = {b: _in_words(b) for b in kernel.params if b.dtype in PACKED}
    if not words:
        return kernel

    def store(n: Node) -> Stmt | None:
        match n:
            case Seq(stmts) if any(isinstance(s, Store) and s.buffer in words for s in stmts):
                return _merged(stmts, words, lambda s: rewrite_top_down(s, store))
            case Store(b, (Ramp(base, lanes),), Cast(_, value)) if b in words:
                return _stored(words[b], b.dtype, base, [Extract(value, i) for i in range(lanes)])
            case Store(b) if b in words:
                raise CannotExpress(f"it writes {b.dtype} one by one, which words of memory do not allow")
        return None

    def load(n: Node) -> Node | None:
        match n:
            case Load(b, (index,), guard) if b in words:
                return _unpacked(words[b], b.dtype, index, guard)
            case Cast(to, a) if to == I32 and a.dtype == I32:
                return a
        return None

    def widened(n: Node) -> Node | None:
        match n:
            case Cast(to, value) if to == F32:
                return _floats(words, value, 0.0)
            case Binary("-", Cast(to, value), less) if to == F32 and (number := _constant(less)) is not None:
                return _floats(words, value, number)
        return None

    params = tuple(words.get(b, b) for b in kernel.params)
    body = rewrite_top_down(kernel.body, store)
    body = rewrite_top_down(body, widened) if by_masks else body
    return replace(kernel, params=params, body=rewrite(body, load))


def _in_words(b: Buffer) -> Buffer:
    """Words of the same memory; its layout stays that of the elements."""
    layout = b.layout or Layout.row_major(b.shape)
    return replace(b, shape=(-(-b.size // _per_word(b.dtype)),), dtype=I32, layout=layout)


def _per_word(dtype: DType) -> int:
    return I32.bits // dtype.bits


def _unpacked(words: Buffer, dtype: DType, index: Expr, guard: Expr | None) -> Expr:
    """The elements at an index, or at those of a Ramp, as int32."""
    per_word = _per_word(dtype)
    if not isinstance(index, Ramp):
        place = _position(index, per_word)
        return _element(Load(words, (_word(index, per_word),), guard), place, dtype)
    lanes = index.lanes
    parts = _words_of(words, index.base, lanes, guard, per_word)
    start = _position(index.base, per_word)
    lane: Expr = Ramp(Const(0), lanes)
    if start != Const(0):
        lane = Splat(start, lanes) + lane
    return _element(_vector(parts), Binary("and", lane, Splat(Const(per_word - 1), lanes)), dtype)


def _floats(words: Mapping[Buffer, Buffer], value: Expr, less: float) -> Expr | None:
    """float32(x[4*i ..+4])   ->   float32((w ^ 0x808080) & <255, 255 << 8, ...>) * <1, 2**-8, ...> - <128, 128, 128, 0>
    of the word w = x'[i]; of one element likewise, or of bits of elements, `less` a whole number

    which is exact, since at most sixteen bits of a word in place, as a signed number, are a float32. Other types have
    other constants: the highest element of a word has its sign, and each other one is made unsigned. None for other
    values, and where the places are not known.
    """
    part = _bits_of_load(value)
    if part is None or part[0].buffer not in words:
        return None
    load, first, count, inverted = part
    (index,), dtype = load.indices, load.dtype
    per_word, size = _per_word(dtype), dtype.bits
    base, lanes = (index.base, index.lanes) if isinstance(index, Ramp) else (index, 1)
    start = _position(base, per_word)
    if not isinstance(start, Const):
        return None
    half, highest = 1 << (count - 1), per_word - 1
    signed = first + count == size  # the highest of the bits is a word's sign
    offsets = [0] * highest + [half * signed] if dtype.kind == "uint" else [-half] * highest + [0]
    flipped = sum((half * bool(offset) ^ inverted) << (size * p + first) for p, offset in enumerate(offsets))
    loaded = _words_of(words[load.buffer], base, lanes, load.guard, per_word)
    flips = _vector([w ^ _signed(flipped) if flipped else w for w in loaded])
    places = [(int(start.value) + i) % per_word for i in range(lanes)]
    masks = _vector([Const(_signed(((1 << count) - 1) << (size * p + first))) for p in places])
    scales = _vector([Const(2.0 ** -(size * p + first), F32) for p in places])
    scaled = Cast(F32, Binary("and", flips, masks)) * scales
    added = [offsets[p] - less for p in places]
    return scaled + _vector([Const(float(a), F32) for a in added]) if any(added) else scaled


def _bits_of_load(value: Expr) -> tuple[Load, int, int, int] | None:
    """The load of an element, or of one without sign of which `value` is some bits; the first bit, how many there are,
    and those that are inverted."""
    inverted = 0
    match value:
        case Load(b) as load:
            return load, 0, b.dtype.bits, 0
        case Cast(to, Load(b) as load) if to == I32 and b.dtype in PACKED:
            return load, 0, b.dtype.bits, 0
        case Binary("xor", bits, flip) if (number := _constant(flip)) is not None:
            value, inverted = bits, int(number)
    match value:
        case Binary("and", Binary("shr", Cast(_, Load() as load), shift), mask):
            first = _constant(shift)
        case Binary("and", Cast(_, Load() as load), mask):
            first = 0
        case _:
            return None
    ones = _constant(mask)
    if first is None or ones is None or load.dtype.kind != "uint":
        return None
    count = int(ones).bit_length()
    whole = ones == (1 << count) - 1 >= inverted >= 0 and count and first + count <= load.dtype.bits
    return (load, int(first), count, inverted) if whole else None


def _constant(e: Expr) -> int | float | None:
    """The constant that an expression is, in each lane."""
    match simplify_expr(e):
        case Splat(Const(value)) | Const(value):
            return value
    return None


def _signed(word: int) -> int:
    """The int32 of the same bits."""
    return word - (1 << I32.bits) if word >= 1 << (I32.bits - 1) else word


def _words_of(words: Buffer, base: Expr, lanes: int, guard: Expr | None, per_word: int) -> list[Expr]:
    """The words that elements from `base` on are in."""
    return [Load(words, (_word(base + i, per_word),), guard) for i in range(lanes)]


def _word(index: Expr, per_word: int) -> Expr:
    return affine(index // per_word).to_expr()


def _position(index: Expr, per_word: int) -> Expr:
    """The element of its word that an index is."""
    return simplify_expr(affine(index % per_word).to_expr())


def _vector(parts: Sequence[Expr]) -> Expr:
    """The vector of scalars; a single one itself."""
    if len(parts) == 1:
        return parts[0]
    return Splat(parts[0], len(parts)) if all(p == parts[0] for p in parts) else Lanes(tuple(parts))


def _element(word: Expr, position: Expr, dtype: DType) -> Expr:
    """The element of a word at a position, with its sign."""
    lanes = lanes_of(word)

    def constant(value: int) -> Expr:
        return Splat(Const(value), lanes) if lanes > 1 else Const(value)

    bits, rest = dtype.bits, I32.bits - dtype.bits
    if dtype.kind == "uint":
        return Binary("and", Binary("shr", word, position * constant(bits)), constant((1 << bits) - 1))
    return Binary("shr", Binary("shl", word, constant(rest) - position * constant(bits)), constant(rest))


def _merged(stmts: Sequence[Stmt], words: Mapping[Buffer, Buffer], other: Callable[[Stmt], Stmt]) -> Stmt | None:
    """y[4*i] = int8(a); y[4*i + 1] = int8(b); ...   ->   y'[i] = a & 255 | (b & 255) << 8 | ..."""
    merged: list[Stmt] = []
    waiting: list[tuple[Expr, Expr]] = []
    for s in stmts:
        match s:
            case Store(b, (index,), Cast(_, value)) if b in words and not isinstance(index, Ramp):
                waiting.append((index, value))
                base, count = waiting[0][0], len(waiting)
                if affine(index - base) != affine(Const(count - 1)):
                    return None
                if count == LANES:
                    merged.append(_stored(words[b], b.dtype, base, [v for _, v in waiting]))
                    waiting = []
            case _ if waiting:
                return None
            case _:
                merged.append(other(s))
    return None if waiting else Seq(tuple(merged))


def _stored(words: Buffer, dtype: DType, base: Expr, values: Sequence[Expr]) -> Stmt:
    """Stores of whole words that hold the int32 `values`, from `base` on."""
    per_word = _per_word(dtype)
    if not affine(base).is_multiple(per_word):
        raise CannotExpress(f"it writes {dtype} from within a word on, which words of memory do not allow")
    stores: list[Stmt] = []
    for first in range(0, len(values), per_word):
        parts = [
            Binary("shl", v & ((1 << dtype.bits) - 1), Const(dtype.bits * i)) if i else v & ((1 << dtype.bits) - 1)
            for i, v in enumerate(values[first : first + per_word])
        ]
        word = reduce(lambda a, b: a | b, parts)
        stores.append(Store(words, (affine((base + first) // per_word).to_expr(),), word))
    return stores[0] if len(stores) == 1 else Seq(tuple(stores))
