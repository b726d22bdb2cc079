"""Rows of operators of com.microsoft on matrices of few bits with a scale for each block."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from op_cases._arrays import Arrays, ints
from op_table import Array, Case

_a = Arrays(62)

_KNOWN = frozenset({1, 2, 3, 4, 5})


def _case(id: str, op: str, *inputs: Array | None, known: frozenset[int] = _KNOWN, **attributes: Any) -> Case:
    constants = frozenset(i for i in known if i < len(inputs) and inputs[i] is not None)
    return Case(f"ms-{id}", op, inputs, attributes, 17, constants, domain="com.microsoft")


def _bytes(*shape: int) -> Array:
    return _a.integers(0, 256, *shape, dtype="uint8")


def _product(
    id: str,
    bits: int,
    size: int,
    depth: int,
    columns: int,
    *more: Array | None,
    rows: tuple[int, ...] = (3,),
    flat: bool = False,
    known: frozenset[int] = _KNOWN,
    **attributes: Any,
) -> Case:
    """MatMulNBits; `more` are the inputs after the scales."""
    blocks = -(-depth // size)
    scales = _a.uniform(0.01, 0.1, columns, blocks)
    x, packed = _a.normal(*rows, depth), _bytes(columns, blocks, size * bits // 8)
    inputs = (x, packed, scales.reshape(-1) if flat else scales, *more)
    attributes = {"bits": bits, "block_size": size, "K": depth, "N": columns, **attributes}
    return _case(f"matmulnbits-{id}", "MatMulNBits", *inputs, known=known, **attributes)


_PRODUCTS = [
    _product("4", 4, 16, 40, 6),
    _product("8", 8, 32, 64, 5),
    _product("2", 2, 16, 48, 5),
    _product("4-zeros", 4, 16, 40, 6, _bytes(6, 2)),
    _product("2-zeros-flat", 2, 16, 96, 5, _bytes(10), flat=True),
    _product("8-zeros", 8, 16, 48, 5, _bytes(5, 3)),
    _product("4-float-zeros", 4, 32, 64, 5, _a.uniform(0, 15, 5, 2)),
    _product("4-groups", 4, 16, 48, 5, None, _a.integers(0, 3, 48, dtype="int32")),
    _product("4-bias", 4, 64, 64, 5, None, None, _a.normal(5), rows=(2, 3)),
    _product("4-run-time", 4, 16, 32, 5, _bytes(5, 1), known=frozenset()),
    _product("4-vector-large", 4, 32, 512, 96, rows=(1, 1)),
]


def _with_quanta(
    id: str,
    bits: int,
    zeros: Array | None,
    rows: tuple[int, ...],
    shape: tuple[int, int, int] = (32, 96, 21),
) -> Case:
    """accuracy_level=4: activations of 8 bits in the blocks of the weights. Whether onnxruntime does so depends on the
    processor. `shape` is the size of a block, and those of the weights."""
    size, depth, columns = shape
    case = _product(id, bits, size, depth, columns, zeros, rows=rows, accuracy_level=4)
    x, packed, scales = (np.asarray(a) for a in case.inputs[:3])
    blocks, parts = -(-depth // size), 8 // bits

    def unpacked(words: Array, count: int) -> Array:
        fields = [words.astype(np.int64) >> (bits * i) & ((1 << bits) - 1) for i in range(parts)]
        return np.stack(fields, -1).reshape(*words.shape[:-1], -1)[..., :count]

    w = unpacked(packed, size)
    zero = np.full((columns, blocks), 1 << (bits - 1)) if zeros is None else unpacked(zeros, blocks)
    by_block = np.pad(x.reshape(-1, depth), [(0, 0), (0, blocks * size - depth)]).reshape(-1, blocks, size)
    peak = np.abs(by_block).max(-1)
    step = peak / np.float32(127)
    quanta = np.rint(by_block * (np.float32(127) / peak)[..., None]).astype(np.int64)
    sums = np.einsum("rbk,nbk->rbn", quanta, w - zero[..., None])
    y = np.einsum("rbn,nb,rb->rn", sums, scales.astype(np.float64), step.astype(np.float64))
    return replace(case, expected=(y.reshape(*x.shape[:-1], columns).astype(np.float32),))


_PRODUCTS += [
    _with_quanta("4-quanta", 4, None, (1,)),
    _with_quanta("4-quanta-zeros", 4, _bytes(21, 2), (1, 2)),
    _with_quanta("8-quanta", 8, None, (1, 1)),
    _with_quanta("8-quanta-zeros", 8, _bytes(21, 3), (3,)),
    _with_quanta("2-quanta", 2, None, (2,)),
    _with_quanta("4-quanta-rows", 4, _bytes(32, 2), (7,), (16, 40, 32)),
    _with_quanta("4-quanta-large-blocks", 4, None, (2, 3), (128, 256, 48)),
    _with_quanta("4-quanta-deep", 4, None, (1,), (16, 280, 20)),
    _with_quanta("2-quanta-one-block", 2, None, (1,), (64, 48, 5)),
]

_ROWS = ints(0, 3, -1, 2).reshape(2, 2)


def _gather(id: str, bits: int, zeros: Array | None, *, known: frozenset[int] = _KNOWN) -> Case:
    inputs = (_bytes(5, 48 * bits // 8), _ROWS, _a.uniform(0.01, 0.1, 5, 3), zeros)
    attributes = {"bits": bits, "block_size": 16, "quantize_axis": 1, "gather_axis": 0}
    return _case(f"gatherblockquantized-{id}", "GatherBlockQuantized", *inputs, known=known, **attributes)


_GATHERS = [
    _gather("4", 4, None, known=frozenset({0, 2})),
    _gather("4-zeros", 4, _bytes(5, 2), known=frozenset({0, 2, 3})),
    _gather("2-zeros", 2, _bytes(5, 1), known=frozenset()),
    _gather("8-known", 8, _bytes(5, 3), known=frozenset({0, 1, 2, 3})),
]

_TABLES = [
    _case(
        f"matmulbnb4-{kind}",
        "MatMulBnb4",
        *(_a.normal(3, 40), _bytes(100), _a.uniform(0.1, 1, 13)),
        K=40,
        N=5,
        block_size=16,
        quant_type=quant_type,
    )
    for quant_type, kind in enumerate(("fp4", "nf4"))
]

CASES = [*_PRODUCTS, *_GATHERS, *_TABLES]
