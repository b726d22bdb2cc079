"""Rows of quantisation."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto
from op_cases._arrays import Arrays, scalar
from op_table import Case

a = Arrays(14)

HALVES = np.asarray([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], np.float32)
SCALES = np.asarray([0.1, 0.5, 2], np.float32)
KNOWN = frozenset({1, 2})


def zeros(dtype: str) -> np.ndarray:
    return np.asarray([3, 0, 7], dtype)


def _dequantized(scale: str, to: str, code: int) -> Case:
    """A result of another type than the scale's, which onnxruntime lacks."""
    x = a.integers(-99, 99, 5, dtype="int8")
    expected = (x * np.asarray(0.25, scale)).astype(to)
    inputs, attributes = (x, np.asarray(0.25, scale)), {"output_dtype": code}
    return Case(f"dequantizelinear-to-{to}", "DequantizeLinear", inputs, attributes, 23, expected=(expected,))


CASES = [
    *(
        Case(
            f"quantizelinear-{d}",
            "QuantizeLinear",
            (a.uniform(-30, 30, 3, 7), scalar(0.2), scalar(5, d)),
            constants=KNOWN,
        )
        for d in ("uint8", "int8", "uint16", "int16")
    ),
    *(
        Case(
            f"quantizelinear-axis-{d}",
            "QuantizeLinear",
            (a.uniform(-30, 30, 2, 3, 5), SCALES, zeros(d)),
            {"axis": 1},
            constants=KNOWN,
        )
        for d in ("uint8", "int8")
    ),
    *(
        Case(
            f"quantizelinear-vectors-{d}",
            "QuantizeLinear",
            (np.linspace(-400, 400, 37, dtype=np.float32) ** 3, scalar(300), scalar(9, d)),
            constants=KNOWN,
        )
        for d in ("uint8", "int8")
    ),
    Case("quantizelinear-halves", "QuantizeLinear", (HALVES, scalar(1), scalar(0, "int8"))),
    Case(
        "quantizelinear-saturates",
        "QuantizeLinear",
        (np.asarray([-1e9, 1e9, 300, -300], np.float32), scalar(1), scalar(9, "uint8")),
    ),
    Case("quantizelinear-no-zero-point", "QuantizeLinear", (a.uniform(0, 30, 3, 5), scalar(0.3))),
    Case(
        "quantizelinear-output-dtype",
        "QuantizeLinear",
        (a.uniform(-9, 9, 3, 5), scalar(0.3)),
        {"output_dtype": TensorProto.INT8},
    ),
    Case(
        "quantizelinear-opset10",
        "QuantizeLinear",
        (a.uniform(-9, 9, 3, 5), scalar(0.3), scalar(100, "uint8")),
        opset=10,
    ),
    Case(
        "quantizelinear-negative-axis",
        "QuantizeLinear",
        (a.uniform(-9, 9, 5, 3), SCALES, zeros("int8")),
        {"axis": -1},
        opset=13,
    ),
    Case(
        "quantizelinear-blocked",
        "QuantizeLinear",
        (a.uniform(-9, 9, 2, 6), a.uniform(0.1, 1, 2, 3)),
        {"axis": 1, "block_size": 2},
    ),
    Case(
        "quantizelinear-int32",
        "QuantizeLinear",
        (a.integers(-99, 99, 7, dtype="int32"), scalar(1.5), scalar(3, "int8")),
        opset=13,
    ),
    *(
        Case(
            f"dequantizelinear-{d}",
            "DequantizeLinear",
            (a.integers(0, 99, 3, 7, dtype=d), scalar(0.2), scalar(5, d)),
            constants=KNOWN,
        )
        for d in ("uint8", "int8", "uint16", "int16")
    ),
    *(
        Case(
            f"dequantizelinear-axis-{d}",
            "DequantizeLinear",
            (a.integers(0, 99, 2, 3, 5, dtype=d), SCALES, zeros(d)),
            {"axis": 1},
            constants=KNOWN,
        )
        for d in ("uint8", "int8")
    ),
    Case("dequantizelinear-int32", "DequantizeLinear", (a.integers(-9999, 9999, 3, 5, dtype="int32"), scalar(0.01))),
    Case(
        "dequantizelinear-opset10",
        "DequantizeLinear",
        (a.integers(-99, 99, 5, dtype="int8"), scalar(0.5), scalar(-3, "int8")),
        opset=10,
    ),
    Case(
        "dequantizelinear-axis0",
        "DequantizeLinear",
        (a.integers(-99, 99, 3, 2, dtype="int8"), SCALES),
        {"axis": 0},
        opset=13,
    ),
    Case(
        "dequantizelinear-blocked",
        "DequantizeLinear",
        (a.integers(-99, 99, 4, 3, dtype="int8"), a.uniform(0.1, 1, 2, 3)),
        {"axis": 0, "block_size": 2},
    ),
    *(
        Case(
            f"quantizelinear-to-{name}",
            "QuantizeLinear",
            (x := a.uniform(-9, 9, 5, 7), scalar(0.7)),
            {"output_dtype": number},
            25,
            KNOWN,
            expected=(np.clip(np.rint(x / np.float32(0.7)), *ends).astype("uint8" if ends[0] == 0 else "int8"),),
        )
        for name, number, ends in (
            ("int4", TensorProto.INT4, (-8, 7)),
            ("uint4", TensorProto.UINT4, (0, 15)),
            ("int2", TensorProto.INT2, (-2, 1)),
        )
    ),
    _dequantized("float32", "float16", TensorProto.FLOAT16),
    _dequantized("float16", "float32", TensorProto.FLOAT),
    Case("dynamicquantizelinear", "DynamicQuantizeLinear", (a.uniform(-3, 5, 3, 7),), outputs=3),
    Case("dynamicquantizelinear-scalar", "DynamicQuantizeLinear", (np.asarray(1.5, np.float32),), outputs=3),
    Case("dynamicquantizelinear-positive", "DynamicQuantizeLinear", (a.uniform(2, 5, 7),), opset=11, outputs=3),
    Case("dynamicquantizelinear-negative", "DynamicQuantizeLinear", (a.uniform(-5, -2, 2, 1, 3),), outputs=3),
    Case("dynamicquantizelinear-zero", "DynamicQuantizeLinear", (np.zeros((2, 2), np.float32),), outputs=3),
]
