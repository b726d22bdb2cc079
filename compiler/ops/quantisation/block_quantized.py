"""Operators of com.microsoft on matrices of few bits, with a scale for each block of elements.

The weights are dequantised to floats before their product, or less their zero points int8: constants when the model is
loaded, so that the bundle has them as the model does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from ...dtypes import F16, F32, I8, I32, I64, U8
from ...ir.construct import maximum, minimum
from ...ir.nodes import Const, Expr
from ...ir.sizes import shown
from ...tensor import Tensor, compute, constant
from ...tensor.fold_tensor import fold
from ..axes import one_axis
from ..call import Call
from ..elementwise.storage import part_of
from ..movement.gather import gathered
from ..movement.reshaping import reshaped
from ..products.linear import mat_mul_of
from .packed_products import Quanta, packed_products

BITS = (2, 4, 8)

LEAST_BLOCK = 16
"""Elements of a block: a power of two, so that no block begins within a byte."""

QUANTA = 4
"""The accuracy_level that allows activations of 8 bits."""


def _mat_mul_n_bits(call: Call) -> Tensor:
    """A B' + bias, where row n of B is (N, blocks, bytes of a block) in the model and element k of it is
    (q - zero point) * scale of the block k // block_size, or g_idx[k]. Zero points are packed like rows of B, or
    floats; they are half of the range without input 3. accuracy_level allows coarser arithmetic, and demands none."""
    call.check_dtypes((0, 2, 5), F32, F16)
    call.check_dtypes((1,), U8)
    call.check_dtypes((4,), I32)
    if call.attribute("weight_prepacked", 0):
        raise call.unsupported(
            "attribute weight_prepacked=1: its weights are in an order of one provider's", "save the model without it"
        )
    bits, size = _bits(call), _block_size(call, 0)
    columns, depth = call.attribute("N", 0), call.attribute("K", 0)
    blocks = -(-depth // size)
    packed = _in_rows(call, 1, (columns, blocks, size * bits // 8))
    scales = _in_rows(call, 2, (columns, blocks))
    zeros = call.optional(3)
    if zeros is not None:
        call.check_dtypes((3,), U8, scales.dtype)
        zeros = _zeros(call, bits, columns, blocks)
    groups = call.optional(4, (None,))
    if groups is not None and call.fixed(groups)[0] not in (depth, blocks * size):
        raise call.unsupported(f"g_idx has shape {shown(groups.shape)} for K={depth}", "the model is invalid")
    if groups is not None and groups.data is not None and not ((groups.data >= 0) & (groups.data < blocks)).all():
        raise call.unsupported(f"g_idx is not of the {blocks} blocks", "the model is invalid")

    per_byte = 8 // bits

    def less_zero(k: Expr, n: Expr, block: Expr) -> Expr:
        """q - zero point: of integers as int32."""
        value = part_of(packed[n, k // size, k % size // per_byte], k % size, bits)
        if zeros is None:
            return value - (1 << (bits - 1))
        if zeros.dtype == U8:
            return value - zeros[n, block].cast(I32)
        return value.cast(F32) - zeros[n, block].cast(F32)

    a = call.input(0)
    quanta = _quanta(packed, scales, zeros, bits, size) if groups is None else None
    if quanta is not None and call.attribute("accuracy_level", 0) == QUANTA and a.dtype == F32:
        return _with_bias(call, packed_products(call, a, quanta), 5)

    def weight(k: Expr, n: Expr) -> Expr:
        block = k // size if groups is None else _clamped(groups[k,], blocks)
        return (less_zero(k, n, block).cast(F32) * scales[n, block].cast(F32)).cast(scales.dtype)

    weights = fold(compute(f"{call.name}.weights", (depth, columns), (packed, scales, zeros, groups), weight))
    return _with_bias(call, mat_mul_of(call, a, weights), 5)


def _zeros(call: Call, bits: int, columns: int, blocks: int) -> Tensor:
    """Zero points, one in each element."""
    if call.input(3).dtype != U8:
        return _in_rows(call, 3, (columns, blocks))
    per_byte = 8 // bits
    packed = _in_rows(call, 3, (columns, -(-blocks // per_byte)))

    def body(n: Expr, block: Expr) -> Expr:
        return part_of(packed[n, block // per_byte], block, bits).cast(U8)

    return fold(compute(f"{call.name}.zeros", (columns, blocks), (packed,), body)) if per_byte > 1 else packed


def _quanta(packed: Tensor, scales: Tensor, zeros: Tensor | None, bits: int, size: int) -> Quanta | None:
    """Weights whose elements are known, in blocks of `size`, and whose zero points are integers."""
    if (
        packed.data is None
        or scales.data is None
        or not (zeros is None or (zeros.data is not None and zeros.dtype == U8))
    ):
        return None
    columns, blocks = scales.data.shape
    of_zeros = None if zeros is None else zeros.data
    return Quanta(_elements(packed.data, bits).reshape(columns, blocks, size), bits, scales.data, of_zeros)


def _elements(packed: np.ndarray, bits: int) -> np.ndarray:
    """The elements of bytes, along the last axis, the first in the lowest bits."""
    parts = [packed >> np.uint8(at) & np.uint8((1 << bits) - 1) for at in range(0, 8, bits)]
    return np.stack(parts, -1).reshape(*packed.shape[:-1], -1)


def _mat_mul_bnb4(call: Call) -> Tensor:
    """A B' with B of (N, K) elements in a row, two to a byte, the first in the high bits: places in a table of 16
    floats, times the largest magnitude of their block."""
    call.check_dtypes((0, 2), F32, F16)
    call.check_dtypes((1,), U8)
    if call.attribute("training_mode", 0) or not call.attribute("transB", 1):
        raise call.unsupported("attribute training_mode=1 or transB=0", "export the model for inference")
    kind, size = call.attribute("quant_type", 0), _block_size(call, 0)
    if kind not in (0, 1):
        raise call.unsupported(f"attribute quant_type={kind}", "the model is invalid: 0 is FP4, 1 NF4")
    columns, depth = call.attribute("N", 0), call.attribute("K", 0)
    # Of columns where blocks end with them, so that what multiplies by them finds their elements.
    lines, length = (columns, depth) if depth % size == 0 else (1, columns * depth)
    packed = _in_rows(call, 1, (lines, -(-length // 2)))
    largest = _in_rows(call, 2, (lines, -(-length // size)))
    table = constant(f"{call.name}.table", _NF4 if kind else _FP4)

    def body(k: Expr, n: Expr) -> Expr:
        line, at = (n, k) if lines > 1 else (Const(0), n * depth + k)
        value = table[part_of(packed[line, at // 2], at, 4, high_first=True),]
        return (value * largest[line, at // size].cast(F32)).cast(largest.dtype)

    weights = fold(compute(f"{call.name}.weights", (depth, columns), (packed, largest, table), body))
    return mat_mul_of(call, call.input(0), weights)


def _gather_block_quantized(call: Call) -> Tensor:
    """Gather of (q - zero point) * scale with a scale for each block along quantize_axis. uint8 holds several elements
    along the last axis, as do its zero points, which are half of the range by default. Those of a storage type, which
    the importer states as `data_type`, are one in each element, with zero points that are 0 by default. Rows are chosen
    before they are dequantised."""
    data, scales, zeros = call.input(0), call.input(2), call.optional(3)
    call.check_dtypes((0, 3), U8, I8, F32)
    call.check_dtypes((1,), I32, I64)
    call.check_dtypes((2,), F32, F16)
    is_packed = data.dtype == U8 and not call.attribute("data_type", 0)
    bits = _bits(call) if is_packed else 8
    size = _block_size(call, 128)
    along = one_axis(call, call.attribute("quantize_axis", 1), data.rank)
    axis = one_axis(call, call.attribute("gather_axis", 0), data.rank)
    if axis == along or (is_packed and along != data.rank - 1):
        raise call.unsupported(
            f"it gathers along axis {axis}, and its blocks are along axis {along}",
            "the model is invalid: blocks of uint8 are along the last axis, and another one is gathered along",
        )
    per_byte = 8 // bits
    (extent,) = call.fixed(data, (along,))
    blocks = -(-extent * per_byte // size)
    call.input(2, (*data.shape[:along], blocks, *data.shape[along + 1 :]))
    packed_blocks = -(-blocks // per_byte)
    call.optional(3, (*data.shape[:along], packed_blocks, *data.shape[along + 1 :]))
    rows, of_scales, of_zeros = (
        None if t is None else gathered(call, f"{call.name}.{what}", t, call.input(1), axis)
        for t, what in ((data, "rows"), (scales, "scales"), (zeros, "zeros"))
    )
    assert rows is not None
    assert of_scales is not None
    place = along if along < axis else along + call.input(1).rank - 1
    shape = tuple(n * per_byte if d == place else n for d, n in enumerate(rows.shape))

    def element(t: Tensor, index: Sequence[Expr], at: Expr) -> Expr:
        """Number `at` along the axis of blocks, as float32."""
        word = t.read([at // per_byte if d == place else i for d, i in enumerate(index)])
        return (part_of(word, at, bits) if is_packed else word).cast(F32)

    def body(*index: Expr) -> Expr:
        block = index[place] // size
        zero: Expr = Const(float(1 << (bits - 1)) if is_packed else 0.0, F32)
        if of_zeros is not None:
            zero = element(of_zeros, index, block)
        scale = of_scales.read([block if d == place else i for d, i in enumerate(index)])
        return ((element(rows, index, index[place]) - zero) * scale.cast(F32)).cast(scale.dtype)

    return compute(call.name, shape, (rows, of_scales, of_zeros), body)


_NF4 = np.asarray(
    [
        *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635),
        *(-0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725),
        *(0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
    ],
    np.float32,
)
"""Quantiles of the normal distribution, as bitsandbytes has them."""

_HALF_FP4 = (0.0, 0.0052083333333, 2 / 3, 1.0, 1 / 3, 0.5, 1 / 6, 0.25)
_FP4 = np.asarray([*_HALF_FP4, *(-v for v in _HALF_FP4)], np.float32)
"""Floats of 4 bits, as bitsandbytes has them."""


def _bits(call: Call) -> int:
    bits = call.attribute("bits", 4)
    if bits not in BITS:
        listed = ", ".join(map(str, BITS))
        raise call.unsupported(f"attribute bits={bits}", f"quantize to one of {listed} bits")
    return bits


def _block_size(call: Call, default: int) -> int:
    """The attribute, a power of two of at least 16, so that no block begins within a byte."""
    size = call.attribute("block_size", default)
    if size < LEAST_BLOCK or size & (size - 1):
        raise call.unsupported(f"attribute block_size={size} is no power of two from 16 on", "the model is invalid")
    return size


def _in_rows(call: Call, index: int, shape: tuple[int, ...]) -> Tensor:
    """Input `index` in a shape that it may be flattened from."""
    t = call.input(index)
    if t.shape == shape:
        return t
    if not isinstance(t.buffer.size, int) or t.is_dynamic or t.buffer.size != prod(shape):
        raise call.unsupported(
            f"input {index} ({t.name!r}) has shape {shown(t.shape)}, where {list(shape)} is expected",
            "the model is invalid: export it again",
        )
    return fold(reshaped(f"{call.name}.{index}", t, shape))


def _clamped(index: Expr, extent: int) -> Expr:
    return minimum(maximum(index, 0), extent - 1)


def _with_bias(call: Call, product: Tensor, index: int) -> Tensor:
    """The product plus the optional input `index` along the last axis."""
    bias = call.optional(index, product.shape[-1:])
    if bias is None:
        return product
    return compute(f"{call.name}.bias", product.shape, (product, bias), lambda *i: product[i] + bias[i[-1],])


OPERATORS: dict[str, Callable[[Call], Tensor]] = {
    "GatherBlockQuantized": _gather_block_quantized,
    "MatMulBnb4": _mat_mul_bnb4,
    "MatMulNBits": _mat_mul_n_bits,
}
