"""tensorize: loops become instructions, which simulated hardware carries out; what is no such loop is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_checks import inputs_for, run_kernel
from nests import biased_product
from webnn_compile.dtypes import F16, F32, DType
from webnn_compile.errors import ScheduleError
from webnn_compile.ir.interpret import interpret
from webnn_compile.ir.intrinsic import Tensorized, operands
from webnn_compile.ir.matrix_unit import instance, matrix_unit
from webnn_compile.ir.nodes import Alloc, Buffer, Const, For, Kernel, Load, Scope, Seq, Stmt, Store, Var
from webnn_compile.ir.printer import print_node
from webnn_compile.ir.rewrite import walk
from webnn_compile.ir.verify import verify_kernel
from webnn_compile.passes.flatten_indices import flatten_indices
from webnn_compile.schedule.schedule_simt import schedule_simt
from webnn_compile.schedule.steps import reorder, sink, split, tensorize
from webnn_compile.simt.lower import lower
from webnn_compile.target import GpuTarget, MatrixFacts

Array = np.ndarray[Any, np.dtype[Any]]


class Accelerator:
    """Hardware that multiplies tiles of 8 x 8, and counts its instructions."""

    def __init__(self) -> None:
        self.done: dict[str, int] = {}
        self.instructions = {name: self._counted(name) for name in ("fill", "load_a", "load_b", "multiply", "store")}

    def _counted(self, name: str) -> Callable[..., None]:
        def run(to: Array, *given: Array) -> None:
            self.done[name] = self.done.get(name, 0) + 1
            if name == "multiply":
                a, b = given
                to += a.astype(np.float32) @ b.astype(np.float32)
            else:
                to[:] = given[0] if given else 0

        return run


UNIT = matrix_unit(8, 8, 8, F32)


def product(rows: int, columns: int, depth: int) -> tuple[Kernel, tuple[Var, Var, Var]]:
    """y = a b, the naive loops."""
    a, b = Buffer("a", (rows, depth), F32), Buffer("b", (depth, columns), F32)
    y, acc = Buffer("y", (rows, columns), F32), Buffer("acc", (), F32, Scope.LOCAL)
    i, j, k = Var("i", rows), Var("j", columns), Var("k", depth)
    update = Store(acc, (), Load(acc, ()) + Load(a, (i, k)) * Load(b, (k, j)))
    body: Stmt = Alloc(acc, Seq((Store(acc, (), Const(0.0, F32)), For(k, update, parallel=False),
                                 Store(y, (i, j), Load(acc, ())))))  # fmt: skip
    return Kernel("product", (a, b, y), For(i, For(j, body))), (i, j, k)


def tiled(rows: int, columns: int, depth: int) -> tuple[Kernel, tuple[Var, Var, Var]]:
    """By tiles of 8 x 8, with the loops inside them that are to be tensorized."""
    kernel, (i, j, k) = product(rows, columns, depth)
    s, ((_, ii),) = split(kernel.body, i, [(rows // 8, 8)])
    s, ((jo, ji),) = split(s, j, [(columns // 8, 8)])
    s, ((_, ki),) = split(s, k, [(depth // 8, 8)])
    s = reorder(s, [jo, ii, ji])
    s = sink(sink(s, ii), ji)
    return Kernel("tiled", kernel.params, s), (ii, ji, ki)


@pytest.mark.parametrize("simulated", [False, True])
@pytest.mark.parametrize("flat", [False, True])
def test_a_product_by_an_accelerator(simulated: bool, flat: bool) -> None:
    """A naive nest, split and sunk by other steps, then given to the hardware."""
    made, (_, _, ki) = tiled(16, 24, 40)
    body = tensorize(made.body, ki, UNIT.multiply)
    kernel = Kernel("product", made.params, body)
    found = [n for n in walk(kernel.body) if isinstance(n, Tensorized)]
    assert len(found) == 1
    assert [(p.name, o.buffer.name, o.stride) for p, o in operands(found[0])] == [
        ("c", "acc", 8),
        ("a", "a", 40),
        ("b", "b", 24),
    ]
    verify_kernel(kernel, "schedule_simt")
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((16, 40)).astype(np.float32), rng.standard_normal((40, 24)).astype(np.float32)
    y = np.full((16, 24), np.nan, np.float32)
    hardware = Accelerator()
    if flat:
        kernel = flatten_indices(kernel)
        verify_kernel(kernel, "flatten_indices")
    arrays = [x.reshape(p.shape) for x, p in zip((a, b, y), kernel.params, strict=True)]
    interpret(kernel, arrays, instructions=hardware.instructions if simulated else None)
    np.testing.assert_allclose(arrays[2].reshape(y.shape), a @ b, rtol=1e-4, atol=1e-5)
    assert hardware.done == ({"multiply": 2 * 3 * 5} if simulated else {})


def test_the_text_says_what_is_an_instruction() -> None:
    made, (_, _, ki) = tiled(8, 8, 16)
    assert "multiply:\n" in print_node(tensorize(made.body, ki, UNIT.multiply))


@pytest.mark.parametrize("operand", [F16, F32])
def test_each_instruction_is_what_its_loops_do(operand: DType) -> None:
    unit = matrix_unit(4, 8, 2, operand)
    memory = Buffer("m", (9, 13), operand)
    a, b, c = (
        Buffer(n, s, t, Scope.TILE) for n, s, t in (("a", (4, 2), operand), ("b", (2, 8), operand), ("c", (4, 8), F32))
    )
    out = Buffer("y", (6, 11), F32)
    body: Stmt = Seq(
        (
            instance(unit.fill, [c]),
            instance(unit.load_a, [a, (memory, Const(1), Const(2))]),
            instance(unit.load_b, [b, (memory, Const(5), Const(4))]),
            instance(unit.multiply, [c, a, b]),
            instance(unit.store, [(out, Const(2), Const(3)), c]),
        )
    )
    for tile in (a, b, c):
        body = Alloc(tile, body)
    kernel = Kernel("all", (memory, out), body)
    verify_kernel(kernel, "schedule_simt")
    rng = np.random.default_rng(1)
    m = rng.standard_normal(memory.shape).astype(operand.numpy)
    expected = np.full(out.shape, 7, np.float32)
    expected[2:6, 3:11] = m[1:5, 2:4].astype(np.float32) @ m[5:7, 4:12].astype(np.float32)
    for instructions in (None, Accelerator().instructions):
        y = np.full(out.shape, 7, np.float32)
        interpret(kernel, [m, y], instructions=instructions)
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)


def test_what_is_not_the_instruction_is_refused() -> None:
    made, (ii, _, ki) = tiled(16, 24, 40)
    for var, intrinsic in ((ki, matrix_unit(8, 8, 4, F32).multiply), (ki, UNIT.fill), (ii, UNIT.multiply)):
        with pytest.raises(ScheduleError, match=f"do not do what {intrinsic.name} does"):
            tensorize(made.body, var, intrinsic)
    half = matrix_unit(8, 8, 8, F16)
    with pytest.raises(ScheduleError, match="do not do what multiply does"):
        tensorize(made.body, ki, half.multiply)


def test_the_verifier_sees_tiles_and_instructions_that_are_none() -> None:
    unit = matrix_unit(4, 4, 4, F32)
    c, y = Buffer("c", (4, 4), F32, Scope.TILE), Buffer("y", (4, 4), F32)
    i = Var("i", 4)
    plain = For(i, Store(y, (i, i), Load(c, (i, i))))
    kernel = Kernel("read", (y,), Alloc(c, Seq((instance(unit.fill, [c]), plain))))
    with pytest.raises(Exception, match="a tile is accessed by no instruction of the target"):
        verify_kernel(kernel, "schedule_simt")
    wrong = Kernel("wrong", (y,), Tensorized(unit.fill, For(i, Store(y, (i, i), Const(0.0, F32)))))
    with pytest.raises(Exception, match="the instruction fill does something else"):
        verify_kernel(wrong, "schedule_simt")


@pytest.mark.parametrize(("rows", "columns", "depth"), [(64, 64, 32), (70, 128, 36), (130, 64, 4)])
@pytest.mark.parametrize("kind", ["float16", "tf32"])
def test_products_of_workgroups(rows: int, columns: int, depth: int, kind: str) -> None:
    """The schedule for GPUs, with rows and steps of K that fill no tile, after each lowering, on simulated hardware."""
    nest = biased_product(rows, columns, depth)
    target = GpuTarget("gpu", minimum_occupancy=1, matrix=MatrixFacts(16, 16, 8, kind), workgroup_bytes=49152)
    kernel = schedule_simt(nest.kernel, target, halves=set(nest.kernel.params))
    verify_kernel(kernel, "schedule_simt")
    lowered = lower(kernel)
    verify_kernel(lowered, "unroll_loops")
    given = inputs_for(nest.kernel)
    simulated = Accelerator()
    (expected,) = run_kernel(nest.kernel, given)
    found = [run_kernel(k, given, instructions=simulated.instructions)[0] for k in (kernel, lowered)]
    assert simulated.done["multiply"] > 0
    found = [y.reshape(expected.shape) for y in found]
    for y in found:
        error = np.abs(y - expected).max() / np.abs(expected).max()
        assert 0 < error < 2e-3
    np.testing.assert_array_equal(*found)


def test_long_sums_are_left_to_others() -> None:
    """And operands that are no halves, to hardware that multiplies these."""
    for depth, kind, halves in ((4612, "tf32", True), (64, "float16", False)):
        nest = biased_product(64, 64, depth)
        target = GpuTarget("gpu", minimum_occupancy=1, matrix=MatrixFacts(16, 16, 8, kind), workgroup_bytes=49152)
        kernel = schedule_simt(nest.kernel, target, halves=set(nest.kernel.params if halves else ()))
        assert not any(isinstance(n, Tensorized) for n in walk(kernel.body))
