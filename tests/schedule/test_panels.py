"""Which operand of a product is read again and again, and that blocks of panels compute what NumPy does."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_checks import NARROW, WIDE, check_model, stages_of, with_costs
from onnx_models import model, node, random
from webnn_compile.costs import CPU_COSTS
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.nodes import For, LoopKind, Outline, Stmt
from webnn_compile.ir.rewrite import walk
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.schedule.rules.panels import panels_inside


def test_what_is_small_is_read_again() -> None:
    small = CPU_COSTS.operand_in_first_level
    assert panels_inside(small, 10**6, 1000, 50, CPU_COSTS) == 1
    assert panels_inside(10**6, small, 1000, 50, CPU_COSTS) == 50


def test_blocks_of_panels_are_even_and_stay_in_the_second_level() -> None:
    level = CPU_COSTS.panels_in_second_level
    panel = level // 8
    for count in (9, 16, 17, 100):
        inside = panels_inside(10**6, panel * count, 20, count, CPU_COSTS)
        assert 1 < inside <= 8
        assert -(-count // inside) == -(-count // 8)
    assert panels_inside(10**6, level * 20, 2, 10, CPU_COSTS) == 1


SMALL_CACHES = [with_costs(t, operand_in_first_level=64, panels_in_second_level=1500) for t in (NARROW, WIDE)]


@pytest.mark.parametrize("seed", range(8))
def test_matrix_products_in_blocks(seed: int) -> None:
    """Rows, columns and blocks with rests; a constant operand, or one that differs from product to product."""
    generator = np.random.default_rng(seed)
    rows, depth, columns = (int(generator.integers(low, high)) for low, high in ((5, 20), (5, 12), (24, 60)))
    if seed % 2:
        proto = model([node("MatMul", ["x", "w"], ["y"])], {"x": [2, rows, depth], "w": [2, depth, columns]}, ["y"])
    else:
        nodes = [node("MatMul", ["x", "w"], ["p"]), node("Add", ["p", "b"], ["s"]), node("Erf", ["s"], ["y"])]
        weights = {"w": random((depth, columns)), "b": random((columns,))}
        proto = model(nodes, {"x": [rows, depth]}, ["y"], weights)
    check_model(proto, SMALL_CACHES, work=10**6)


@pytest.mark.parametrize(("height", "width"), [(5, 5), (3, 13), (2, 70)])
def test_convolutions_in_blocks(height: int, width: int) -> None:
    """Lines of narrow images share tiles, and each tile meets the panels of a block."""
    proto = model(
        [node("Conv", ["x", "w", "b"], ["y"], pads=[1, 1, 1, 1])],
        {"x": [1, 2, height, width]},
        ["y"],
        {"w": random((44, 2, 3, 3)), "b": random((44,))},
    )
    check_model(proto, SMALL_CACHES, work=10**6)


def test_a_tile_of_rows_meets_the_panels_of_a_block() -> None:
    """Outermost the blocks, then the rows, then the panels: seven of 8 columns of 6 are 1344 bytes."""
    proto = model([node("MatMul", ["x", "w"], ["y"])], {"x": [20, 6]}, ["y"], {"w": random((6, 112))})
    ((_, stages),) = stages_of(lower_model(run_graph_passes(import_model(proto))), SMALL_CACHES[0])
    stmt: Stmt = dict(stages)["schedule_cpu"].body
    found: list[int | str] = []
    while isinstance(stmt, For | Outline):
        if isinstance(stmt, For):
            assert stmt.kind in (LoopKind.SERIAL, LoopKind.CORE)
        found.append(stmt.var.extent if isinstance(stmt, For) else "function")
        stmt = stmt.body
    assert found == [2, 4, "function", 7]
    assert sum(isinstance(n, Outline) for n in walk(dict(stages)["schedule_cpu"].body)) == 1
