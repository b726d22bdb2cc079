"""Each lowering pass keeps what a kernel computes and does away with what it says."""

from __future__ import annotations

import numpy as np
import pytest
from constructs import CONSTRUCTS
from device_constructs import DEVICE_CONSTRUCTS
from kernel_checks import assert_same, random_array, run_kernel
from nests import matrix_product
from webnn_compile.cpu.compile_for_cpu import LOWERING_PASSES, RELAXED_PASSES
from webnn_compile.dtypes import F32
from webnn_compile.ir.lanes import Ramp, Splat
from webnn_compile.ir.nodes import Buffer, Const, For, Kernel, Load, LoopKind, Seq, Store, Var
from webnn_compile.ir.printer import print_kernel
from webnn_compile.ir.rewrite import substitute
from webnn_compile.ir.verify import LOWERED, verify_kernel
from webnn_compile.passes.flatten_indices import flatten_indices
from webnn_compile.passes.share_nodes import share_nodes
from webnn_compile.passes.unroll_loops import unroll_loops
from webnn_compile.passes.vectorize_loops import vectorize_loops
from webnn_compile.simt.lower import SUBGROUP_PASSES, TREE_PASSES, Pass

X, Y = Buffer("x", (8,), F32), Buffer("y", (8,), F32)
V = Var("v", 4)


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_every_pass_keeps_the_meaning(construct: str) -> None:
    kernel = CONSTRUCTS[construct]()
    generator = np.random.default_rng(0)
    read = kernel.params[: len(kernel.params) - kernel.outputs]
    inputs = [random_array(generator, b.layout.shape if b.layout is not None else b.shape, b.dtype) for b in read]
    want = run_kernel(kernel, inputs)
    for run in LOWERING_PASSES:
        kernel = run(kernel)
        verify_kernel(kernel, run.__name__)
        for a, b in zip(want, run_kernel(kernel, inputs), strict=True):
            np.testing.assert_allclose(b.reshape(a.shape), a, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("construct", DEVICE_CONSTRUCTS)
@pytest.mark.parametrize("passes", [TREE_PASSES, SUBGROUP_PASSES], ids=["tree", "subgroups"])
def test_a_pass_that_changes_nothing_returns_the_same_object(construct: str, passes: tuple[Pass, ...]) -> None:
    unchanged(DEVICE_CONSTRUCTS[construct](), passes)


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_a_lowering_pass_that_changes_nothing_returns_the_same_object(construct: str) -> None:
    unchanged(CONSTRUCTS[construct](), RELAXED_PASSES)


def unchanged(kernel: Kernel, passes: tuple[Pass, ...]) -> None:
    """Asserts that each pass returns another object only where it changed something, since dumps say which it was."""
    for run in passes:
        made = run(kernel)
        # Shared nodes print as others do.
        if made is not kernel and run is not share_nodes:
            assert print_kernel(made) != print_kernel(kernel) or made.body != kernel.body, run.__name__
        kernel = made


def test_the_verifier_knows_the_passes() -> None:
    names = [run.__name__ for run in LOWERING_PASSES]
    assert [n for n in names if n in LOWERED] == list(LOWERED)


def test_unroll_loops() -> None:
    two = Var("two", 2)
    loop = For(two, Store(Y, (two,), Load(X, (two + 1,))), LoopKind.UNROLL)
    body = unroll_loops(Kernel("k", (X, Y), loop)).body
    assert body == Seq(tuple(Store(Y, (Const(n),), Load(X, (Const(n) + 1,))) for n in (0, 1)))


def test_flatten_indices() -> None:
    kernel = matrix_product(3, 4, 5).kernel
    flat = flatten_indices(kernel)
    assert [b.shape for b in flat.params] == [(15,), (20,), (12,)]
    verify_kernel(flat, "simplify")
    generator = np.random.default_rng(0)
    a, b = (random_array(generator, p.shape, p.dtype) for p in kernel.params[:2])
    (got,) = run_kernel(flat, [a.reshape(-1), b])
    (want,) = run_kernel(kernel, [a, b])
    np.testing.assert_array_equal(got.reshape(want.shape), want)


def test_vectorize_loops() -> None:
    i = Var("i", 2)
    loop = For(i, For(V, Store(Y, (i * 4 + V,), Load(X, (V + 1,)) * Load(X, (i,))), LoopKind.VECTOR))
    body = vectorize_loops(Kernel("k", (X, Y), loop)).body
    at = Ramp(i * 4, 4)
    assert body == For(i, Store(Y, (at,), Load(X, (Ramp(Const(1), 4),)) * Splat(Load(X, (i,)), 4)))
    assert_same(Kernel("k", (X, Y), loop), Kernel("k", (X, Y), body), "vectorize_loops")


@pytest.mark.parametrize(
    "body",
    [
        Store(Y, (V * 2,), Const(0.0, F32)),
        Store(Y, (V,), Load(X, (V * 2,))),
        Store(Y, (V,), Load(X, (V // 2,))),
        Store(Y, (Const(0),), Load(X, (V,))),
        Store(Y, (V,), Load(X, (V,), V < 2)),
    ],
)
def test_what_cannot_be_a_vector_is_written_out(body: Store) -> None:
    kernel = Kernel("k", (X, Y), For(V, body, LoopKind.VECTOR))
    made = vectorize_loops(kernel)
    assert made.body == Seq(tuple(substitute(body, {V: Const(lane)}) for lane in range(4)))
    assert_same(kernel, made, "vectorize_loops")
