"""The minimum and the maximum of the same elements as one reduction."""

from __future__ import annotations

import numpy as np
import pytest
from webnn_compile.dtypes import F32, I32, DType
from webnn_compile.ir.nodes import Origin
from webnn_compile.tensor import Tensor, compute, placeholder, reduce
from webnn_compile.tensor.evaluate import evaluate
from webnn_compile.tensor.merge_extremes import merge_extremes
from webnn_compile.tensor.program import TensorProgram

X = placeholder("x", (3, 5), F32)


def extreme(op: str, x: Tensor, shape: tuple[int, ...] = (), init: float | None = 0) -> Tensor:
    """The extreme of all elements of x, or of each row."""
    rest = x.shape[len(shape) :]
    return compute(op, shape, [x], lambda *i: reduce(op, rest, lambda *r: x.read((*i, *r)), init))


def program(x: Tensor, *tensors: Tensor) -> TensorProgram:
    origins = {t: Origin((t.name,), ("Op",)) for t in tensors}
    return TensorProgram((("x", x),), (("y", tensors[-1]),), tensors, origins)


def span(low: Tensor, high: Tensor) -> Tensor:
    return compute("span", low.shape, [low, high], lambda *i: high.read(i) - low.read(i))


@pytest.mark.parametrize("names", [("min", "max"), ("max", "min"), ("min_nan", "max_nan")])
@pytest.mark.parametrize("data", [[1, 2, -3], [1, 2, 3], [-4, -2, -3], [0.0, -0.0], [np.inf, 1], [-np.inf, np.nan, 2]])
def test_one_reduction_of_both(names: tuple[str, str], data: list[float]) -> None:
    x = placeholder("x", (len(data),), F32)
    first, second = (extreme(op, x) for op in names)
    low, high = (first, second) if "min" in names[0] else (second, first)
    y = span(low, high)
    merged = merge_extremes(program(x, first, second, y))
    assert [t.name for t in merged.tensors if t.is_reduction] == [f"{first.name}.extremes"]
    assert all(merged.origins[t].nodes for t in merged.tensors)
    fed = {x: np.asarray(data, np.float32)}
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(evaluate(merged.outputs[0][1], fed), evaluate(y, fed))


def test_two_pairs() -> None:
    """The extremes of a tensor and of what is computed from them."""
    low, high = extreme("min", X), extreme("max", X)
    scaled = compute("scaled", X.shape, [X, low, high], lambda i, j: X[i, j] * high.read(()) + low.read(()))
    least, most = extreme("min", scaled), extreme("max", scaled)
    y = span(least, most)
    merged = merge_extremes(program(X, low, high, scaled, least, most, y))
    assert sum(t.is_reduction for t in merged.tensors) == 2
    assert {r for t in merged.tensors for r in t.reads} <= {X, *merged.tensors}
    fed = {X: np.random.default_rng(0).standard_normal(X.extents).astype(np.float32)}
    np.testing.assert_array_equal(evaluate(merged.outputs[0][1], fed), evaluate(y, fed))


def _of(dtype: DType, shape: tuple[int, ...] = ()) -> tuple[Tensor, Tensor, Tensor]:
    x = placeholder("x", (3, 5), dtype)
    return x, extreme("min", x, shape), extreme("max", x, shape)


def integers() -> TensorProgram:
    """The negative of the least integer is none."""
    x, low, high = _of(I32)
    return program(x, low, high, span(low, high))


def several_results() -> TensorProgram:
    """Elements of the negatives would be computed again by each reader."""
    x, low, high = _of(F32, (3,))
    return program(x, low, high, span(low, high))


def an_output() -> TensorProgram:
    x, low, high = _of(F32)
    return program(x, low, high)


def read_by_a_reduction() -> TensorProgram:
    """It would negate the minimum for each of its elements."""
    x, low, high = _of(F32)
    y = compute("y", (), [x, low, high], lambda: reduce("sum", (3, 5), lambda *r: x.read(r) - low.read(())))
    return program(x, low, high, y, span(y, high))


def other_starts() -> TensorProgram:
    x, low, high = X, extreme("min", X, init=1), extreme("max", X)
    return program(x, low, high, span(low, high))


def other_elements() -> TensorProgram:
    low = extreme("min", X)
    high = compute("max", (), [X], lambda: reduce("max", (3, 4), lambda i, j: X[i, j + 1], 0))
    return program(X, low, high, span(low, high))


def other_operations() -> TensorProgram:
    low, high = extreme("min", X), extreme("max_nan", X)
    return program(X, low, high, span(low, high))


@pytest.mark.parametrize(
    "made",
    [integers, several_results, an_output, read_by_a_reduction, other_starts, other_elements, other_operations],
    ids=lambda made: made.__name__,
)
def test_what_stays_apart(made: object) -> None:
    assert callable(made)
    before = made()
    assert merge_extremes(before) is before
