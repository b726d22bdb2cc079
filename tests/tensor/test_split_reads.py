"""Kernels that read no more tensors than a target allows."""

from __future__ import annotations

import numpy as np
import pytest
from webnn_compile.dtypes import F32
from webnn_compile.ir.construct import select
from webnn_compile.ir.nodes import Expr, Origin
from webnn_compile.tensor import Tensor, compute, placeholder
from webnn_compile.tensor.evaluate import evaluate
from webnn_compile.tensor.fuse import fuse
from webnn_compile.tensor.program import TensorProgram
from webnn_compile.tensor.split_reads import split_reads


def program(inputs: list[Tensor], tensors: list[Tensor]) -> TensorProgram:
    named = tuple((t.name, t) for t in inputs)
    return TensorProgram(named, (("y", tensors[-1]),), tuple(tensors), {t: Origin((t.name,), ("Op",)) for t in tensors})


def inputs(count: int, shape: tuple[int, ...] = (3, 5)) -> list[Tensor]:
    return [placeholder(f"x{i}", shape, F32) for i in range(count)]


def concatenated(xs: list[Tensor]) -> Tensor:
    """Along the first axis, the last piece as a guarded read."""

    def body(i: Expr, j: Expr) -> Expr:
        value: Expr = xs[-1].read([i - 3 * (len(xs) - 1), j], i >= 3 * (len(xs) - 1))
        for n, x in reversed(list(enumerate(xs[:-1]))):
            inside = (i >= 3 * n) & (i < 3 * n + 3)
            value = select(inside, x.read([i - 3 * n, j], inside), value)
        return value

    return compute("y", (3 * len(xs), 5), xs, body)


def total(xs: list[Tensor]) -> Tensor:
    def body(i: Expr, j: Expr) -> Expr:
        value = xs[0][i, j]
        for x in xs[1:]:
            value = value + x[i, j]
        return value

    return compute("y", (3, 5), xs, body)


@pytest.mark.parametrize("make", [concatenated, total])
@pytest.mark.parametrize("most", [2, 3, 7])
def test_parts_of_a_map_become_tensors(make: object, most: int) -> None:
    xs = inputs(11)
    y = make(xs)  # type: ignore[operator]
    split = split_reads(program(xs, [y]), most)
    assert max(len(t.reads) for t in split.tensors) <= most
    fed = {x: np.random.default_rng(i).standard_normal(x.shape).astype(np.float32) for i, x in enumerate(xs)}
    np.testing.assert_allclose(evaluate(split.outputs[0][1], fed), evaluate(y, fed), rtol=1e-6)
    assert all(split.origins[t].nodes == ("y",) for t in split.tensors)


def test_what_reads_few_stays_as_it_is() -> None:
    xs = inputs(3)
    p = program(xs, [total(xs)])
    assert split_reads(p, 3) is p


def test_readers_follow() -> None:
    xs = inputs(5)
    y = total(xs)
    z = compute("z", y.shape, (y,), lambda i, j: y[i, j] * 2.0)
    split = split_reads(program(xs, [y, z]), 3)
    by_buffer = {t.buffer: t for t in split.tensors}
    assert all(by_buffer.get(r.buffer, r) is r for t in split.tensors for r in t.reads)


@pytest.mark.parametrize("most", [3, 5])
def test_fusion_stops_at_the_limit(most: int) -> None:
    xs = inputs(12)
    tensors: list[Tensor] = []
    y = xs[0]
    for x in xs[1:]:
        before = y
        y = compute(f"t{len(tensors)}", y.shape, (before, x), lambda i, j, a=before, b=x: a[i, j] * b[i, j])
        tensors.append(y)
    p = program(xs, tensors)
    assert len(fuse(p)) == 1
    groups = fuse(p, most)
    assert all(len(g.reads) <= most for g in groups)
    assert len(groups) < len(tensors)
