"""Rows of operators of com.microsoft that stand for several of ai.onnx."""

from __future__ import annotations

from typing import Any

from op_cases._arrays import WIDE, Arrays
from op_table import Array, Case

_a = Arrays(33)
_x = _a.normal


def _ms(id: str, op: str, *inputs: Array, constants: frozenset[int] = frozenset(), **attributes: Any) -> Case:
    return Case(f"ms-{id}", op, inputs, attributes, 17, constants, domain="com.microsoft")


CASES = [
    _ms("gelu", "Gelu", _x(2, 3, 5)),
    _ms("gelu-wide", "Gelu", WIDE),
    _ms("biasgelu", "BiasGelu", _x(2, 3, 5), _x(5), constants=frozenset({1})),
    _ms("fastgelu", "FastGelu", WIDE),
    _ms("fastgelu-bias", "FastGelu", _x(2, 7), _x(7)),
    _ms("quickgelu", "QuickGelu", WIDE),
    _ms("quickgelu-alpha", "QuickGelu", _x(3, 5), alpha=0.5),
    _ms("fusedmatmul", "FusedMatMul", _x(3, 5), _x(5, 4)),
    _ms("fusedmatmul-alpha", "FusedMatMul", _x(3, 5), _x(5, 4), alpha=0.125),
    _ms("fusedmatmul-trans-a", "FusedMatMul", _x(2, 5, 3), _x(5, 4), transA=1),
    _ms("fusedmatmul-trans-b", "FusedMatMul", _x(2, 3, 3, 5), _x(2, 1, 4, 5), transB=1, alpha=0.5),
    _ms("fusedmatmul-weights", "FusedMatMul", _x(3, 7), _x(9, 7), constants=frozenset({1}), transB=1),
    _ms("fusedmatmul-both", "FusedMatMul", _x(2, 5, 3), _x(2, 4, 5), transA=1, transB=1, alpha=-2.0),
    _ms("fusedmatmul-batch-a", "FusedMatMul", _x(3, 2, 4, 5), _x(2, 4, 5, 6), transBatchA=1),
    _ms("fusedmatmul-batch-b", "FusedMatMul", _x(2, 3, 5), _x(5, 2, 6), transBatchB=1),
    _ms(
        "fusedmatmul-batch-and-trans",
        "FusedMatMul",
        _x(5, 2, 3),
        _x(6, 2, 5),
        transA=1,
        transBatchA=1,
        transB=1,
        transBatchB=1,
    ),
    _ms("fusedmatmul-vector", "FusedMatMul", _x(5), _x(2, 4, 5), transA=1, transB=1),
    _ms("cdist", "CDist", _x(5, 7), _x(9, 7), metric="sqeuclidean"),
    _ms("cdist-root", "CDist", _x(3, 4), _x(6, 4), metric="euclidean"),
    _ms("cdist-float64", "CDist", _x(3, 5).astype("float64"), _x(2, 5).astype("float64"), metric="euclidean"),
    _ms("trilu", "Trilu", _x(2, 5, 6)),
    _ms("trilu-lower", "Trilu", _a.integers(0, 9, 4, 4), _a.integers(-1, 2, 1), constants=frozenset({1}), upper=0),
    Case("ms-unique", "Unique", (_a.integers(0, 5, 23).astype("float32"),), outputs=3, domain="com.microsoft"),
]
