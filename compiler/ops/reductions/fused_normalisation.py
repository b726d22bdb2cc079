"""Normalisations of com.microsoft over the last axis of a sum, which onnxruntime's optimiser and exporters write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...dtypes import F16, F32, I8, I32, U8
from ...ir.nodes import Const, Expr
from ...tensor import Tensor, compute
from ...tensor.fold_tensor import fold
from ..axes import one_axis
from ..broadcast import broadcast_element, spread_input
from ..call import Call
from ..movement.gather import gathered
from ..quantisation.dequantized import dequantized_by
from .layer_normalisation import layer_normalized, rms_normalized
from .reduce_axes import reduce_axes

_EPSILON = 1e-12


def _skip_layer_normalization(call: Call) -> tuple[Tensor, ...]:
    """LayerNormalization of input + skip + bias; then mean, 1/deviation, and the sum."""
    total = _sum_with_skip(call, bias=4)
    (scale, shift), axis = _parameters(call, total, 2), total.rank - 1
    epsilon = call.attribute("epsilon", _EPSILON)
    return *layer_normalized(call.name, total, scale, shift, axis, epsilon, F32), total


def _skip_simplified_layer_normalization(call: Call) -> tuple[Tensor, ...]:
    """RMSNormalization of input + skip + bias; then a mean of zeros, as nothing is subtracted, 1/root, and the sum."""
    total = _sum_with_skip(call, bias=3)
    scale, axis = call.input(2, total.shape[-1:]), total.rank - 1
    y, inverse = rms_normalized(call.name, total, scale, axis, call.attribute("epsilon", _EPSILON), F32)
    mean = compute(f"{call.name}.mean", inverse.shape, (), lambda *_: Const(0.0, F32))
    return y, mean, inverse, total


def _sum_with_skip(call: Call, bias: int) -> Tensor:
    """The input plus skip, which is broadcast, plus the optional input with the number `bias` along the last axis."""
    call.check_dtypes(range(len(call.inputs)), F32, F16)
    x = call.input(0)
    one_axis(call, -1, x.rank)
    skip, along = spread_input(call, 1, x.shape) or call.input(1), call.optional(bias, x.shape[-1:])

    def body(*i: Expr) -> Expr:
        value = x[i] + broadcast_element(skip, i)
        return value if along is None else value + along[i[-1],]

    return compute(f"{call.name}.sum_of_inputs", x.shape, (x, skip, along), body)


def _parameters(call: Call, x: Tensor, first: int) -> tuple[Tensor, Tensor | None]:
    """Scale, and shift where there is one."""
    return call.input(first, x.shape[-1:]), call.optional(first + 1, x.shape[-1:])


IDS, SEGMENT_IDS, WORDS, POSITIONS, SEGMENTS, SCALE, SHIFT, MASK, POSITION_IDS = range(9)

QUANTIZED = (WORDS, POSITIONS, SEGMENTS, SCALE, SHIFT)
"""The inputs of QEmbedLayerNormalization that are quantised. Their scales follow the mask in this order, then their
zero points."""

_FIRST_SCALE = MASK + 1
_ZERO = _FIRST_SCALE + len(QUANTIZED)


def _embed_layer_normalization(call: Call) -> tuple[Tensor, ...]:
    """LayerNormalization of the sum of rows: of words, of positions, and of segments where there are any; then how many
    ones the mask has in each sequence, and the sum."""
    call.check_dtypes(QUANTIZED, F32, F16)
    return _embedded(call, lambda _, t: t)


def _q_embed_layer_normalization(call: Call) -> tuple[Tensor, ...]:
    """EmbedLayerNormalization of tables and parameters that are quantised, without its third result: rows are taken
    before they are dequantised."""
    for place, index in enumerate(QUANTIZED):
        call.check_dtypes((index, _ZERO + place), U8, I8)
        call.check_dtypes((_FIRST_SCALE + place,), F32)

    def dequantised(index: int, t: Tensor) -> Tensor:
        place = QUANTIZED.index(index)
        return fold(dequantized_by(call, index, t, _FIRST_SCALE + place, _ZERO + place))

    return _embedded(replace(call, inputs=call.inputs[:_FIRST_SCALE]), dequantised)[:2]


def _embedded(call: Call, real: Callable[[int, Tensor], Tensor]) -> tuple[Tensor, ...]:
    """The results, where `real` makes floats of elements of the input with a number."""
    call.check_dtypes((IDS, SEGMENT_IDS, MASK, POSITION_IDS), I32)
    ids = call.input(IDS, (None, None))
    words = call.input(WORDS, (None, None))
    hidden = words.shape[1]
    parts = [
        real(WORDS, gathered(call, f"{call.name}.words", words, ids, 0)),
        real(POSITIONS, _rows_of_positions(call, ids)),
    ]
    segments = call.optional(SEGMENTS, (None, hidden))
    if segments is not None:
        parts.append(real(SEGMENTS, _rows_of_segments(call, segments, ids)))
    total = compute(
        f"{call.name}.sum_of_rows",
        (*ids.shape, hidden),
        parts,
        lambda *i: sum((broadcast_element(p, i) for p in parts[1:]), broadcast_element(parts[0], i)),
    )
    scale, shift = _parameters(call, total, SCALE)
    scale, shift = real(SCALE, scale), None if shift is None else real(SHIFT, shift)
    y, _, _ = layer_normalized(call.name, total, scale, shift, 2, call.attribute("epsilon", _EPSILON), F32)
    return y, _mask_index(call, ids), total


def _rows_of_positions(call: Call, ids: Tensor) -> Tensor:
    """The row of each position, (1 or batch, length, hidden): the first ones, where there are no `position_ids`."""
    table = call.input(POSITIONS, (None, call.input(WORDS).shape[1]))
    places = spread_input(call, POSITION_IDS, ids.shape)
    if places is not None:
        return gathered(call, f"{call.name}.positions", table, places, 0)
    return compute(f"{call.name}.positions", (ids.shape[1], table.shape[1]), (table,), lambda i, c: table[i, c])


def _rows_of_segments(call: Call, table: Tensor, ids: Tensor) -> Tensor:
    """The row of each element's segment: the first one, where there are no `segment_ids`."""
    which = call.optional(SEGMENT_IDS, ids.shape)
    if which is not None:
        return gathered(call, f"{call.name}.segments", table, which, 0)
    return compute(f"{call.name}.segments", table.shape[1:], (table,), lambda c: table[0, c])


def _mask_index(call: Call, ids: Tensor) -> Tensor:
    """The number of ones in the mask of each sequence; zeros without a mask."""
    mask = call.optional(MASK, ids.shape)
    name = f"{call.name}.mask_index"
    if mask is None:
        return compute(name, ids.shape[:1], (), lambda _: Const(0, I32))
    return reduce_axes(name, "sum", ids.shape, (1,), (mask,), lambda *i: mask[i].eq(1).cast(I32))


OPERATORS = {
    "EmbedLayerNormalization": _embed_layer_normalization,
    "QEmbedLayerNormalization": _q_embed_layer_normalization,
    "SkipLayerNormalization": _skip_layer_normalization,
    "SkipSimplifiedLayerNormalization": _skip_simplified_layer_normalization,
}
