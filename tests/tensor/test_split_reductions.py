"""Reductions in stages: the same results from shorter loops."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from webnn_compile.dtypes import F32, I32, DType
from webnn_compile.ir.nodes import Origin
from webnn_compile.ir.reduction import Reduce
from webnn_compile.target import Stages
from webnn_compile.tensor import Tensor, compute, placeholder, reduce
from webnn_compile.tensor.evaluate import evaluate
from webnn_compile.tensor.program import TensorProgram
from webnn_compile.tensor.split_reductions import split_reductions

MOST, BUSY = 500, 1024
STAGES = Stages(MOST, BUSY)


def program(x: Tensor, tensors: list[Tensor]) -> TensorProgram:
    origins = {t: Origin((t.name,), ("Op",)) for t in tensors}
    return TensorProgram((("x", x),), (("y", tensors[-1]),), tuple(tensors), origins)


def reduction(op: str, x: Tensor, init: float | None = None) -> Tensor:
    """Over all axes of x but the first."""
    return compute("y", x.shape[:1], [x], lambda i: reduce(op, x.shape[1:], lambda *r: x[(i, *r)], init))


@pytest.mark.parametrize("op", ["sum", "max", "min", "prod"])
@pytest.mark.parametrize("shape", [(1, 9000), (3, 8191), (2, 40, 90, 3), (7, 4, 997)], ids=str)
@pytest.mark.parametrize("dtype", [F32, I32], ids=str)
def test_stages_give_the_same(op: str, shape: tuple[int, ...], dtype: DType) -> None:
    x = placeholder("x", shape, dtype)
    y = reduction(op, x)
    split = split_reductions(program(x, [y]), STAGES, STAGES)
    assert len(split.tensors) > 1
    generator = np.random.default_rng(0)
    data = generator.uniform(0.99, 1.01, shape) if dtype.is_float else generator.integers(-9, 9, shape)
    assert {r for t in split.tensors for r in t.reads} <= {x, *split.tensors}
    fed = {x: data.astype(dtype.numpy)}
    np.testing.assert_allclose(evaluate(split.outputs[0][1], fed), evaluate(y, fed), rtol=1e-4 if dtype.is_float else 0)
    for t in split.tensors:
        assert isinstance(t.body, Reduce)
        assert prod(t.shape) >= BUSY or prod(v.extent for v in t.body.axes) <= 2 * BUSY
        assert split.origins[t].nodes == ("y",)


def test_a_start_counts_once() -> None:
    x = placeholder("x", (1, 4000), F32)
    split = split_reductions(program(x, [reduction("sum", x, 5.0)]), STAGES, STAGES)
    assert evaluate(split.outputs[0][1], {x: np.ones((1, 4000), np.float32)}) == [4005.0]


def test_readers_read_the_last_stage() -> None:
    x = placeholder("x", (2, 3000), F32)
    y = reduction("max", x)
    z = compute("z", (2,), [y], lambda i: y[i] * 2.0)
    split = split_reductions(program(x, [y, z]), STAGES, STAGES)
    last = split.outputs[0][1]
    assert last.reads == (split.tensors[-2],)
    data = np.random.default_rng(1).standard_normal((2, 3000)).astype(np.float32)
    np.testing.assert_array_equal(evaluate(last, {x: data}), data.max(1) * 2)


def test_short_ones_and_many_stay() -> None:
    def rows(n: int, length: int) -> TensorProgram:
        x = placeholder("x", (n, length), F32)
        return program(x, [reduction("sum", x)])

    for p in (rows(4, MOST), rows(BUSY, 4000)):
        assert split_reductions(p, STAGES, STAGES) is p


def test_parts_are_as_many_as_keep_the_device_busy_or_as_short_as_asked() -> None:
    def parts(length: int, results: int = 1) -> tuple[int, ...]:
        x = placeholder("x", (results, length), F32)
        return split_reductions(program(x, [reduction("sum", x)]), STAGES, Stages(1000, 16)).tensors[0].shape

    assert parts(1000) == (1,)
    assert parts(1600) == (1, 16)
    assert parts(1600, 4) == (4, 4)
    assert parts(1600, 16) == (16,)
    assert parts(64000) == (1, 64)
    assert parts(64000, 15) == (15, 64)


def test_products_are_staged_as_what_one_invocation_makes() -> None:
    x, w = placeholder("x", (2, 900), F32), placeholder("w", (900, 3), F32)
    y = compute("y", (2, 3), [x, w], lambda i, j: reduce("sum", [900], lambda k: x[i, k] * w[k, j]))
    origins = {y: Origin(("y",), ("Op",))}
    products = TensorProgram((("x", x), ("w", w)), (("y", y),), (y,), origins)
    assert len(split_reductions(products, STAGES, Stages(2000, 1)).tensors) == 2
    assert split_reductions(products, Stages(2000, 1), STAGES) is products
    squares = compute("y", (2,), [x], lambda i: reduce("sum", [900], lambda k: x[i, k] * x[i, k]))
    assert len(split_reductions(program(x, [squares]), Stages(2000, 1), STAGES).tensors) == 2
