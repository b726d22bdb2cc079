"""Between floats and 8- or 16-bit integers with a scale and a zero point."""

from __future__ import annotations

from collections.abc import Callable

from ...dtypes import F32, I32, STORAGE_TYPES, U8, DType
from ...ir.construct import select, unary
from ...ir.nodes import Const, Expr
from ...ir.sizes import shown
from ...tensor import Tensor, compute, reduce
from ..axes import one_axis
from ..broadcast import broadcast_element
from ..call import Call
from ..elementwise.casting import onnx_dtype
from ..elementwise.storage import saturated, stored_as

_NO_FINER_THAN_FLOAT32 = (0, 1, 10, 16)
"""Values of QuantizeLinear's attribute precision: the scale's type, float32, float16, bfloat16. All divide in
float32."""


def _parameter(call: Call, index: int, at: tuple[Expr, ...]) -> Expr | None:
    """The element of input `index` (scale or zero point) for that of x at `at`: one for all, one for each place along
    `axis`, or (opset 21) one for each block along it."""
    x, t = call.input(0), call.optional(index)
    if t is None:
        return None
    if t.buffer.size == 1:
        return broadcast_element(t, [Const(0)] * t.rank)
    axis = one_axis(call, call.attribute("axis", 1), x.rank)
    block = call.attribute("block_size", 0)
    if block:
        fits = t.shape == tuple(-(-e // block) if d == axis else e for d, e in enumerate(x.shape))
    else:
        fits = t.shape == (x.shape[axis],)
    if not fits:
        raise call.unsupported(
            f"parameters of shape {shown(t.shape)} do not fit {shown(x.shape)} along axis {axis}",
            "the model is invalid",
        )
    return t.read([i // block if d == axis else i for d, i in enumerate(at)]) if block else t.read((at[axis],))


def quantum(scaled: Expr, zero: Expr | None, dtype: DType) -> Expr:
    """saturate(round(scaled) + zero), rounding halves to even."""
    rounded = unary("round", scaled)
    return (rounded if zero is None else rounded + zero.cast(F32)).cast(dtype)


def quantize(call: Call) -> Tensor:
    """saturate(round(x / scale) + zero_point), rounding halves to even; uint8 unless the zero point or output_dtype
    (opset 21) says otherwise. The importer sets output_dtype where the zero point is of a storage type. Floats have a
    zero point of 0, and are rounded as by Cast."""
    x = call.input(0)
    requested = onnx_dtype(call, "output_dtype", 0) if call.attribute("output_dtype", 0) else U8
    stored, saturate = STORAGE_TYPES.get(call.attribute("output_dtype", 0)), call.flag("saturate", 1)
    if call.attribute("precision", 0) not in _NO_FINER_THAN_FLOAT32:
        raise call.unsupported(f"attribute precision={call.attribute('precision', 0)}", "divide in float32: 1, or 0")
    zero_point = call.optional(2)
    dtype = requested if zero_point is None else zero_point.dtype

    def body(*axes: Expr) -> Expr:
        scale, zero = _parameter(call, 1, axes), _parameter(call, 2, axes)
        assert scale is not None
        scaled = x.read(axes).cast(F32) / scale.cast(F32)
        if stored is None:
            return quantum(scaled, zero, dtype)
        if stored.format is not None:
            return stored_as(scaled, stored, saturate=saturate)
        return saturated(quantum(scaled, zero, I32), stored)

    return compute(call.name, x.shape, call.inputs, body)


def dequantize(call: Call) -> Tensor:
    """(x - zero_point) * scale, in the scale's dtype, or that which output_dtype says (opset 23). Floats have a zero
    point of 0."""
    x = call.input(0)
    dtype = onnx_dtype(call, "output_dtype", 0) if call.attribute("output_dtype", 0) else call.input(1).dtype

    def body(*axes: Expr) -> Expr:
        scale, zero = _parameter(call, 1, axes), _parameter(call, 2, axes)
        assert scale is not None
        value = x.read(axes)
        if value.dtype.is_float:
            return (value.cast(scale.dtype) * scale).cast(dtype)
        value = value.cast(I32)
        return ((value if zero is None else value - zero.cast(I32)).cast(scale.dtype) * scale).cast(dtype)

    return compute(call.name, x.shape, call.inputs, body)


def _dynamic_quantize(call: Call) -> tuple[Tensor, Tensor, Tensor]:
    return dynamically_quantized(call.name, call.input(0))


def dynamically_quantized(name: str, x: Tensor, apart: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """`x` as uint8, with the scale and zero point that fit its range, which always has 0 in it: one of each, or one for
    each index of the first `apart` dimensions."""
    ours, shape = x.shape[:apart], x.shape[apart:]
    low = compute(f"{name}.low", ours, (x,), lambda *i: reduce("min", shape, lambda *at: x.read((*i, *at)), 0))
    high = compute(f"{name}.high", ours, (x,), lambda *i: reduce("max", shape, lambda *at: x.read((*i, *at)), 0))
    scale = compute(
        f"{name}.scale",
        ours,
        (low, high),
        lambda *i: select(low.read(i).eq(high.read(i)), 1, (high.read(i) - low.read(i)) / 255),
    )
    zero = compute(
        f"{name}.zero_point", ours, (low, scale), lambda *i: unary("round", -low.read(i) / scale.read(i)).cast(U8)
    )
    y = compute(
        name,
        x.shape,
        (x, scale, zero),
        lambda *at: (unary("round", x.read(at) / scale.read(at[:apart])) + zero.read(at[:apart]).cast(F32)).cast(U8),
    )
    return y, scale, zero


OPERATORS: dict[str, Callable[[Call], Tensor | tuple[Tensor, ...]]] = {
    "DequantizeLinear": dequantize,
    "DynamicQuantizeLinear": _dynamic_quantize,
    "QuantizeLinear": quantize,
}
