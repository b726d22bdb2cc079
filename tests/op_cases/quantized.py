"""Rows of operators on quantised tensors. Weights are small: onnxruntime's sums in 16 bits saturate on no processor."""

from __future__ import annotations

from typing import Any

import numpy as np
from op_cases._arrays import Arrays, scalar
from op_table import Array, Case

_a = Arrays(44)


def _bytes(dtype: str, *shape: int) -> Array:
    return _a.integers(-128, 128, *shape, dtype=dtype) if dtype == "int8" else _a.integers(0, 256, *shape, dtype=dtype)


def _weights(*shape: int, dtype: str = "int8") -> Array:
    return _a.integers(-60, 60, *shape, dtype=dtype) if dtype == "int8" else _a.integers(0, 120, *shape, dtype=dtype)


def _product(
    id: str,
    op: str,
    x: tuple[Array, float, int],
    w: tuple[Array, Array, Array],
    y: tuple[float, int, str],
    *bias: Array,
    run_time: bool = False,
    **attributes: Any,
) -> Case:
    """An operand and weights, each with scale and zero point, and those of the result with its type."""
    a, scale, zero = x
    inputs = (a, scalar(scale), scalar(zero, str(a.dtype)), *w, scalar(y[0]), scalar(y[1], y[2]), *bias)
    known = frozenset() if run_time else frozenset(range(1, len(inputs)))
    return Case(id, op, inputs, attributes, constants=known)


_CHANNELS = np.asarray([0.011, 0.02, 0.005, 0.017], np.float32)
_NO_ZEROS = np.zeros(4, np.int8)

_CONV = [
    _product(
        "qlinearconv",
        "QLinearConv",
        (_bytes("uint8", 1, 3, 6, 6), 0.05, 7),
        (_weights(4, 3, 3, 3, dtype="uint8"), scalar(0.02), scalar(50, "uint8")),
        (0.31, 120, "uint8"),
        pads=[1, 1, 1, 1],
    ),
    _product(
        "qlinearconv-channels",
        "QLinearConv",
        (_bytes("uint8", 2, 3, 6, 7), 0.05, 128),
        (_weights(4, 3, 3, 3), _CHANNELS, _NO_ZEROS),
        (0.13, 3, "uint8"),
        _a.integers(-900, 900, 4, dtype="int32"),
        strides=[2, 2],
        pads=[0, 1, 1, 0],
    ),
    _product(
        "qlinearconv-int8",
        "QLinearConv",
        (_bytes("int8", 1, 5, 9, 8), 0.031, -9),
        (_weights(4, 5, 1, 1), _CHANNELS, _NO_ZEROS),
        (0.05, 11, "int8"),
        _a.integers(-900, 900, 4, dtype="int32"),
    ),
    _product(
        "qlinearconv-depthwise",
        "QLinearConv",
        (_bytes("int8", 1, 4, 7, 9), 0.031, 0),
        (_weights(4, 1, 3, 3), _CHANNELS, _NO_ZEROS),
        (0.07, -20, "int8"),
        group=4,
        pads=[1, 1, 1, 1],
    ),
    _product(
        "qlinearconv-zero-per-filter-run-time",
        "QLinearConv",
        (_bytes("uint8", 1, 2, 9), 0.05, 3),
        (_weights(4, 2, 3, dtype="uint8"), _CHANNELS, np.asarray([5, 0, 60, 9], np.uint8)),
        (0.1, 99, "uint8"),
        run_time=True,
        dilations=[2],
    ),
    _product(  # sums over the scale that lie halfway between quanta, and beyond either end
        "qlinearconv-halves",
        "QLinearConv",
        (np.arange(0, 256, 5, dtype=np.uint8).reshape(1, 1, 1, -1), 1.0, 128),
        (np.full((1, 1, 1, 1), 3, np.int8), scalar(0.5), scalar(0, "int8")),
        (1.0, 129, "uint8"),
    ),
]

_MATMUL = [
    _product(
        "qlinearmatmul",
        "QLinearMatMul",
        (_bytes("uint8", 5, 19), 0.02, 99),
        (_weights(19, 13), scalar(0.015), scalar(-4, "int8")),
        (0.11, 130, "uint8"),
    ),
    _product(
        "qlinearmatmul-columns",
        "QLinearMatMul",
        (_bytes("int8", 2, 3, 11), 0.02, -5),
        (_weights(11, 4), _CHANNELS, np.zeros(4, np.int8)),
        (0.05, 4, "int8"),
    ),
    _product(
        "qlinearmatmul-batches-run-time",
        "QLinearMatMul",
        (_bytes("uint8", 2, 1, 3, 5), 0.02, 7),
        (_weights(4, 5, 6, dtype="uint8"), scalar(0.1), scalar(33, "uint8")),
        (0.15, 120, "uint8"),
        run_time=True,
    ),
]

_ROWS = (
    _bytes("uint8", 3, 7),
    np.asarray([0.02, 0.05, 0.03], np.float32),
    np.asarray([9, 100, 128], np.uint8),
    _weights(7, 4),
    _CHANNELS,
    np.asarray([3, 0, -7, 1], np.int8),
    np.asarray([0.04, 0.1, 0.06], np.float32),
    np.asarray([120, 130, 128], np.uint8),
)


def _by_rows(a: Array, a_scale: Array, a_zero: Array, b: Array, b_scale: Array, b_zero: Array, *y: Array) -> Array:
    total = (a.astype(np.int32) - a_zero[:, None]) @ (b.astype(np.int32) - b_zero)
    scaled = total.astype(np.float32) * (a_scale[:, None] * b_scale / y[0][:, None])
    return np.asarray(np.clip(np.rint(scaled) + y[1][:, None], 0, 255), np.uint8)


def _ms(
    id: str,
    op: str,
    operands: tuple[tuple[Array, float, int | None], ...],
    y: tuple[float, int],
    *,
    first: bool = False,
    **attributes: Any,
) -> Case:
    """Each operand with its scale and zero point; those of the result come last, or first."""
    dtype = str(operands[0][0].dtype)
    result = (scalar(y[0]), scalar(y[1], dtype))
    given = [i for a, s, z in operands for i in (a, scalar(s), None if z is None else scalar(z, dtype))]
    inputs = (*result, *given) if first else (*given, *result)
    known = frozenset(i for i, t in enumerate(inputs) if t is not None and t.ndim == 0)
    return Case(f"ms-{id}", op, inputs, attributes, 17, known, domain="com.microsoft")


_POOL = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}
_image = _bytes("uint8", 2, 3, 7, 6)

_ELEMENTS = [
    _ms(
        "qlinearadd", "QLinearAdd", ((_bytes("uint8", 3, 9), 0.031, 9), (_bytes("uint8", 3, 9), 0.047, 200)), (0.07, 99)
    ),
    _ms(
        "qlinearadd-int8",
        "QLinearAdd",
        ((_bytes("int8", 2, 3, 5), 0.031, -9), (_bytes("int8", 5), 0.047, 0)),
        (0.05, 7),
    ),
    _ms(
        "qlinearmul", "QLinearMul", ((_bytes("uint8", 3, 9), 0.031, 9), (_bytes("uint8", 3, 1), 0.047, 20)), (0.17, 33)
    ),
    *(  # results that lie halfway between quanta, around a zero point that is odd
        _ms(
            f"{op.lower()}-halves",
            op,
            ((np.arange(0, 250, 7, dtype=np.uint8), 0.5, a_zero), (np.full(36, 3, np.uint8), 0.5, 0)),
            (scale, 33),
        )
        for op, a_zero, scale in (("QLinearAdd", 3, 1.0), ("QLinearMul", 0, 1.5))
    ),
    _ms("qlinearaveragepool-halves", "QLinearAveragePool", ((_image, 0.5, 3),), (1.0, 9), kernel_shape=[1, 1]),
    _ms("qlinearsigmoid", "QLinearSigmoid", ((np.arange(256, dtype=np.uint8), 0.03, 128),), (1 / 256, 0)),
    _ms(
        "qlinearleakyrelu",
        "QLinearLeakyRelu",
        ((np.arange(-128, 128, dtype=np.int8), 0.03, 3),),
        (0.021, -9),
        alpha=0.2,
    ),
    _ms("qlinearaveragepool", "QLinearAveragePool", ((_image, 0.03, 3),), (0.0273, 9), **_POOL),
    _ms(
        "qlinearaveragepool-padding",
        "QLinearAveragePool",
        ((_image, 0.03, 3),),
        (0.0273, 9),
        count_include_pad=1,
        **_POOL,
    ),
    _ms("qlinearglobalaveragepool", "QLinearGlobalAveragePool", ((_image, 0.03, 3),), (0.011, 9)),
    _ms("qlinearsoftmax", "QLinearSoftmax", ((_bytes("uint8", 5, 7), 0.03, 3),), (1 / 256, 0), opset=13),
    _ms(
        "qlinearsoftmax-opset-11",
        "QLinearSoftmax",
        ((_bytes("int8", 3, 2, 5), 0.02, 3),),
        (1 / 256, -128),
        opset=11,
        axis=1,
    ),
    _ms(
        "qlinearconcat",
        "QLinearConcat",
        ((_bytes("uint8", 2, 3), 0.03, 3), (_bytes("uint8", 2, 5), 0.05, 99)),
        (0.047, 77),
        first=True,
        axis=1,
    ),
]

_condition = _a.integers(0, 2, 2, 3, 1, dtype="bool")


def _reduced(id: str, x: Array, axes: tuple[int, ...], *, keepdims: int) -> Case:
    """onnxruntime has no kernel for it."""
    real = (x.astype(np.int32) - 3).astype(np.float32) * np.float32(0.03)
    mean = real.mean(axes, keepdims=bool(keepdims), dtype=np.float64).astype(np.float32)
    expected = np.clip(np.rint(mean / np.float32(0.017)) - 9, -128, 127).astype(np.int8)
    inputs = (x, scalar(0.03), scalar(3, "int8"), scalar(0.017), scalar(-9, "int8"))
    attributes = {"axes": list(axes), "keepdims": keepdims}
    known = frozenset({1, 2, 3, 4})
    return Case(
        f"ms-{id}", "QLinearReduceMean", inputs, attributes, 17, known, expected=(expected,), domain="com.microsoft"
    )


_WHERE = (
    _condition,
    *(_bytes("uint8", 3, 5), scalar(0.031), scalar(9, "uint8")),
    *(_bytes("uint8", 2, 1, 5), scalar(0.047), scalar(200, "uint8")),
    *(scalar(0.05), scalar(99, "uint8")),
)

_SELECTED = [
    Case("ms-qlinearwhere", "QLinearWhere", _WHERE, {}, 17, frozenset({2, 3, 5, 6, 7, 8}), domain="com.microsoft"),
    _reduced("qlinearreducemean", _bytes("int8", 2, 3, 7), (1, 2), keepdims=0),
    _reduced("qlinearreducemean-kept", _bytes("int8", 2, 3, 7), (-1,), keepdims=1),
]


def _dequantized(op: str) -> Case:
    """An operator of the compiler's own; of a convolution of 1 x 1 the product is that of matrices."""
    x, w = _bytes("uint8", 6, 10), _weights(10, 4)
    zeros, factor, bias = _a.integers(-9, 9, 4, dtype="int8"), _CHANNELS * np.float32(0.1), _a.uniform(-1, 1, 4)
    total = (x.astype(np.int32) - 99) @ (w.astype(np.int32) - zeros)
    y = total.astype(np.float32) * factor + bias.astype(np.float32)
    if op != "DequantizedMatMul":
        x, w, y = x.T.reshape(1, 10, 2, 3), w[:, :, None, None], y.T.reshape(1, 4, 2, 3)
    if op == "DequantizedConv":
        w = w.transpose(1, 0, 2, 3)
    inputs = (np.ascontiguousarray(x), np.ascontiguousarray(w), scalar(99, "uint8"), zeros, factor, bias)
    return Case(
        op.lower(),
        op,
        inputs,
        constants=frozenset(range(1, 6)),
        domain="webnn_compile",
        expected=(np.ascontiguousarray(y),),
    )


_CENTRED = np.append(np.linspace(-200, 250, 31), [-0.5, 0.5, 1.5, 2.5]).astype(np.float32).reshape(5, 7)
_TABLE = np.random.default_rng(7).permutation(256).astype(np.uint8)
_ALL_BYTES = np.random.default_rng(8).permutation(256).astype(np.uint8).reshape(8, 32)

CASES = [
    Case(
        "centredquantize",
        "CentredQuantize",
        (_CENTRED,),
        {"low": -100, "high": 155},
        domain="webnn_compile",
        expected=(np.clip(np.rint(_CENTRED), -100, 155).astype(np.int16),),
    ),
    *(
        Case(
            f"lookup-{x.dtype}",
            "LookUp",
            (x, _TABLE),
            constants=frozenset({1}),
            domain="webnn_compile",
            expected=(_TABLE[x.astype(np.int32) - np.iinfo(x.dtype).min],),
        )
        for x in (_ALL_BYTES, _ALL_BYTES.view(np.int8))
    ),
    *map(_dequantized, ("DequantizedConv", "DequantizedConvTranspose", "DequantizedMatMul")),
    *_CONV,
    *_MATMUL,
    Case("qlinearmatmul-rows", "QLinearMatMul", _ROWS, constants=frozenset(range(3, 8)), expected=(_by_rows(*_ROWS),)),
    *_ELEMENTS,
    *_SELECTED,
]
