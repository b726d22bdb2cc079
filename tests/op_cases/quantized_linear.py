"""Rows of products of com.microsoft with quantised operands. Weights are small: onnxruntime's sums in 16 bits saturate
on no processor."""

from __future__ import annotations

from typing import Any

import numpy as np
from op_cases._arrays import Arrays, scalar
from op_table import Array, Case

_a = Arrays(61)


def _bytes(dtype: str, *shape: int) -> Array:
    return _a.integers(-128, 128, *shape, dtype=dtype) if dtype == "int8" else _a.integers(0, 256, *shape, dtype=dtype)


def _weights(*shape: int, dtype: str = "int8") -> Array:
    return _a.integers(-60, 60, *shape, dtype=dtype) if dtype == "int8" else _a.integers(0, 120, *shape, dtype=dtype)


def _case(id: str, op: str, *inputs: Array | None, known: tuple[int, ...] = (), **attributes: Any) -> Case:
    return Case(f"ms-{id}", op, inputs, attributes, 17, frozenset(known), domain="com.microsoft")


_SCALES = np.asarray([0.011, 0.02, 0.005, 0.017], np.float32)
_ZEROS = np.asarray([3, 0, -7, 1], np.int8)

_GEMM = [
    _case(
        "qgemm",
        "QGemm",
        *(_bytes("uint8", 5, 19), scalar(0.02), scalar(99, "uint8")),
        *(_weights(19, 13), scalar(0.015), scalar(-4, "int8")),
        *(_a.integers(-900, 900, 13, dtype="int32"), scalar(0.11), scalar(130, "uint8")),
        known=tuple(range(1, 9)),
    ),
    _case(
        "qgemm-columns-transposed",
        "QGemm",
        *(_bytes("int8", 11, 3), scalar(0.02), scalar(-5, "int8")),
        *(_weights(4, 11), _SCALES, np.zeros(4, np.int8)),
        *(_a.integers(-900, 900, 3, 4, dtype="int32"), scalar(0.07), scalar(4, "int8")),
        known=tuple(range(1, 9)),
        transA=1,
        transB=1,
        alpha=1.5,
    ),
    _case(
        "qgemm-run-time",
        "QGemm",
        *(_bytes("uint8", 3, 11), scalar(0.02), scalar(7, "uint8")),
        *(_weights(4, 11, dtype="uint8"), scalar(0.03), scalar(33, "uint8")),
        *(None, scalar(0.15), scalar(120, "uint8")),
        transB=1,
    ),
    _case(
        "qgemm-float",
        "QGemm",
        *(_bytes("uint8", 5, 9), scalar(0.02), scalar(99, "uint8")),
        *(_weights(9, 4), _SCALES, np.zeros(4, np.int8), _a.integers(-900, 900, 1, 4, dtype="int32")),
        known=(1, 2, 3, 4, 5),
    ),
    _case(  # sums over the scale that lie halfway between quanta, and beyond either end
        "qgemm-halves",
        "QGemm",
        *(np.arange(0, 256, 5, dtype=np.uint8)[:, None], scalar(1.0), scalar(128, "uint8")),
        *(np.full((1, 1), 3, np.int8), scalar(0.5), scalar(0, "int8")),
        *(None, scalar(1.0), scalar(129, "uint8")),
        known=tuple(range(1, 9)),
    ),
]

_TO_FLOAT = [
    _case(
        "matmulintegertofloat",
        "MatMulIntegerToFloat",
        *(_bytes("uint8", 2, 3, 11), _weights(11, 4), scalar(0.02), _SCALES),
        *(scalar(101, "uint8"), _ZEROS, _a.normal(4)),
        known=(1, 3, 5, 6),
    ),
    _case(
        "matmulintegertofloat-int8",
        "MatMulIntegerToFloat",
        *(_bytes("int8", 5, 19), _weights(19, 7), scalar(0.02), scalar(0.3)),
        known=(1,),
    ),
    _case(
        "matmulintegertofloat-batches",
        "MatMulIntegerToFloat",
        *(_bytes("uint8", 2, 1, 3, 5), _weights(4, 5, 6, dtype="uint8"), scalar(0.02), scalar(0.3)),
        *(None, scalar(40, "uint8")),
    ),
    _case(
        "dynamicquantizematmul",
        "DynamicQuantizeMatMul",
        *(_a.uniform(-3, 5, 2, 5, 11), _weights(11, 4), _SCALES, _ZEROS, _a.normal(4)),
        known=(1, 2, 3, 4),
    ),
    _case(
        "dynamicquantizematmul-run-time",
        "DynamicQuantizeMatMul",
        *(_a.uniform(1, 5, 3, 9), _weights(9, 7, dtype="uint8"), scalar(0.1), scalar(30, "uint8")),
    ),
]


def _attention(id: str, *inputs: Array | None, columns: int = 30, scales: Array | None = None, **other: Any) -> Case:
    """Two sequences of three, two heads of five elements. `inputs` are those after the scales."""
    operands = (_bytes("uint8", 2, 3, 9), _weights(9, columns), _a.normal(columns))
    weights_scale = scalar(0.004) if scales is None else scales
    outputs, known = other.pop("outputs", 1), frozenset({1, 2, 4})
    attributes = {"num_heads": 2, **other}
    given = (*operands, scalar(0.01), weights_scale, *inputs)
    return Case(f"ms-qattention-{id}", "QAttention", given, attributes, 17, known, outputs, domain="com.microsoft")


_ATTENTION = [
    _attention("mask", np.asarray([2, 3], np.int32), scalar(120, "uint8"), scalar(2, "int8")),
    _attention("columns", None, scalar(120, "uint8"), scales=_a.uniform(0.001, 0.01, 30), unidirectional=1),
    _attention(
        "past",
        None,
        scalar(120, "uint8"),
        scalar(0, "int8"),
        _a.normal(2, 2, 2, 4, 5),
        outputs=2,
        unidirectional=1,
    ),
]


def _embed(id: str, segments: bool, mask: Array | None, dtype: str = "uint8") -> Case:
    """Two sequences of three words, of eleven, in eight elements."""
    tables = [_bytes(dtype, n, 8) for n in (11, 5, 2)]
    scales, zeros = (
        [scalar(s) for s in (0.02, 0.03, 0.01, 0.013, 0.005)],
        [scalar(z, dtype) for z in (9, 100, 3, 20, 7)],
    )
    ids = [_a.integers(0, n, 2, 3, dtype="int32") for n in (11, 2)]
    if not segments:
        ids[1] = tables[2] = scales[2] = zeros[2] = None
    inputs = (*ids, *tables, _bytes(dtype, 8), _bytes(dtype, 8), mask, *scales, *zeros)
    known = frozenset(i for i, t in enumerate(inputs) if t is not None and i not in (0, 1, 7))
    name, op = f"ms-qembedlayernormalization-{id}", "QEmbedLayerNormalization"
    return Case(name, op, inputs, {}, 17, known, 2, domain="com.microsoft")


_EMBED = [
    _embed("mask", True, np.asarray([[1, 1, 0], [1, 1, 1]], np.int32)),
    _embed("words", False, None, "int8"),
]

_SAME = [
    _case(
        "qlinearconv",
        "QLinearConv",
        *(_bytes("uint8", 1, 3, 6, 6), scalar(0.05), scalar(7, "uint8")),
        *(_weights(4, 3, 3, 3), _SCALES, np.zeros(4, np.int8), scalar(0.13), scalar(3, "uint8")),
        _a.integers(-900, 900, 4, dtype="int32"),
        known=tuple(range(1, 9)),
        pads=[1, 1, 1, 1],
    ),
    *(
        _case(
            f"quantizelinear-{dtype}",
            "QuantizeLinear",
            *(_a.uniform(-30, 30, 2, 4), _SCALES * 9, np.asarray([3, 0, 7, 1], dtype)),
            known=(1, 2),
            axis=1,
        )
        for dtype in ("uint8", "int16")
    ),
    *(
        _case(
            f"dequantizelinear-{dtype}",
            "DequantizeLinear",
            *(_a.integers(0, 99, 4, 3, dtype=dtype), _SCALES, np.asarray([3, 0, 7, 1], dtype)),
            known=(1, 2),
            axis=0,
        )
        for dtype in ("int8", "uint16")
    ),
]

CASES = [*_GEMM, *_TO_FLOAT, *_ATTENTION, *_EMBED, *_SAME]
