"""Operators behind a Reshape that joins dimensions whose sizes vary, as the groups of a GroupNormalization that
exporters write: onnxruntime's results at every size."""

from __future__ import annotations

import numpy as np
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import assert_close, from_text, onnxruntime_results

MODELS = {
    "GroupNormalization": """
        (float[n, 12, h, w] x) => (float[n, 12, h, w] y)
        <int64[3] s = {0, 4, -1}, float[4] one = {1, 1, 1, 1}, float[4] zero = {0, 0, 0, 0},
         float[12, 1, 1] factor = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
         float[12, 1, 1] bias = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}> {
          r = Reshape(x, s)
          i = InstanceNormalization(r, one, zero)
          o = Shape(x)
          q = Reshape(i, o)
          m = Mul(q, factor)
          y = Add(m, bias)
        }""",
    "GroupNormalization between convolutions": """
        (float[n, 12, h, w] x) => (float[n, 12, h, w] y)
        <int64[3] s = {0, 4, -1}, float[4] one = {1, 2, 3, 4}, float[4] zero = {0, 1, 0, 1},
         int64[4] k = {12, 12, 1, 1}> {
          values = Constant <value_floats = [0.5]> ()
          w1 = Expand(values, k)
          c = Conv(x, w1)
          r = Reshape(c, s)
          i = InstanceNormalization(r, one, zero)
          o = Shape(c)
          q = Reshape(i, o)
          a = Add(q, x)
          y = Conv(a, w1)
        }""",
    "Softmax": """
        (float[n, 12, h, w] x) => (float[n, 4, m] y) <int64[3] s = {0, 4, -1}> {
          r = Reshape(x, s)
          y = Softmax(r)
        }""",
    "sums, means and extremes": """
        (float[n, 12, h, w] x) => (float[n, 4] sum, float[n, 4] mean, float[n, 4] most, int64[n, 4] place)
        <int64[3] s = {0, 4, -1}, int64[1] a = {2}> {
          r = Reshape(x, s)
          sum = ReduceSum <keepdims = 0> (r, a)
          mean = ReduceMean <keepdims = 0> (r, a)
          most = ReduceMax <keepdims = 0> (r, a)
          place = ArgMax <axis = 2, keepdims = 0> (r)
        }""",
    "LayerNormalization of tokens": """
        (float[n, 12, h, w] x) => (float[n, m, 12] y, float[n, 12, m] z)
        <int64[3] s = {0, 12, -1}, float[12] factor = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}> {
          r = Reshape(x, s)
          t = Transpose <perm = [0, 2, 1]> (r)
          y = LayerNormalization(t, factor)
          z = Exp(r)
        }""",
    "a batch of joined rows": """
        (float[n, 12, h, w] x) => (float[m, w] y, float[h, w, k] z) <int64[2] s = {-1, 0}, int64[1] last = {-1}> {
          w = Shape <start = 3> (x)
          h = Shape <start = 2, end = 3> (x)
          rows = Concat <axis = 0> (last, w)
          r = Reshape(x, rows)
          y = Softmax(r)
          t = Transpose <perm = [2, 3, 0, 1]> (x)
          both = Concat <axis = 0> (h, w, last)
          u = Reshape(t, both)
          z = Softmax(u)
        }""",
}

SIZES = [(1, 1, 1), (1, 1, 7), (1, 9, 1), (2, 3, 5), (1, 8, 16), (2, 17, 19)]


@pytest.mark.parametrize("target", ["native", "c", "wasm", "opencl", "webgpu", "webgl"])
@pytest.mark.parametrize("name", MODELS)
def test_agrees_with_onnxruntime(name: str, target: str) -> None:
    need_driver(target)
    made = from_text(MODELS[name])
    compiled = webnn_compile.compile(made, target, dims={"n": (1, 2), "h": (1, 17), "w": (1, 19)})
    for n, h, w in SIZES:
        x = np.random.default_rng(h).standard_normal((n, 12, h, w)).astype(np.float32)
        assert_close(compiled.run({"x": x}), onnxruntime_results(made, {"x": x}))


@pytest.mark.parametrize("name", ["GroupNormalization", "Softmax", "sums, means and extremes"])
def test_nan_and_infinities_of_one_group(name: str) -> None:
    made = from_text(MODELS[name])
    compiled = webnn_compile.compile(made, dims={"n": (1, 2), "h": (1, 17), "w": (1, 19)})
    x = np.random.default_rng(0).standard_normal((2, 12, 5, 7)).astype(np.float32)
    x[0, 4, 2, 3], x[1, 11, 4, 6] = np.nan, np.inf
    want = onnxruntime_results(made, {"x": x})
    with np.errstate(invalid="ignore"):
        got = compiled.run({"x": x})
    for output in set(want) - {"most", "place"}:  # onnxruntime passes over NaN there
        finite = np.isfinite(want[output])
        np.testing.assert_array_equal(np.isfinite(got[output]), finite)
        np.testing.assert_allclose(got[output][finite], want[output][finite], rtol=1e-4, atol=1e-5)
