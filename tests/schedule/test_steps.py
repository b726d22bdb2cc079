"""Each schedule step keeps what a kernel computes, and refuses what it may not do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_checks import assert_same, scheduled
from nests import ZERO, Nest, activated_product, biased_product, matrix_product, padded_sum, pointwise, sum_of_rows
from webnn_compile.errors import ScheduleError
from webnn_compile.ir.layout import Block, Layout
from webnn_compile.ir.nodes import Alloc, For, Kernel, Load, LoopKind, Outline, Scope, Stmt, Store, Var
from webnn_compile.ir.rewrite import walk
from webnn_compile.ir.simplify import simplify_stmt
from webnn_compile.schedule.steps import (
    accumulate,
    cut,
    fuse,
    keep_sums,
    outline,
    pack,
    partition,
    preload,
    reorder,
    rfactor,
    segments,
    sink,
    split,
    stage,
    tag,
    vectorise,
)

REASSOCIATED = 1e-5
SIZES = st.integers(1, 9)


def check(nest: Nest, body: Stmt, what: str, tolerance: float = 0.0) -> None:
    assert_same(nest.kernel, scheduled(nest.kernel, body), what, tolerance)
    assert_same(nest.kernel, scheduled(nest.kernel, simplify_stmt(body)), f"{what}, simplified", tolerance)


def loops(body: Stmt) -> list[tuple[str, int]]:
    """Names and extents of all loops, outside in."""
    return [(n.var.name, n.var.extent) for n in walk(body) if isinstance(n, For)]


@given(st.integers(1, 40), st.integers(1, 12), st.booleans())
def test_segments_cover_the_extent(extent: int, size: int, balanced: bool) -> None:
    parts = segments(extent, size, balanced=balanced)
    assert sum(n * s for n, s in parts) == extent
    assert all(0 < s <= size for _, s in parts)
    if balanced:
        assert max(s for _, s in parts) - min(s for _, s in parts) <= 1
        assert sum(n for n, _ in parts) == -(-extent // size)


@given(st.integers(1, 12), st.integers(1, 5), st.booleans())
def test_split(extent: int, size: int, balanced: bool) -> None:
    nest = pointwise(extent, 2)
    body, pairs = split(nest.body, nest["i"], segments(extent, size, balanced=balanced))
    assert [(o.extent, i.extent) for o, i in pairs] == segments(extent, size, balanced=balanced)
    check(nest, body, "split")


def test_split_of_ten_by_four() -> None:
    nest = pointwise(10)
    body, _ = split(nest.body, nest["i"], segments(10, 4))
    assert loops(body) == [("io", 2), ("ii", 4), ("io", 1), ("ii", 2)]


@given(st.integers(1, 9), st.integers(1, 4))
def test_split_of_a_reduction(depth: int, size: int) -> None:
    nest = matrix_product(2, 2, depth)
    check(nest, split(nest.body, nest["k"], segments(depth, size))[0], "split")


@given(st.integers(1, 10), st.lists(st.integers(-2, 12), max_size=4))
def test_cut(extent: int, points: list[int]) -> None:
    nest = pointwise(extent, 2)
    body, pieces = cut(nest.body, nest["i"], points)
    assert sum(v.extent for v in pieces) == extent
    check(nest, body, "cut")


@given(st.integers(1, 8), st.lists(st.integers(0, 8), max_size=2))
def test_cut_of_a_reduction(depth: int, points: list[int]) -> None:
    nest = matrix_product(2, 2, depth)
    check(nest, cut(nest.body, nest["k"], points)[0], "cut")


@given(SIZES, SIZES)
def test_fuse(outer: int, inner: int) -> None:
    nest = pointwise(outer, inner)
    body, fused = fuse(nest.body, nest["i"], nest["j"])
    assert fused.extent == outer * inner
    check(nest, body, "fuse")


@given(st.permutations("ijk"))
def test_reorder(order: list[str]) -> None:
    nest = pointwise(2, 3, 4)
    body = reorder(nest.body, [nest[name] for name in order])
    assert [name for name, _ in loops(body)] == order
    check(nest, body, "reorder")


def test_reorder_of_some_loops() -> None:
    nest = pointwise(2, 3, 4)
    body = reorder(nest.body, [nest["k"], nest["j"]])
    assert [name for name, _ in loops(body)] == ["i", "k", "j"]
    check(nest, body, "reorder")


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), st.permutations("ij"))
def test_sink(rows: int, columns: int, depth: int, order: list[str]) -> None:
    nest = matrix_product(rows, columns, depth)
    body = nest.body
    if order == ["j", "i"]:
        body = reorder(body, [nest["j"], nest["i"]])
    body = sink(sink(body, nest[order[1]]), nest[order[0]])
    (local,) = [n.buffer for n in walk(body) if isinstance(n, Alloc)]
    assert local.shape == (nest[order[1]].extent, nest[order[0]].extent)
    check(nest, body, "sink")


def test_what_is_sunk_last_is_innermost() -> None:
    nest = matrix_product(2, 3, 4)
    body = sink(sink(nest.body, nest["j"]), nest["i"])
    assert loops(body) == [("j", 3), ("i", 2), ("k", 4), ("j", 3), ("i", 2), ("j", 3), ("i", 2)]


@given(SIZES, st.sampled_from(list(LoopKind)))
def test_tag(extent: int, kind: LoopKind) -> None:
    nest = pointwise(extent)
    check(nest, tag(nest.body, nest["i"], kind), "tag")


@pytest.mark.parametrize(("extent", "kind"), [(4, LoopKind.VECTOR), (3, LoopKind.UNROLL)])
def test_vectorise(extent: int, kind: LoopKind) -> None:
    nest = pointwise(2, extent)
    body = vectorise(nest.body, nest["j"], 4)
    assert [n.kind for n in walk(body) if isinstance(n, For)] == [LoopKind.SERIAL, kind]
    check(nest, body, "vectorise")


def test_vectorise_unrolls_a_loop_that_jumps_in_memory() -> None:
    nest = pointwise(4, 2)
    body = reorder(nest.body, [nest["j"], nest["i"]])
    body = vectorise(body, nest["i"], 4)
    assert [n.kind for n in walk(body) if isinstance(n, For)] == [LoopKind.SERIAL, LoopKind.UNROLL]
    check(nest, body, "vectorise")


@given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 3))
def test_partition(extent: int, window: int, pad: int) -> None:
    nest = padded_sum(extent, window, pad)
    check(nest, partition(nest.body, [nest["i"]]), "partition")


def test_partition_frees_the_interior_of_guards() -> None:
    nest = padded_sum(8, 3, 1)
    body = partition(nest.body, [nest["i"]])
    interior = next(n for n in walk(body) if isinstance(n, For) and n.var.extent == 6)
    assert all(n.guard is None for n in walk(interior) if isinstance(n, Load))
    assert sum(isinstance(n, Load) and n.guard is not None for n in walk(body)) == 2, "one at each end"


def test_partition_leaves_reductions_alone() -> None:
    nest = padded_sum(8, 3, 1)
    assert partition(nest.body, [nest["r"]]) is nest.body


@given(st.integers(1, 6), st.integers(1, 9), st.integers(1, 4), st.booleans())
def test_pack(depth: int, columns: int, width: int, turned: bool) -> None:
    nest = matrix_product(2, columns, depth)
    order = (1, 0) if turned else (0, 1)
    layout = Layout((depth, columns), order, ((0, 0), (0, 0)), (1, 1), (Block(1, width, width),))
    old = nest.kernel.params[1]
    body, new = pack(nest.body, old, layout)
    assert new.shape == layout.physical_shape
    assert_same(nest.kernel, scheduled(nest.kernel, body, {old: new}), "pack")


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 4))
def test_preload(rows: int, columns: int, depth: int) -> None:
    nest = biased_product(rows, columns, depth)
    body = preload(nest.body)
    starts = [n for n in walk(body) if isinstance(n, Store) and n.buffer.scope is Scope.LOCAL]
    assert isinstance(starts[0].value, Load)
    check(nest, body, "preload", REASSOCIATED)


def test_preload_leaves_a_sum_that_is_used_without_the_bias() -> None:
    nest = biased_product(2, 2, 2, both=True)
    assert preload(nest.body) is nest.body


def activated_tile(rows: int, columns: int, depth: int, op: str) -> tuple[Nest, Stmt]:
    nest = activated_product(rows, columns, depth, op=op)
    body = sink(sink(nest.body, nest["i"]), nest["j"]) if columns % 2 else sink(nest.body, nest["i"])
    for name in "ij":
        body = tag(body, nest[name], LoopKind.UNROLL)
    return nest, body


@given(st.integers(2, 4), st.integers(1, 4), st.integers(0, 3))
def test_stage(rows: int, columns: int, depth: int) -> None:
    nest, tile = activated_tile(rows, columns, depth, "tanh")
    body = stage(tile)
    assert [n.buffer.name for n in walk(body) if isinstance(n, Alloc)] == ["acc", "sums"]
    assert any(n.var is nest["i"] and n.kind is LoopKind.SERIAL for n in walk(body) if isinstance(n, For))
    check(nest, body, "stage")


@pytest.mark.parametrize(("rows", "op"), [(3, "abs"), (1, "tanh")])
def test_stage_leaves_a_cheap_end_and_a_single_row(rows: int, op: str) -> None:
    _, tile = activated_tile(rows, 4, 2, op)
    assert stage(tile) is tile


def test_outline_around_a_loop() -> None:
    nest = matrix_product(3, 4, 2)
    body = outline(nest.body, around=(nest["j"],))
    (region,) = [n for n in walk(body) if isinstance(n, Outline)]
    assert isinstance(region.body, For)
    assert region.body.var is nest["j"]
    check(nest, body, "outline")


def test_outline() -> None:
    nest = matrix_product(2, 2, 2)
    body = outline(nest.body)
    assert sum(isinstance(n, Outline) and isinstance(n.body, Alloc) for n in walk(body)) == 1
    check(nest, body, "outline")


@given(st.integers(1, 3), st.integers(1, 30), st.sampled_from([2, 4, 8]), st.integers(1, 3))
def test_rfactor(rows: int, depth: int, lanes: int, vectors: int) -> None:
    nest = matrix_product(rows, 2, depth)
    body = rfactor(nest.body, nest["k"], lanes, ZERO, vectors)
    extents = {n.var.extent for n in walk(body) if isinstance(n, For) and n.kind is LoopKind.VECTOR}
    assert extents == {lanes, 4} if lanes > 4 else extents == {lanes}
    check(nest, body, "rfactor", REASSOCIATED)


@given(st.integers(1, 5), st.integers(1, 40), st.sampled_from([2, 3, 4, 16]), st.integers(1, 3), st.integers(1, 3))
def test_rfactor_of_a_tile(rows: int, depth: int, lanes: int, vectors: int, size: int) -> None:
    nest = sum_of_rows(rows, depth)
    body, tiles = split(nest.body, nest["i"], segments(rows, size))
    for _, inner in tiles:
        body = sink(body, inner)
    body = rfactor(body, nest["k"], lanes, ZERO, vectors)
    parts = {n.buffer.shape for n in walk(body) if isinstance(n, Alloc) and n.buffer.name == "part"}
    assert parts == {(inner.extent, lanes * vectors) for _, inner in tiles}
    check(nest, body, "rfactor", REASSOCIATED)


@given(st.integers(1, 3), st.integers(1, 9), st.integers(1, 11), st.integers(1, 4), st.sampled_from([1, 4]))
def test_keep_sums(rows: int, columns: int, depth: int, size: int, width: int) -> None:
    nest = biased_product(rows, columns, depth, activated=True)
    body, block = keep_sums(preload(nest.body), nest["j"], nest["k"], size)
    assert block.extent == min(size, depth)
    (sums,) = [n.buffer for n in walk(body) if isinstance(n, Alloc) and n.buffer.name == "sums"]
    assert sums.shape == (columns,)
    check(nest, body, "keep_sums", REASSOCIATED)
    body, pairs = split(body, nest["j"], segments(columns, width))
    for _, inner in pairs:
        body = vectorise(sink(body, inner), inner, width)
    check(nest, body, "keep_sums in panels", REASSOCIATED)


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 4), st.integers(1, 4))
def test_accumulate(rows: int, columns: int, blocks: int, size: int) -> None:
    nest = matrix_product(rows, columns, blocks * size)
    body = accumulate(nest.body, nest["k"], size)
    assert (body.var.extent, body.parallel) == (blocks, False)
    check(nest, body, "accumulate", REASSOCIATED)


def test_accumulate_goes_on_from_a_bias() -> None:
    nest = biased_product(2, 3, 4, activated=False)
    check(nest, accumulate(preload(nest.body), nest["k"], 2), "accumulate", REASSOCIATED)


@given(st.integers(1, 12), st.integers(1, 3), st.integers(1, 5), st.sampled_from([1, 4]))
def test_a_register_tile(columns: int, rows: int, depth: int, width: int) -> None:
    """Steps together, as the rule for contractions takes them."""
    nest = matrix_product(rows, columns, depth)
    old = nest.kernel.params[1]
    body, new = pack(nest.body, old, Layout((depth, columns), (1, 0), ((0, 0),) * 2, (1, 1), (Block(1, width, width),)))
    body = reorder(body, [nest["j"], nest["i"]])
    body, pairs = split(body, nest["j"], segments(columns, width))
    body = tag(sink(body, nest["i"]), nest["i"], LoopKind.UNROLL)
    for _, inner in pairs:
        body = vectorise(sink(body, inner), inner, width)
    assert_same(nest.kernel, scheduled(nest.kernel, simplify_stmt(outline(body)), {old: new}), "tile", REASSOCIATED)


NEST = matrix_product(2, 3, 4)
PLAIN = pointwise(4, 6)
TANH = activated_product(2, 3, 4)
MIXED = For(PLAIN["i"], For(NEST["k"], Store(PLAIN.kernel.params[1], (), ZERO), parallel=False))
SPLIT = split(NEST.body, NEST["k"], [(2, 2)])[0]
STRANGER = Var("stranger", 4)

ILLEGAL: dict[str, tuple[Callable[[], object], str]] = {
    "split that does not cover": (lambda: split(PLAIN.body, PLAIN["i"], [(1, 3)]), "split: segments"),
    "fuse of loops apart": (lambda: fuse(PLAIN.body, PLAIN["j"], PLAIN["i"]), "fuse: loop i is not directly"),
    "fuse with a reduction": (
        lambda: fuse(MIXED, PLAIN["i"], NEST["k"]),
        "fuse: the loops are of different kinds",
    ),
    "fuse of different kinds": (
        lambda: fuse(tag(PLAIN.body, PLAIN["j"], LoopKind.UNROLL), PLAIN["i"], PLAIN["j"]),
        "fuse: the loops are of different kinds",
    ),
    "reorder across an allocation": (lambda: reorder(NEST.body, [NEST["k"], NEST["j"]]), "reorder: loops ['k']"),
    "reorder of a reduction": (
        lambda: reorder(MIXED, [NEST["k"], PLAIN["i"]]),
        "reorder: parallel and reduction loops",
    ),
    "sink of a reduction": (lambda: sink(NEST.body, NEST["k"]), "sink: it is a reduction loop"),
    "tag of a reduction as vector": (lambda: tag(NEST.body, NEST["k"], LoopKind.VECTOR), "tag: a reduction loop"),
    "vectorise of a reduction": (lambda: vectorise(NEST.body, NEST["k"], 4), "vectorise: a reduction loop"),
    "accumulate over an outer loop": (
        lambda: accumulate(NEST.body, NEST["i"], 1),
        "accumulate: it is not the outermost",
    ),
    "accumulate with a rest": (lambda: accumulate(NEST.body, NEST["k"], 3), "accumulate: blocks of 3 do not make up 4"),
    "accumulate in another result": (
        lambda: accumulate(TANH.body, TANH["k"], 2),
        "accumulate: c does not hold the sum",
    ),
    "keep_sums of an outer loop": (
        lambda: keep_sums(NEST.body, NEST["i"], NEST["k"], 2),
        "keep_sums: it is not directly around a reduction over k",
    ),
    "rfactor of an outer loop": (lambda: rfactor(SPLIT, NEST["k"], 2, ZERO), "there is no loop over k"),
}


@pytest.mark.parametrize("case", ILLEGAL)
def test_an_illegal_step_names_itself_and_marks_the_loop(case: str) -> None:
    attempt, message = ILLEGAL[case]
    with pytest.raises(ScheduleError) as caught:
        attempt()
    assert message in str(caught.value)
    if not message.startswith("there is no"):
        assert "\n--> for " in str(caught.value)


@pytest.mark.parametrize(
    "step",
    [
        lambda: split(PLAIN.body, STRANGER, [(1, 4)]),
        lambda: cut(PLAIN.body, STRANGER, [2]),
        lambda: fuse(PLAIN.body, STRANGER, PLAIN["j"]),
        lambda: reorder(PLAIN.body, [STRANGER, PLAIN["j"]]),
        lambda: sink(PLAIN.body, STRANGER),
        lambda: tag(PLAIN.body, STRANGER, LoopKind.UNROLL),
        lambda: vectorise(PLAIN.body, STRANGER, 4),
        lambda: rfactor(NEST.body, STRANGER, 4, ZERO),
        lambda: accumulate(NEST.body, STRANGER, 2),
    ],
)
def test_a_loop_that_is_not_there(step: Callable[[], object]) -> None:
    with pytest.raises(ScheduleError, match="there is no loop over stranger in"):
        step()


def test_an_outer_reduction_loop_is_not_factored() -> None:
    nest = matrix_product(1, 1, 4)
    body, ((outer, _),) = split(nest.body, nest["k"], [(2, 2)])
    with pytest.raises(ScheduleError, match="rfactor: ko is not the innermost loop"):
        rfactor(body, outer, 2, ZERO)


def test_what_is_no_constant_is_not_packed() -> None:
    with pytest.raises(ScheduleError, match="pack: a is not a constant"):
        pack(NEST.body, NEST.kernel.params[0], Layout.row_major((2, 4)))


def test_a_constant_of_another_shape_is_not_packed() -> None:
    with pytest.raises(ScheduleError, match=r"pack: b is of shape \[4, 3\]"):
        pack(NEST.body, NEST.kernel.params[1], Layout.row_major((3, 4)))


def test_a_step_leaves_its_argument_as_it_was() -> None:
    nest = matrix_product(2, 3, 4)
    before = repr(nest.body)
    for name in "ij":
        sink(nest.body, nest[name])
        split(nest.body, nest[name], [(1, nest[name].extent)])
    assert repr(nest.body) == before
    assert isinstance(nest.kernel, Kernel)
