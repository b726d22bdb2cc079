"""Which loops are shared by cores: large ones, outermost, and nothing that is added up."""

from __future__ import annotations

import pytest
from kernel_checks import assert_same, scheduled
from nests import Nest, matrix_product, pointwise
from webnn_compile.choices import DEFAULT
from webnn_compile.costs import CPU_COSTS
from webnn_compile.errors import InternalError
from webnn_compile.ir.nodes import Alloc, For, LoopKind, Seq, Stmt
from webnn_compile.ir.rewrite import walk
from webnn_compile.ir.verify import verify_kernel
from webnn_compile.schedule.rules.cores import schedule_cores
from webnn_compile.schedule.steps import tag


def share(stmt: Stmt) -> Stmt:
    return schedule_cores(stmt, CPU_COSTS, DEFAULT)


def core_loops(stmt: Stmt) -> list[str]:
    return [f"{n.var.name} {n.var.extent}" for n in walk(stmt) if isinstance(n, For) and n.kind is LoopKind.CORE]


@pytest.mark.parametrize(
    ("nest", "expected"),
    [
        (pointwise(64, 4), []),
        (pointwise(1, 40_000), ["ij 40000"]),
        (pointwise(40, 1000), ["i 40"]),
        (pointwise(5, 7, 1000), ["ij 35"]),
        (pointwise(3, 2, 2, 5000), ["ijkl 60000"]),
        (matrix_product(2, 2, 4), []),
        (matrix_product(3, 50, 300), ["ij 150"]),
        (matrix_product(1, 1, 90_000), []),
    ],
)
def test_outermost_loops_with_enough_iterations_and_work(nest: Nest, expected: list[str]) -> None:
    assert core_loops(share(nest.body)) == expected


def test_each_nest_for_itself() -> None:
    large, small = pointwise(50, 2000), pointwise(8, 8)
    made = share(Seq((small.body, large.body)))
    assert isinstance(made, Seq)
    assert made.stmts[0] is small.body
    assert core_loops(made.stmts[1]) == ["i 50"]


@pytest.mark.parametrize("nest", [pointwise(CPU_COSTS.parallel_iterations // 4, 3, 1100), matrix_product(5, 9, 600)])
def test_results_stay_the_same(nest: Nest) -> None:
    after = scheduled(nest.kernel, share(nest.body))
    assert core_loops(after.body)
    assert_same(nest.kernel, after, "schedule_cpu")


def test_a_core_loop_inside_another_statement_is_refused() -> None:
    nest = matrix_product(3, 4, 5)
    for name in "jk":
        body = tag(nest.body, nest[name], LoopKind.CORE)
        with pytest.raises(InternalError, match="a loop for several cores is a reduction or stands inside another"):
            verify_kernel(scheduled(nest.kernel, body), "schedule_cpu")
    inner = next(n for n in walk(nest.body) if isinstance(n, Alloc))
    assert not core_loops(share(inner))
