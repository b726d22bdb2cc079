"""Loops over dimensions that a Reshape has joined become loops over these, where sizes vary."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_checks import NARROW, assert_same, scheduled
from nests import Nest, pointwise, sum_of_rows
from onnx_models import from_text
from webnn_compile.choices import DEFAULT
from webnn_compile.cpu.compile_for_cpu import schedule_kernel
from webnn_compile.dtypes import F32
from webnn_compile.errors import ScheduleError
from webnn_compile.frontends.model_inputs import DimLike, model_inputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.nodes import Binary, Buffer, For, Kernel, Load, LoopKind, Scalar, Stmt, Store, Var
from webnn_compile.ir.rewrite import free_vars, walk
from webnn_compile.ir.simplify import simplify_stmt
from webnn_compile.passes.flatten_indices import flatten_indices
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.schedule.rules.unfuse_joined import unfuse_joined
from webnn_compile.schedule.steps import sizes_between, unfuse
from webnn_compile.target import Target


def check(nest: Nest, body: Stmt) -> None:
    assert_same(nest.kernel, scheduled(nest.kernel, body), "unfuse")
    assert_same(nest.kernel, scheduled(nest.kernel, simplify_stmt(body)), "unfuse, simplified")


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_unfuse(sizes: list[int]) -> None:
    nest = pointwise(int(np.prod(sizes)), 2)
    body, variables = unfuse(nest.body, nest["i"], sizes)
    assert [v.extent for v in variables] == sizes
    check(nest, body)


def test_unfuse_of_a_reduction() -> None:
    nest = sum_of_rows(3, 12)
    body, variables = unfuse(nest.body, nest["k"], [3, 4])
    assert not any(n.parallel for n in walk(body) if isinstance(n, For) and n.var in variables)
    check(nest, body)


def test_sizes_that_do_not_make_up_the_loop() -> None:
    nest = pointwise(12)
    for sizes in ([], [5, 2], [12, 2]):
        with pytest.raises(ScheduleError, match="unfuse: the product of the sizes is not the length of the loop"):
            unfuse(nest.body, nest["i"], sizes)


def test_sizes_between_divisors() -> None:
    h, w = Scalar("h", 9, low=1), Scalar("w", 9, low=1)
    assert sizes_between(24, [3, 12, 5, 24]) == [2, 4, 3]
    assert sizes_between(24, []) == [24]
    assert sizes_between(h * w * 4, [w, h * w]) == [4, h, w]


def _moved(rows: int, length: int, divisor: int) -> tuple[Var, Stmt]:
    """for i < h * w: y[i] = x[i // divisor, i % divisor], where h and w are at most `rows` and `length`"""
    h, w = Scalar("h", rows, low=1), Scalar("w", length, low=1)
    i = Var("i", rows * length, h * w)
    x, y = Buffer("x", (rows, length), F32), Buffer("y", (rows * length,), F32)
    d = w if divisor == 0 else h * 0 + divisor
    return i, simplify_stmt(For(i, Store(y, (i,), Load(x, (i // d, i % d)))))


def test_a_loop_whose_divisions_do_not_vanish_stays() -> None:
    _, body = _moved(4, 4, 3)
    assert unfuse_joined(body) is body


def test_a_loop_that_is_divided_by_constants_stays() -> None:
    """A DepthToSpace makes rows of an image of its blocks so."""
    w = Scalar("w", 4, low=1)
    i = Var("i", 12, w * 3)
    x, y = Buffer("x", (3, 4), F32), Buffer("y", (12,), F32)
    body = simplify_stmt(For(i, Store(y, (i,), Load(x, (i % 3, i // 3)))))
    assert unfuse_joined(body) is body


def test_a_loop_along_contiguous_memory_stays() -> None:
    h = Scalar("h", 4, low=1)
    i = Var("i", 12, h * 3)
    x, y = Buffer("x", (4, 3), F32), Buffer("y", (12,), F32)
    body = simplify_stmt(For(i, Store(y, (i,), Load(x, (i // 3, i % 3)))))
    assert unfuse_joined(body) is body


def test_a_joined_loop_becomes_two() -> None:
    i, body = _moved(4, 4, 0)
    nested = unfuse_joined(body)
    assert not any(isinstance(n, Binary) and n.op in ("//", "%") for n in walk(nested))
    assert i not in free_vars(nested)


MODELS = {
    "the sum of a group": """
        (float[1, 8, h, w] x) => (float[1, 2] y) <int64[3] s = {0, 2, -1}, int64[1] a = {2}> {
          r = Reshape(x, s)
          y = ReduceSum <keepdims = 0> (r, a)
        }""",
    "an element-wise map over joined rows": """
        (float[1, 8, h, w] x) => (float[1, 2, n] y) <int64[3] s = {0, 2, -1}> {
          r = Reshape(x, s)
          y = Exp(r)
        }""",
    "a softmax of joined rows": """
        (float[1, 8, h, w] x) => (float[1, 2, n] y) <int64[3] s = {0, 2, -1}> {
          r = Reshape(x, s)
          y = Softmax(r)
        }""",
    "rows and an image again": """
        (float[1, 8, h, w] x) => (float[1, 8, h, w] y)
        <int64[3] s = {0, 2, -1}, float[2] one = {1, 2}, float[2] zero = {0, 1}> {
          r = Reshape(x, s)
          n = InstanceNormalization(r, one, zero)
          o = Shape(x)
          y = Reshape(n, o)
        }""",
    "tokens of an image": """
        (float[1, 8, h, w] x) => (float[1, n, 8] y) <int64[3] s = {0, 8, -1}> {
          r = Reshape(x, s)
          y = Transpose <perm = [0, 2, 1]> (r)
        }""",
}


def _kernels(text: str, size: DimLike = (3, 40), target: Target = NARROW) -> list[Kernel]:
    graph = import_model(from_text(text), model_inputs(dims={"h": size, "w": size}))
    return [schedule_kernel(k, target, 2, DEFAULT) for k in lower_model(run_graph_passes(graph)).kernels]


@pytest.mark.parametrize("name", MODELS)
def test_no_element_takes_a_division_by_a_size(name: str) -> None:
    for kernel in _kernels(MODELS[name]):
        loops = [n for n in walk(kernel.body) if isinstance(n, For)]
        inner = [n for n in loops if not any(isinstance(x, For) for x in walk(n.body))]
        divisors = [x.b for n in inner for x in walk(n.body) if isinstance(x, Binary) and x.op in ("//", "%")]
        assert not [d for d in divisors if any(isinstance(v, Scalar) for v in free_vars(d))], kernel.name
        if "tokens" not in name:
            assert any(n.kind is LoopKind.VECTOR for n in inner), kernel.name


@pytest.mark.parametrize("name", ["a softmax of joined rows", "rows and an image again"])
def test_vectors_of_fixed_sizes_are_contiguous(name: str) -> None:
    """Rows that join three axes, in vectors that are a part of a row of the image."""
    for kernel in _kernels(MODELS[name], 64, replace(NARROW, lanes=16)):
        vectors = [n for n in walk(flatten_indices(kernel).body) if isinstance(n, For) and n.kind is LoopKind.VECTOR]
        assert vectors, kernel.name
        for loop in vectors:
            divisions = [n for n in walk(loop.body) if isinstance(n, Binary) and n.op in ("//", "%")]
            assert not [n for n in divisions if loop.var in free_vars(n)], kernel.name
