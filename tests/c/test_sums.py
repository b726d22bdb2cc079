"""Sums in order, as the system's C compiler makes them of their source."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
import webnn_compile
from onnx_models import assert_close, model, node, onnxruntime_results, random
from webnn_compile.c.reordered_sums import reorders_sums
from webnn_compile.dtypes import F32
from webnn_compile.ir.lanes import Ramp, Splat
from webnn_compile.ir.nodes import Binary, Buffer, Const, Expr, For, Load, Scope, Seq, Stmt, Store, Var


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(6, 3, 8), (4, 5, 4), (2, 9, 16)])
def test_of_what_is_read_backwards(shape: tuple[int, int, int], axis: int) -> None:
    """GCC 12 would add some elements twice (its bug 110381)."""
    nodes = [
        node("Slice", ["x", "start", "end", "axis", "step"], ["turned"]),
        node("ReduceSum", ["turned"], ["y"], keepdims=0),
        node("ReduceSum", ["turned", "two"], ["z"], keepdims=0),
    ]
    ends = {"start": [-1], "end": [-(2**31)], "axis": [axis], "step": [-1], "two": [1, 2]}
    made = model(nodes, {"x": list(shape)}, ["y", "z"], {n: np.array(v) for n, v in ends.items()})
    feeds = {"x": random(shape)}
    assert_close(webnn_compile.compile(made, "c").run(feeds), onnxruntime_results(made, feeds))


def test_of_what_is_read_in_another_order() -> None:
    """Sums over an operand with permuted axes, of which GCC 12 would add some terms twice, too."""
    shapes = [(3, 3, 4), (4, 3, 5), (7, 3, 3), (2, 3, 4), (8, 8), (5, 7), (3, 2, 2, 4)]
    nodes, inputs, feeds, wanted = [], {}, {}, {}
    for n, shape in enumerate(shapes):
        x = random(shape, n)
        inputs[f"x{n}"], feeds[f"x{n}"] = list(shape), x
        for m, perm in enumerate(itertools.permutations(range(len(shape)))):
            turned, name = [shape[i] for i in perm], f"{n}_{m}"
            z = random(tuple(turned), n + 100)
            inputs[f"z{name}"], feeds[f"z{name}"] = turned, z
            back = [perm.index(i) for i in range(len(shape))]
            nodes += [
                node("Transpose", [f"z{name}"], [f"t{name}"], perm=back),
                node("Min", [f"x{n}", f"t{name}"], [f"m{name}"]),
                node("ReduceSum", [f"m{name}"], [f"y{name}"], keepdims=0),
            ]
            wanted[f"y{name}"] = np.minimum(x, z.transpose(back)).astype(np.float64).sum()
    got = webnn_compile.compile(model(nodes, inputs, list(wanted)), "c").run(feeds)
    for name, value in wanted.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-5, atol=1e-5, err_msg=name)


def nest(*walks: Sequence[int], extents: Sequence[int], op: str = "+") -> For:
    """acc = acc op x[...] * ..., in serial loops: of each operand what a step of each loop, outside in, adds to its
    address."""
    acc, x, at = Buffer("acc", (1,), F32, Scope.LOCAL), Buffer("x", (10_000,), F32), (Const(0),)
    loops = [Var(f"r{n}", extent) for n, extent in enumerate(extents)]
    value: Expr = Const(1.0, F32)
    for walk in walks:
        index: Expr = Const(5_000)
        for loop, step in zip(loops, walk, strict=True):
            index = index + loop * step
        value = value * Load(x, (index,))
    body: Stmt = Store(acc, at, Binary(op, Load(acc, at), value))
    for loop in reversed(loops):
        body = For(loop, body, parallel=False)
    assert isinstance(body, For)
    return body


def test_which_sums_gcc_would_reorder() -> None:
    """Sums whose inner loops, unrolled, take terms of a group in another order than memory has them."""
    assert reorders_sums(nest((12, 1, 3), extents=(3, 3, 4)))
    assert reorders_sums(nest((4, -1), extents=(3, 4)))
    assert reorders_sums(nest((12, 4, 1), (12, 1, 3), extents=(3, 3, 4)))
    assert reorders_sums(nest((12, 1, 3), extents=(3, 3, 4), op="*"))
    assert not reorders_sums(nest((12, 4, 1), extents=(3, 3, 4)))
    assert not reorders_sums(nest((12, 1, 3), extents=(3, 3, 4), op="max"))
    assert not reorders_sums(nest((1, 2144, 8), (25, 5, 1), extents=(8, 5, 5)))  # a convolution: no two in one step
    assert not reorders_sums(nest((-1,), extents=(9,)))
    vectors = Store(Buffer("y", (8,), F32), (Ramp(Const(0), 8),), Splat(Const(0.0, F32), 8))
    assert not reorders_sums(For(Var("r", 4), vectors, parallel=False))


def test_terms_beside_each_other_are_one_sum() -> None:
    one = nest((2,), extents=(9,))
    assert reorders_sums(For(one.var, Seq((one.body, one.body)), parallel=False))
