"""Refusals of the neural-network operators, and their messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from webnn_compile.dtypes import F32, I32, DType
from webnn_compile.errors import UnsupportedError
from webnn_compile.graph.define import define
from webnn_compile.graph.ir import Node, Value
from webnn_compile.tensor import Tensor, constant, placeholder

Input = tuple[int, ...] | np.ndarray

ROWS: list[tuple[str, list[Input], dict[str, Any], str]] = [
    (
        "BatchNormalization",
        [(3,), (3,), (3,), (3,), (3,)],
        {"training_mode": 1},
        "input 0 ('x0') has shape [3], without a batch and channels; check the input shape",
    ),
    ("Conv", [(1, 4, 5, 5), (2, 3, 3, 3)], {}, "its input has 4 channels, its weights are for 3 in 1 groups"),
    ("Conv", [(1, 3, 2, 5), (2, 3, 3, 3)], {}, "its window spans 3 elements of an axis that has 2 with padding"),
    ("Conv", [(1, 3, 5, 5), (2, 3, 3, 3)], {"strides": (1,)}, "attribute strides has 1 elements where 2 are expected"),
    ("ConvTranspose", [(1, 3, 5, 5), (4, 2, 3, 3)], {}, "its input has 3 channels, its weights are for 4"),
    ("Einsum", [(2, 3), (4, 5)], {"equation": "ij,jk->ik"}, "label 'j' stands for 3 and for 4 elements"),
    ("Einsum", [(2, 3)], {"equation": "ij,jk->ik"}, "equation 'ij,jk->ik' does not name 1 operands"),
    ("Gemm", [(2, 3), (4, 5)], {}, "shapes [2, 3] and [4, 5] do not multiply"),
    ("Gemm", [(2, 3, 4), (4, 5)], {}, "its operands have 3 and 2 dimensions, not 2"),
    ("GroupNormalization", [(1, 5, 4), (5,), (5,)], {"num_groups": 2}, "5 channels do not divide into 2 groups"),
    ("MatMul", [(2, 3), (4,)], {}, "shapes [2, 3] and [4] do not multiply"),
    ("MatMul", [(), (4,)], {}, "an operand is a scalar"),
    (
        "Resize",
        [(2, 2), np.zeros(0, np.float32), np.float32([2, 2])],
        {"nearest_mode": "up"},
        "nearest_mode 'up' is unknown; use round_prefer_floor",
    ),
    (
        "Resize",
        [(2, 2), np.zeros(0, np.float32), np.float32([2, 2])],
        {"coordinate_transformation_mode": "corner"},
        "coordinate_transformation_mode 'corner' is unknown; use half_pixel",
    ),
    ("Resize", [(1, 1, 2, 2)], {}, "it has neither scales nor sizes"),
    (
        "Resize",
        [(2, 3), np.zeros(0, np.float32), np.zeros(0, np.float32), np.asarray([2, 3_000_000])],
        {"mode": "cubic"},
        "interpolating axis 1 from 3 to 3000000 elements takes tables of 91.55 MiB in the bundle, and 64 MiB are the "
        "most; check its sizes or scales, or use mode nearest",
    ),
    (
        "Resize",
        [(10_000_000,), np.zeros(0, np.float32), np.zeros(0, np.float32), np.asarray([999])],
        {"mode": "linear", "antialias": 1},
        "axis 0 from 10000000 to 999 elements takes tables of 152.6 MiB",
    ),
    (
        "Upsample",
        [(1, 1, 2, 2), (4,)],
        {},
        "its input 'scales' is computed at run time, so the shape of the result is not known at compile time",
    ),
    ("Upsample", [(1, 1, 2, 2), np.float32([1, 2])], {}, "scales [1.0, 2.0] do not fit 4 axes"),
    (
        "Upsample",
        [(1, 1, 2, 2), np.float32([1, 1, 2, 2])],
        {"mode": "area"},
        "mode 'area' is unknown; use nearest, linear or cubic",
    ),
    ("Softmax", [(2, 3)], {"axis": 2}, "axis 2 does not exist in a tensor of rank 2"),
]


def _define(op: str, inputs: list[Input], attributes: dict[str, Any], dtype: DType = F32) -> list[Tensor]:
    values = [Value(f"x{d}", i if isinstance(i, tuple) else i.shape, dtype) for d, i in enumerate(inputs)]
    tensors = {
        v: placeholder(v.name, v.shape, dtype) if isinstance(i, tuple) else constant(v.name, i)
        for v, i in zip(values, inputs, strict=True)
    }
    return define(Node(op, "here", tuple(values), (None,), attributes, 21), tensors)


def _refusal(op: str, inputs: list[Input], attributes: dict[str, Any], dtype: DType = F32) -> str:
    with pytest.raises(UnsupportedError) as error:
        _define(op, inputs, attributes, dtype)
    return str(error.value)


@pytest.mark.parametrize(("op", "inputs", "attributes", "reason"), ROWS)
def test_refusal(op: str, inputs: list[Input], attributes: dict[str, Any], reason: str) -> None:
    message = _refusal(op, inputs, attributes)
    assert message.startswith(f"{op} (node 'here'): ")
    assert reason in message


def test_integer_gemm_takes_whole_factors() -> None:
    assert "alpha is 0.5 for integer operands" in _refusal("Gemm", [(2, 3), (3, 4)], {"alpha": 0.5}, I32)


def test_axes_that_resize_keeps_take_no_tables() -> None:
    x, roi = (5_000_000, 2), np.zeros(0, np.float32)
    (made,) = _define("Resize", [x, roi, np.float32([1, 2])], {"mode": "linear"})
    assert made.shape == (5_000_000, 4)
