"""Models with int64 values: what is proven to fit int32, from operator to operator, and what is not."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_models import from_text
from webnn_compile.frontends.onnx import import_model
from webnn_compile.gpu.narrow_model import NarrowModel, narrow_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.pipeline.lower_model import lower_model

PROVEN = {
    "gather": "(float[9, 4] x, int64[5] i) => (float[5, 4] y) { y = Gather(x, i) }",
    "elements": "(float[9, 4] x, int64[2, 4] i) => (float[2, 4] y) { y = GatherElements(x, i) }",
    "scatter": "(float[9] x, int64[3, 1] i, float[3] u) => (float[9] y) { y = ScatterND(x, i, u) }",
    "argmax": "(float[9, 4] x) => (int64[1, 4] y) { y = ArgMax(x) }",
    "argmax of a transposed sum": """(float[9, 4] x) => (int64[4] z) {
        a = Transpose(x) y = ArgMax<axis=1, keepdims=0>(a) z = Add(y, y) }""",
    "where": "(bool[4] c, int64[4] i, int64[4] j) => (int64[4] y) { y = Where(c, i, j) }",
    "equal": "(int64[4] i, int64[4] j) => (bool[4] y) { y = Equal(i, j) }",
    "extremes": "(int64[4] i, int64[4] j) => (int64[4] y) { a = Max(i, j) y = Min(a, i) }",
    "low bits": "(int64[4] i, int64[4] j) => (int32[4] y) { a = Mul(i, j) b = Sub(a, i) y = Cast<to=6>(b) }",
    "clipped": """(float[4] x) => (int64[4] y) <float low = {-9}, float high = {99}> {
        a = Clip(x, low, high) b = Cast<to=7>(a) y = Mul(b, b) }""",
    "largest": "(int64[4, 9] x) => (int64[4, 1] y) <int64[1] axis = {1}> { y = ReduceMax(x, axis) }",
    "smallest": "(int64[4, 9] x) => (int64[4, 1] y) <int64[1] axis = {1}> { y = ReduceMin(x, axis) }",
    "sum of small ones": """(bool[4, 9] x) => (int64[4, 1] y) <int64[1] axis = {1}> {
        a = Cast<to=7>(x) y = ReduceSum(a, axis) }""",
    "running sum": "(bool[4, 9] x) => (int64[4, 9] y) <int64 axis = {1}> { a = Cast<to=7>(x) y = CumSum(a, axis) }",
    "remainder": "(int64[4] x) => (int64[4] y) <int64 n = {10}> { y = Mod(x, n) }",
    "one hot": """(int64[4] i) => (float[4, 7] y) <int64 depth = {7}, float[2] values = {0, 1}> {
        y = OneHot(i, depth, values) }""",
    "one of the table, twice": """(int64[4] i) => (int64[4] y) <int64[3] table = {-5, 70000, 8}> {
        a = Gather(table, i) b = Mul(a, a) c = Sub(b, a) y = Cast<to=7>(a) }""",
}

UNPROVEN = {
    "sum": "(int64[4] i, int64[4] j) => (int64[4] y) { y = Add(i, j) }",
    "square of a table": """(int64[4] i) => (int64[4] y) <int64[3] table = {-5, 70000, 8}> {
        a = Gather(table, i) y = Mul(a, a) }""",
    "running sum": "(int64[4, 9] x) => (int64[4, 9] y) <int64 axis = {1}> { y = CumSum(x, axis) }",
    "float": "(float[4] x) => (int64[4] y) { y = Cast<to=7>(x) }",
    "compared": "(int64[4] i, int64[4] j) => (bool[4] y) { a = Add(i, j) y = Less(a, j) }",
}


def narrowed(text: str) -> NarrowModel:
    proto = from_text(text)
    return narrow_model(lower_model(run_graph_passes(import_model(proto.SerializeToString()))))


@pytest.mark.parametrize("text", PROVEN.values(), ids=PROVEN.keys())
def test_proven(text: str) -> None:
    found = narrowed(text)
    assert not found.cannot
    for kernel in found.kernels.values():
        assert {b.dtype.numpy for b in kernel.params} <= {np.dtype(t) for t in ("float32", "int32", "uint32")}


@pytest.mark.parametrize("text", UNPROVEN.values(), ids=UNPROVEN.keys())
def test_not_proven(text: str) -> None:
    found = narrowed(text)
    assert found.cannot
    assert all("int64" in reason for reason in found.cannot.values())


def test_what_is_computed_elsewhere_is_known_all_the_same() -> None:
    """The sum cannot be held; its remainder by 100, computed from it in another kernel, can be read by a device."""
    found = narrowed("""(int64[4] i, float[200, 3] t) => (int64[4] s, int64[4] r, float[4, 3] y) <int64 n = {100}> {
        s = Add(i, i) r = Mod(s, n) y = Gather(t, r) }""")
    assert len(found.cannot) == 2
    assert len(found.kernels) == 1
