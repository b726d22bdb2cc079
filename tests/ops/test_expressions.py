"""Expressions are as plain as they can be: schedules rely on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from webnn_compile.dtypes import F32, I64
from webnn_compile.ir.affine import affine
from webnn_compile.ir.nodes import Binary, Const, Load, Select, Unary
from webnn_compile.ir.rewrite import loads, walk
from webnn_compile.ops import OPERATORS
from webnn_compile.ops.call import Call
from webnn_compile.tensor import Tensor, constant, placeholder


def _x(*shape: int) -> Tensor:
    return placeholder("x", shape, F32)


def _ints(*values: int) -> Tensor:
    return constant("ints", np.asarray(values, np.int64))


def _apply(op: str, *inputs: Tensor, attributes: Mapping[str, Any] | None = None) -> Tensor:
    result = OPERATORS["", op](Call(op, "node", 21, attributes or {}, inputs, 1))
    assert isinstance(result, Tensor)
    assert result.body is not None
    return result


def _load(t: Tensor) -> Load:
    assert t.body is not None
    (load,) = loads(t.body)
    return load


def test_reshape_leaves_untouched_dimensions_alone() -> None:
    merged = _apply("Reshape", _x(2, 3, 4, 5), _ints(2, 12, 5))
    first, outer, inner, last = _load(merged).indices
    assert (first, last) == (merged.axes[0], merged.axes[2])
    assert (outer, inner) == (merged.axes[1] // 4, merged.axes[1] % 4)


def test_reshape_that_splits_is_affine() -> None:
    split = _apply("Reshape", _x(2, 12, 5), _ints(2, 3, 4, 5))
    assert all(affine(i).variables_only for i in _load(split).indices)


def test_broadcast_dimensions_are_read_at_zero() -> None:
    total = _apply("Add", _x(1, 3, 4, 5), placeholder("b", (3, 1, 1), F32))
    assert total.body is not None
    bias = next(load for load in loads(total.body) if load.buffer.name == "b")
    assert bias.indices == (total.axes[1], Const(0), Const(0))


def test_known_scalars_are_part_of_the_expression() -> None:
    half = _apply("Mul", _x(3), constant("half", np.asarray([0.5], np.float32)))
    assert half.body == Binary("*", Load(half.reads[0].buffer, half.axes), Const(0.5, F32))
    assert [t.name for t in half.reads] == ["x"]


def test_gather_of_a_progression_is_a_slice() -> None:
    t = _apply("Gather", _x(9, 2), _ints(-8, 3, 5, 7))
    index = affine(_load(t).indices[0])
    assert (index.coefficient(t.axes[0]), index.constant) == (2, 1)


def test_gather_at_run_time_stays_inside() -> None:
    t = _apply("Gather", _x(9), placeholder("at", (4,), I64))
    assert t.body is not None
    assert isinstance(t.body, Load)
    assert t.body.indices[0].op == "min"  # type: ignore[attr-defined]


def test_concat_reads_each_part_only_where_it_is() -> None:
    t = _apply("Concat", _x(2, 3), placeholder("y", (2, 4), F32), placeholder("z", (2, 1), F32), attributes={"axis": 1})
    assert t.body is not None
    i = t.axes[1]
    assert {load.buffer.name: load.guard for load in loads(t.body)} == {
        "x": i < 3,
        "y": (i >= 3) & (i < 7),
        "z": i >= 7,
    }


def test_max_with_a_constant_needs_no_test_for_nan() -> None:
    bound = constant("bound", np.asarray(0, np.float32))
    for inputs in ((_x(3), bound), (bound, _x(3))):
        t = _apply("Max", *inputs)
        assert t.body is not None
        assert not any(isinstance(n, Select | Unary) for n in walk(t.body))
