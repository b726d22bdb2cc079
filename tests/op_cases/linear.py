"""Rows of matrix products and Einsum."""

from __future__ import annotations

import numpy as np
from op_cases._arrays import Arrays, scalar
from op_table import Array, Case

_a = Arrays(24)
_x = _a.normal


def _bytes(dtype: str, *shape: int) -> Array:
    low, high = (-128, 128) if dtype == "int8" else (0, 256)
    return _a.integers(low, high, *shape, dtype=dtype)


_GEMM = [
    Case("gemm", "Gemm", (_x(3, 5), _x(5, 4), _x(3, 4))),
    Case("gemm-no-bias", "Gemm", (_x(3, 5), _x(5, 4))),
    Case("gemm-row-bias", "Gemm", (_x(3, 5), _x(5, 4), _x(4)), constants=frozenset({1, 2})),
    Case("gemm-column-bias", "Gemm", (_x(3, 5), _x(5, 4), _x(3, 1))),
    Case("gemm-scalar-bias", "Gemm", (_x(3, 5), _x(5, 4), _x())),
    Case("gemm-one-bias", "Gemm", (_x(3, 5), _x(5, 4), _x(1, 1))),
    Case("gemm-trans-a", "Gemm", (_x(5, 3), _x(5, 4), _x(4)), {"transA": 1}),
    Case("gemm-trans-b", "Gemm", (_x(3, 5), _x(4, 5), _x(4)), {"transB": 1}, constants=frozenset({1, 2})),
    Case("gemm-trans-both", "Gemm", (_x(5, 3), _x(4, 5), _x(1, 4)), {"transA": 1, "transB": 1}),
    Case("gemm-alpha", "Gemm", (_x(3, 5), _x(5, 4), _x(3, 4)), {"alpha": 0.5}),
    Case("gemm-alpha-alone", "Gemm", (_x(3, 5), _x(5, 4)), {"alpha": -2.0}),
    Case("gemm-beta", "Gemm", (_x(3, 5), _x(5, 4), _x(3, 4)), {"beta": 0.25}),
    Case("gemm-beta-zero", "Gemm", (_x(3, 5), _x(5, 4), _x(3, 4)), {"beta": 0.0}),
    Case("gemm-all", "Gemm", (_x(7, 3), _x(2, 7), _x(2)), {"alpha": 2.0, "beta": 3.0, "transA": 1, "transB": 1}),
    Case("gemm-one-row", "Gemm", (_x(1, 9), _x(9, 13), _x(13))),
    Case("gemm-one-column", "Gemm", (_x(4, 9), _x(9, 1), _x(1))),
    Case("gemm-depth-one", "Gemm", (_x(4, 1), _x(1, 3), _x(3))),
    Case("gemm-opset-7", "Gemm", (_x(3, 5), _x(5, 4), _x(4)), {"alpha": 0.5}, opset=7),
    Case("gemm-opset-11", "Gemm", (_x(3, 5), _x(5, 4), _x(4)), {"beta": 0.5}, opset=11),
]

_MATMUL = [
    Case("matmul", "MatMul", (_x(3, 5), _x(5, 4))),
    Case("matmul-weights", "MatMul", (_x(7, 9), _x(9, 5)), constants=frozenset({1})),
    Case("matmul-weights-no-rows", "MatMul", (_x(0, 900), _x(900, 8)), constants=frozenset({1})),
    Case("matmul-no-terms", "MatMul", (_x(2, 0), _x(0, 3))),
    Case("matmul-3d", "MatMul", (_x(2, 3, 5), _x(2, 5, 4))),
    Case("matmul-4d", "MatMul", (_x(2, 3, 4, 5), _x(2, 3, 5, 2))),
    Case("matmul-broadcast-b", "MatMul", (_x(2, 3, 4, 5), _x(5, 2))),
    Case("matmul-broadcast-a", "MatMul", (_x(4, 5), _x(2, 3, 5, 2))),
    Case("matmul-broadcast-both", "MatMul", (_x(2, 1, 3, 5), _x(4, 5, 2))),
    Case("matmul-broadcast-one", "MatMul", (_x(1, 3, 5), _x(2, 5, 4))),
    Case("matmul-1d-1d", "MatMul", (_x(5), _x(5))),
    Case("matmul-1d-2d", "MatMul", (_x(5), _x(5, 3))),
    Case("matmul-2d-1d", "MatMul", (_x(3, 5), _x(5))),
    Case("matmul-1d-3d", "MatMul", (_x(5), _x(2, 5, 3))),
    Case("matmul-4d-1d", "MatMul", (_x(2, 3, 4, 5), _x(5))),
    Case("matmul-depth-one", "MatMul", (_x(3, 1), _x(1, 4))),
    Case("matmul-int32", "MatMul", (_a.integers(-9, 9, 3, 5, dtype="int32"), _a.integers(-9, 9, 5, 4, dtype="int32"))),
    Case("matmul-int64", "MatMul", (_a.integers(-9, 9, 3, 5), _a.integers(-9, 9, 5, 4))),
    Case("matmul-opset-7", "MatMul", (_x(2, 3, 5), _x(5, 4)), opset=7),
]

_FACTORS = (_bytes("int8", 7, 19), _bytes("uint8", 19, 13), _bytes("int8", 7), _bytes("uint8", 13))


def _product(a: Array, b: Array, rows: Array, columns: Array) -> Array:
    """The operands less their zero points, one for each row of `a` and each column of `b`."""
    return np.matmul(a - rows[:, None].astype(np.int32), b - columns.astype(np.int32))


_INTEGER = [
    Case("matmulinteger", "MatMulInteger", (_bytes("uint8", 3, 5), _bytes("uint8", 5, 4))),
    Case(
        "matmulinteger-zero",
        "MatMulInteger",
        (_bytes("uint8", 3, 5), _bytes("int8", 5, 4), scalar(12, "uint8"), scalar(-3, "int8")),
    ),
    Case(
        "matmulinteger-zero-column",
        "MatMulInteger",
        (_bytes("uint8", 3, 5), _bytes("uint8", 5, 4), scalar(12, "uint8"), _bytes("uint8", 4)),
        constants=frozenset({1, 2, 3}),
    ),
    Case(
        "matmulinteger-tiles",
        "MatMulInteger",
        (_bytes("uint8", 7, 37), _bytes("int8", 37, 21), scalar(131, "uint8")),
        constants=frozenset({1}),
    ),
    Case(
        "matmulinteger-zero-row-and-column",
        "MatMulInteger",
        _FACTORS,
        constants=frozenset({1, 3}),
        expected=(_product(*_FACTORS),),  # the reference refuses a zero point for each row
    ),
    Case("matmulinteger-3d", "MatMulInteger", (_bytes("uint8", 2, 3, 5), _bytes("int8", 5, 4), scalar(7, "uint8"))),
]


def _einsum(id: str, equation: str, *shapes: tuple[int, ...], opset: int = 12) -> Case:
    return Case(f"einsum-{id}", "Einsum", tuple(_x(*s) for s in shapes), {"equation": equation}, opset)


_EINSUM = [
    _einsum("matmul", "ij,jk->ik", (3, 5), (5, 4)),
    _einsum("batch", "bij, bjk -> bik", (2, 3, 5), (2, 5, 4)),
    _einsum("attention", "bhqd,bhkd->bhqk", (1, 2, 3, 5), (1, 2, 4, 5), opset=21),
    _einsum("transpose", "ij->ji", (3, 5)),
    _einsum("sum", "ij->i", (3, 5)),
    _einsum("inner", "i,i", (5,), (5,)),
    _einsum("implicit", "ij,jk", (3, 5), (5, 4)),
    _einsum("diagonal", "...ii->...i", (2, 3, 3)),
    _einsum("trace", "ii", (4, 4)),
    _einsum("ellipsis", "...ij,...jk->...ik", (2, 3, 5), (2, 5, 4)),
    _einsum("ellipsis-broadcast", "...ij,jk->...ik", (2, 3, 5), (5, 4)),
    _einsum("outer", "i,j->ij", (3,), (4,)),
    _einsum("three", "ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
]

CASES = [*_GEMM, *_MATMUL, *_INTEGER, *_EINSUM]
