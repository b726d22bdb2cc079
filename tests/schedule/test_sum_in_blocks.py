"""Long sums in blocks compute the same, with an error that does not grow with their length."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_checks import NARROW, WIDE, assert_same, check_model, run_kernel, scheduled, stages_of
from nests import ZERO, Nest, matrix_product, padded_sum, sum_of_columns, sum_of_rows
from onnx_models import model, node
from webnn_compile.dtypes import F64, I32
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.nodes import Alloc, For, If, LoopKind, Stmt, Store
from webnn_compile.ir.rewrite import rewrite, walk
from webnn_compile.ir.simplify import simplify_stmt
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.schedule.schedule_simt import schedule_simt
from webnn_compile.schedule.steps import accumulate, preload, rfactor, sink, split, sum_in_blocks, tag
from webnn_compile.target import WEBGPU, Target

REASSOCIATED = 1e-5
EPSILON = 2.0**-24
MOST, SIZE = 5, 3
LONGEST = MOST + 3
"""With what rests of the blocks, and of the blocks of blocks, add."""


def check(nest: Nest, body: Stmt) -> None:
    assert_same(nest.kernel, scheduled(nest.kernel, body), "sum_in_blocks", REASSOCIATED)
    assert_same(nest.kernel, scheduled(nest.kernel, simplify_stmt(body)), "sum_in_blocks, simplified", REASSOCIATED)


def chains(s: Stmt) -> list[int]:
    """Terms that each local sum gets, one after the other."""

    def terms(s: Stmt, acc: object) -> int:
        match s:
            case For(var, body, _, parallel):
                return terms(body, acc) * (1 if parallel else var.extent)
            case Store(buffer, _, value):
                return int(buffer is acc and value != ZERO and bool(list(walk(value))[1:]))
            case Alloc(_, body) | If(_, body):
                return terms(body, acc)
        return sum(terms(x, acc) for x in getattr(s, "stmts", ()))

    return [terms(n.body, n.buffer) for n in walk(s) if isinstance(n, Alloc)]


@settings(max_examples=20)
@given(st.integers(1, 3), st.integers(1, 100))
def test_a_sum(rows: int, length: int) -> None:
    nest = sum_of_rows(rows, length)
    body = sum_in_blocks(nest.body, MOST, SIZE)
    assert max(chains(simplify_stmt(body))) <= LONGEST
    check(nest, body)


@settings(max_examples=20)
@given(st.integers(1, 8), st.integers(1, 4), st.integers(1, 8))
def test_several_loops(first: int, second: int, third: int) -> None:
    nest = sum_of_rows(2, first * second * third)
    body, pairs = split(nest.body, nest["k"], [(first * second, third)])
    body, _ = split(body, pairs[0][0], [(first, second)])
    made = sum_in_blocks(body, MOST, SIZE)
    assert max(chains(simplify_stmt(made))) <= LONGEST
    check(nest, made)


@settings(max_examples=20)
@given(st.integers(1, 3), st.integers(1, 6), st.integers(1, 40), st.sampled_from([LoopKind.UNROLL, LoopKind.IN_ORDER]))
def test_a_tile_of_sums(rows: int, columns: int, depth: int, kind: LoopKind) -> None:
    """Its loops stand inside those of the reduction, of which one is written out."""
    nest = matrix_product(rows, columns, 2 * depth)
    body, ((_, steps),) = split(nest.body, nest["k"], [(depth, 2)])
    body = sink(sink(tag(body, steps, kind), nest["i"]), nest["j"])
    body = tag(tag(body, nest["i"], LoopKind.UNROLL), nest["j"], LoopKind.VECTOR)
    made = sum_in_blocks(body, MOST, SIZE)
    assert max(chains(simplify_stmt(made))) <= LONGEST
    check(nest, made)


@settings(max_examples=20)
@given(st.integers(1, 60), st.sampled_from([2, 4]))
def test_a_sum_per_lane(length: int, lanes: int) -> None:
    nest = sum_of_rows(2, length)
    check(nest, sum_in_blocks(rfactor(nest.body, nest["k"], lanes, ZERO), MOST, SIZE))


def test_guarded_terms() -> None:
    nest = padded_sum(20, 13, 2)
    body = sum_in_blocks(nest.body, MOST, SIZE)
    assert max(chains(simplify_stmt(body))) <= LONGEST
    check(nest, body)


def test_blocks_are_equal_where_they_can_be() -> None:
    def extents(length: int) -> list[int]:
        body = simplify_stmt(sum_in_blocks(sum_of_rows(1, length).body, 256, 64))
        return [n.var.extent for n in walk(body) if isinstance(n, For)]

    assert extents(4096) == [64, 64]
    assert extents(4000) == [80, 50]
    assert extents(4001) == [62, 64, 33]
    assert extents(2**20) == [256, 64, 64]


def test_what_stays() -> None:
    """Short sums, other operations, other types, and what is stored in a loop of a reduction besides sums."""
    longer = sum_of_rows(1, MOST + 1).body
    assert sum_in_blocks(longer, MOST, SIZE) is not longer
    local = next(n.buffer for n in walk(longer) if isinstance(n, Alloc))

    def forgets(n: object) -> Stmt | None:
        return Store(local, (), n.value + 1.0) if isinstance(n, Store) and n.buffer is local else None

    for stays in (
        sum_of_rows(1, MOST).body,
        sum_of_rows(1, 99, "max").body,
        sum_of_rows(1, 99, "prod").body,
        sum_of_columns(99, 2, dtype=I32).body,
        sum_of_columns(99, 2, dtype=F64).body,
        rewrite(longer, forgets),
    ):
        assert sum_in_blocks(stays, MOST, SIZE) is stays


@pytest.mark.parametrize("length", [1000, 1001, 7000])
def test_equal_terms_err_by_a_few_roundings(length: int) -> None:
    nest = sum_of_rows(1, length)
    x = np.full((1, length), 0.1, np.float32)
    want = 2 * (1 + x.astype(np.float64).sum())

    def error(body: Stmt) -> float:
        (got,) = run_kernel(scheduled(nest.kernel, body), [x])
        return abs(float(got[0]) - want) / want

    assert error(nest.body) > 64 * EPSILON
    assert error(sum_in_blocks(nest.body, 32, 16)) < 16 * EPSILON


@settings(max_examples=20)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 4), st.integers(1, 4))
def test_accumulate_apart(rows: int, columns: int, blocks: int, size: int) -> None:
    nest = matrix_product(rows, columns, blocks * size)
    check(nest, accumulate(preload(nest.body), nest["k"], size, apart=True))


def test_blocks_of_a_product_apart_err_by_a_few_roundings() -> None:
    nest = matrix_product(1, 1, 1024)
    a, b = np.full((1, 1024), 0.1, np.float32), np.ones((1024, 1), np.float32)
    want = a.astype(np.float64).sum()
    errors = []
    for apart in (False, True):
        body = accumulate(nest.body, nest["k"], 32, apart=apart)
        (got,) = run_kernel(scheduled(nest.kernel, body), [a, b])
        errors.append(abs(float(got[0, 0]) - want) / want)
    assert errors[0] > 64 * EPSILON
    assert errors[1] < 16 * EPSILON


def vectors(shape: list[int], axes: list[int], target: Target) -> int:
    """How many lanes at once the schedule of a sum adds up, 1 where none does."""
    proto = model(
        [node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)], {"x": shape}, ["y"], {"axes": np.asarray(axes)}
    )
    check_model(proto, [target], work=60_000)
    ((_, stages),) = stages_of(lower_model(run_graph_passes(import_model(proto))), target)
    loops = [n for n in walk(dict(stages)["schedule_cpu"].body) if isinstance(n, For)]
    return max((n.var.extent for n in loops if n.kind is LoopKind.VECTOR), default=1)


@pytest.mark.parametrize("target", [NARROW, WIDE], ids=lambda t: t.name)
def test_lanes_run_along_all_contiguous_axes(target: Target) -> None:
    assert vectors([2, 50, 3], [1, 2], target) == target.lanes
    assert vectors([2, 7, 2, 3], [1, 2, 3], target) == target.lanes
    assert vectors([40, 2, 3], [0, 2], target) == 1, "an axis between them stays"


def test_invocations_read_vectors_along_all_contiguous_axes() -> None:
    nest = sum_of_rows(3, 24)
    body, _ = split(nest.body, nest["k"], [(8, 3)])
    kernel = schedule_simt(replace(nest.kernel, body=body), WEBGPU)
    assert_same(nest.kernel, kernel, "schedule_simt", REASSOCIATED)
    assert any(n.kind is LoopKind.VECTOR for n in walk(kernel.body) if isinstance(n, For))
