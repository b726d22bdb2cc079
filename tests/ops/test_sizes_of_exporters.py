"""Sizes and positions as exporters of networks write them: relative shifts of attention, arithmetic in floating point,
ranges by NonZero. Results are onnxruntime's at every size."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import assert_close, from_text, onnxruntime_results
from webnn_compile.errors import UnsupportedError
from webnn_compile.frontends.onnx import import_model

TARGETS = ("native", "c", "wasm", "opencl", "cuda", "webgpu", "webgl")

MODELS = {
    "a relative shift": """
        (float[b, 2, n, m] x) => (float[b, 2, n, k] y)
        <int64[1] two = {2}, int64[1] one = {1}, int64[1] far = {9223372036854775807}> {
          lead = Shape <end = 2> (x)
          n = Shape <start = 2, end = 3> (x)
          m = Shape <start = 3> (x)
          turned = Concat <axis = 0> (lead, m, n)
          r = Reshape(x, turned)
          cut = Slice(r, one, far, two)
          fewer = Sub(m, one)
          back = Concat <axis = 0> (lead, n, fewer)
          y = Reshape(cut, back)
        }""",
    "a relative shift of twice as many positions": """
        (float[b, n, n] x) => (float[b, n, k] y, float[b, n, n] z)
        <int64[1] zero = {0}, int64[1] two = {2}, int64[1] one = {1}, int64[1] far = {9223372036854775807}> {
          b = Shape <end = 1> (x)
          n = Shape <start = 1, end = 2> (x)
          negative = Neg(x)
          both = Concat <axis = 2> (x, negative)
          m = Shape <start = 2> (both)
          turned = Concat <axis = 0> (b, m, n)
          r = Reshape(both, turned)
          cut = Slice(r, one, far, one)
          fewer = Sub(m, one)
          back = Concat <axis = 0> (b, n, fewer)
          y = Reshape(cut, back)
          z = Slice(y, zero, n, two)
        }""",
    "dimensions in another order": """
        (float[n, m, 3] x) => (float[k, l, 3] y, float[3, p, q] z, float[3, r, s] w)
        <int64[1] one = {1}, int64[1] three = {3}> {
          n = Shape <end = 1> (x)
          m = Shape <start = 1, end = 2> (x)
          cut = Slice(x, one, m, one)
          k = Sub(m, one)
          turned = Concat <axis = 0> (k, n, three)
          y = Reshape(cut, turned)
          first = Concat <axis = 0> (three, n, k)
          z = Reshape(cut, first)
          last = Concat <axis = 0> (three, k, n)
          w = Reshape(cut, last)
        }""",
    "windows of a size divided in floats": """
        (float[n, 4] x) => (float[k, 4] y, float[l, 4] z, float[p, 4] w, float[q, 4] v, float[r, 4] u)
        <float three = {3}, float seven = {7}, float half = {0.5}, float one = {1}, int64[1] zero = {0}> {
          s = Shape <end = 1> (x)
          f = Cast <to = 1> (s)
          third = Div(f, three)
          up = Ceil(third)
          least = Cast <to = 7> (up)
          y = Slice(x, zero, least)
          down = Div(f, seven)
          most = Floor(down)
          whole = Cast <to = 7> (most)
          z = Slice(x, zero, whole)
          middle = Mul(f, half)
          even = Round(middle)
          rounded = Cast <to = 7> (even)
          w = Slice(x, zero, rounded)
          less = Sub(middle, one)
          cut = Cast <to = 7> (less)
          bottom = Max(cut, zero)
          v = Slice(x, zero, bottom)
          sum = Add(up, most)
          small = Min(sum, f)
          few = Cast <to = 7> (small)
          u = Slice(x, zero, few)
        }""",
    "a range of floats": """
        (float[n, 4] x) => (float[n] y, float[k] z, float[l] w)
        <float half = {0.5}, float one = {1}, float zero = {0}, float two = {2}, float quarter = {-0.25},
         int64 none = {0}> {
          s = Shape <end = 1> (x)
          n = Gather(s, none)
          f = Cast <to = 1> (n)
          y = Range(half, f, one)
          third = Div(f, two)
          z = Range(zero, third, one)
          w = Range(f, half, quarter)
        }""",
    "a range by NonZero": """
        (float[n, 4] x) => (float[n, 4] y, int64[2, k] at)
        <int64[2] turned = {1, 0}> {
          s = Shape <end = 1> (x)
          ones = ConstantOfShape <value = int64[1] {1}> (s)
          found = NonZero(ones)
          t = Transpose <perm = [1, 0]> (found)
          f = Cast <to = 1> (t)
          y = Add(x, f)
          both = Shape(x)
          true = ConstantOfShape <value = bool[1] {1}> (both)
          at = NonZero(true)
        }""",
}
DIMS = {"b": (1, 3), "n": (1, 11), "m": (2, 9)}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", MODELS)
def test_agrees_with_onnxruntime(name: str, target: str) -> None:
    need_driver(target)
    made = from_text(MODELS[name])
    shape = [d.dim_param or d.dim_value for d in made.graph.input[0].type.tensor_type.shape.dim]
    dims = {size: DIMS[size] for size in shape if isinstance(size, str)}
    compiled = webnn_compile.compile(made, target, dims=dims)
    every = [dict(zip(dims, at, strict=True)) for at in itertools.product(*(range(a, z + 1) for a, z in dims.values()))]
    largest = np.full([dims[n][1] if isinstance(n, str) else n for n in shape], np.nan, np.float32)
    compiled.run({"x": largest})
    for sizes in every if target == "native" else every[:: max(len(every) // 4, 1)]:
        x = np.random.default_rng(0).standard_normal([sizes.get(n, n) for n in shape]).astype(np.float32)
        assert_close(compiled.run({"x": x}), onnxruntime_results(made, {"x": x}))


FOLDED = {
    "NonZero": """<int64[4] c = {3, 0, 1, -2}, int64[1] a = {1}> {
        i = NonZero(c)
        f = Cast <to = 1> (i)
        s = Slice(x, a, z)
        y = Add(f, s)
    }""",
    "Compress": """<float[3] c = {3, 0.5, 1}, bool[3] where = {1, 0, 1}, int64[1] a = {2}> {
        f = Compress(c, where)
        s = Slice(x, a, z)
        y = Add(f, s)
    }""",
    "Unique": """<float[5] c = {3, 2, 3, 1, 2}, int64[1] a = {1}> {
        f = Unique(c)
        s = Slice(x, a, z)
        y = Add(f, s)
    }""",
    "NonZero of ConstantOfShape": """<int64[1] a = {0}> {
        o = ConstantOfShape <value = int64[1] {1}> (z)
        i = NonZero(o)
        f = Cast <to = 1> (i)
        s = Slice(x, a, z)
        y = Add(f, s)
    }""",
}
"""y is a sum with as many elements as a node of constants finds."""


@pytest.mark.parametrize("name", FOLDED)
def test_what_constants_decide_is_folded(name: str) -> None:
    made = from_text(f"(float[4] x) => (float[k] y) {FOLDED[name].replace('<', '<int64[1] z = {4}, ', 1)}")
    graph = import_model(made)
    assert not {n.op for n in graph.nodes} & set(name.split())
    x = np.arange(4, dtype=np.float32)
    assert_close(webnn_compile.compile(made).run({"x": x}), onnxruntime_results(made, {"x": x}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            """<float third = {0.333333}, int64[1] zero = {0}> {
              s = Shape(x)
              f = Cast <to = 1> (s)
              t = Mul(f, third)
              e = Cast <to = 7> (t)
              o = ConstantOfShape(e)
              y = Neg(o)
            }""",
            r"its input 'input' is computed from sizes that vary, .*; fix these sizes by --dim NAME=NUMBER",
        ),
        (
            "<int64[2] s = {2, -1}> { y = Reshape(x, s) }",
            r"\[n\] cannot become \[2, -1\] in every run; .* --dim n=2\.\.8,multiple=2",
        ),
    ],
)
def test_messages(text: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        webnn_compile.compile(from_text(f"(float[n] x) => (y) {text}"), dims={"n": (1, 9)})
