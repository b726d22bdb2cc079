"""Places and weights along an axis are tables that are computed once."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from kernel_checks import TARGETS, stages_of
from onnx_models import model, node
from webnn_compile.dtypes import F32, I32
from webnn_compile.frontends.model_inputs import Dim, ModelInputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.construct import unary
from webnn_compile.ir.nodes import Kernel, Origin, Unary
from webnn_compile.ir.rewrite import walk
from webnn_compile.pipeline.lower_model import Lowered, lower_model
from webnn_compile.target import CPU_LAYOUTS, LayoutPolicy
from webnn_compile.tensor import compute, placeholder
from webnn_compile.tensor.evaluate import evaluate
from webnn_compile.tensor.program import TensorProgram
from webnn_compile.tensor.store_tables import store_tables


def resized(mode: str, policy: LayoutPolicy = CPU_LAYOUTS) -> Lowered:
    nodes = [
        node("Shape", ["x"], ["of_x"], start=0, end=2),
        node("Shape", ["like"], ["of_like"], start=2, end=4),
        node("Concat", ["of_x", "of_like"], ["sizes"], axis=0),
        node("Resize", ["x", "", "", "sizes"], ["y"], mode=mode),
    ]
    proto: onnx.ModelProto = model(nodes, {"x": [1, 3, "h", "w"], "like": [1, 1, "p", "q"]}, ["y"], opset=18)
    dims = {"h": Dim(4, 20), "w": Dim(4, 20), "p": Dim(4, 40), "q": Dim(4, 40)}
    return lower_model(run_graph_passes(import_model(proto, ModelInputs(dims=dims))), policy=policy)


def rounds(kernel: Kernel) -> bool:
    return any(isinstance(n, Unary) and n.op in ("floor", "ceil") for n in walk(kernel.body))


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_no_kernel_of_the_image_rounds(target: object, mode: str) -> None:
    """Kernels that round have results of one axis."""
    low = resized(mode)
    stages = [(group, dict(s)["schedule_cpu"]) for group, s in stages_of(low, target)]  # type: ignore[arg-type]
    assert any(rounds(kernel) for _, kernel in stages)
    assert all(group.output.rank == 1 for group, kernel in stages if rounds(kernel))
    assert all(t.buffer.values is not None for t in low.layouts if t.rank == 1 and t.dtype == I32)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_launches_are_saved_where_they_take_longer(mode: str) -> None:
    low = resized(mode, LayoutPolicy(few_launches=True))
    assert all(rounds(k) for g, k in zip(low.groups, low.kernels, strict=True) if g.output.rank == 4)


def rounded(rows: int, columns: int) -> TensorProgram:
    """The sums of each element of a matrix and what a number of its column is rounded to."""
    c, x = placeholder("c", (columns,), F32), placeholder("x", (rows, columns), F32)
    y = compute("y", (rows, columns), (c, x), lambda i, j: x[i, j] + unary("floor", c[j]))
    return TensorProgram((("c", c), ("x", x)), (("y", y),), (y,), {y: Origin(("y",), ("Y",))})


@pytest.mark.parametrize(("rows", "tables"), [(3, 0), (4, 1), (100, 1)])
def test_few_elements_share_no_table(rows: int, tables: int) -> None:
    before = rounded(rows, 5)
    after = store_tables(before)
    assert len(after.tensors) == 1 + tables
    assert (after is before) == (tables == 0)
    given = [np.float32([0.5, -1.5, np.nan, np.inf, 7]), np.ones((rows, 5), np.float32)]
    found = [
        evaluate(p.outputs[0][1], {t: a for (_, t), a in zip(p.inputs, given, strict=True)}) for p in (before, after)
    ]
    np.testing.assert_array_equal(*found)
