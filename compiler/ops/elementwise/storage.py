"""Elements of storage types: constants widened, and numbers rounded to what such a type represents."""

from __future__ import annotations

from collections.abc import Callable

from ...dtypes import F32, F64, I32, STORAGE_TYPES, U16, U32, FloatFormat, StorageType
from ...ir.construct import maximum, minimum, select, unary
from ...ir.nodes import Bitcast, Const, Expr, binary, expr
from ...ir.round_to_odd import round_to_odd
from ...tensor import Tensor, compute, constant
from ..call import Call
from ..movement.reshaping import reshaped

_SIGN = 1 << 31


def part_of(word: Expr, place: Expr, bits: int, *, high_first: bool = False) -> Expr:
    """Element number `place` of a row of elements of `bits`, which is in the byte `word`, as an int32 without sign. The
    first of a byte is in its lowest bits, or the highest."""
    value = word.cast(I32)
    if bits >= 8:
        return value
    shift = (place % (8 // bits)) * bits
    return binary("shr", value, expr(8 - bits, I32) - shift if high_first else shift) & ((1 << bits) - 1)


def _unpack(call: Call) -> Tensor:
    """The elements of a tensor of ONNX's type `to` and of `shape`, from the words that hold neighbours along
    `axis`; else they are in rows of whole words, or all one after another. It is of the importer, not of ONNX."""
    none: tuple[int, ...] = ()
    stored, shape = STORAGE_TYPES.get(call.attribute("to", 0)), call.attribute("shape", none)
    if stored is None:
        raise call.unsupported(f"attribute to={call.attribute('to', 0)}", "the model is invalid: export it again")
    call.check_dtypes((0,), stored.word)
    words, per_word = call.input(0), stored.per_word
    table = None
    if stored.format is not None and stored.word != U16:
        table = constant(f"{call.name}.values", stored.format.values())

    axis = call.attribute("axis", len(shape) - 1) - len(shape)

    def element(*at: Expr) -> Expr:
        word = words.read(
            [i // per_word if d == axis else i for d, i in enumerate(at, -len(at))] if per_word > 1 else at
        )
        if stored.word == U16:
            return Bitcast(F32, binary("shl", word.cast(U32), Const(16, U32)))
        value = part_of(word, at[axis] if at else Const(0), stored.bits)
        if table is not None:
            return table[value,]
        return _with_sign(value, stored).cast(stored.held)

    if axis < -1:
        call.input(0, tuple(-(-n // per_word) if d == axis else n for d, n in enumerate(shape, -len(shape))))
        return compute(call.name, shape, (words, table), element)
    if shape and words.shape == (*shape[:-1], -(-shape[-1] // per_word)) and shape[-1] % per_word == 0:
        return compute(call.name, shape, (words, table), element)
    count = 1
    for n in shape:
        count *= n
    call.input(0, (-(-count // per_word),))
    return reshaped(call.name, compute(f"{call.name}.row", (count,), (words, table), element), shape)


def _signed(value: Expr, stored: StorageType) -> Expr:
    """An int32 of the lowest bits of `value`."""
    return _with_sign(value & ((1 << stored.bits) - 1), stored)


def _with_sign(bits: Expr, stored: StorageType) -> Expr:
    """The integer that `bits` of the type represent."""
    half = 1 << (stored.bits - 1)
    return (bits ^ half) - half if stored.held.kind == "int" else bits


def stored_as(x: Expr, stored: StorageType, *, saturate: bool = True, mode: str = "nearest") -> Expr:
    """`x` as the type holds it. Integers are truncated and wrap; floats are rounded, halves to even. Beyond the largest
    one they are it, or without `saturate` infinite or NaN. `mode` is that of powers of two."""
    if stored.format is None:
        return _signed(x.cast(I32), stored).cast(stored.held)
    single = round_to_odd(x) if x.dtype == F64 else x.cast(F32)
    if not stored.format.mantissa:
        return _power_of_two(single, saturate=saturate, mode=mode)
    return _rounded(single, stored.format, saturate=saturate and stored.bits < 16)


def saturated(x: Expr, stored: StorageType) -> Expr:
    """The integer of the type that is nearest to `x`, an int32."""
    low, high = stored.span
    return minimum(maximum(x, low), high).cast(stored.held)


def _rounded(x: Expr, form: FloatFormat, *, saturate: bool) -> Expr:
    """By the bits; below the least normal number, which its own quantum is apart from 0, by that quantum."""
    bits = Bitcast(U32, x)
    size = bits & (_SIGN - 1)
    drop = 23 - form.mantissa
    odd = binary("shr", size, Const(drop, U32)) & 1
    near: Expr = Bitcast(F32, (size + odd + ((1 << (drop - 1)) - 1)) & (0xFFFFFFFF - (1 << drop) + 1))
    least = 1 - form.bias
    if least > -126:
        quantum = 2.0 ** (least - form.mantissa)
        magnitude = Bitcast(F32, size)
        near = select(magnitude < 2.0**least, unary("round", magnitude * (1 / quantum)) * quantum, near)
    beyond = float("inf") if form.specials == "ieee" else float("nan")
    if saturate or form.specials == "none":
        near = minimum(near, form.largest)
    else:
        near = select(near > form.largest, beyond, near)
    result: Expr = Bitcast(F32, Bitcast(U32, near) | (bits & _SIGN))
    if form.specials == "fnuz":
        result = select(near.eq(0), 0.0, result)
    return select(unary("isnan", x), expr(0.0, F32) if form.specials == "none" else x, result)


def _power_of_two(x: Expr, *, saturate: bool, mode: str) -> Expr:
    """The magnitude's power of two below, above or the nearest one, within 2**-127 to 2**127."""
    size = Bitcast(U32, x) & (_SIGN - 1)
    added = {"down": 0, "up": (1 << 23) - 1, "nearest": 1 << 22}.get(mode, (1 << 23) - 1)
    exponent = binary("shr", size + added, Const(23, U32))
    beyond = exponent > 254
    power = Bitcast(F32, binary("shl", minimum(exponent, 254), Const(23, U32)))
    least = Const(2.0**-127, F32)
    result = select(exponent < 1, least, power)
    if not saturate:
        result = select(beyond, float("nan"), result)
    return select(unary("isnan", x), x, result)


OPERATORS: dict[str, Callable[[Call], Tensor]] = {"Unpack": _unpack}
