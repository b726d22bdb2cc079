"""Shapes of exported networks whose index arithmetic has sizes in it, at several sizes."""

from __future__ import annotations

import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import assert_close, onnxruntime_results, random

MODELS = {
    "groups of channels": """
        g (float[batch, 4, height, width] x) => (float[batch, 4, height, width] y)
        <int64[3] grouped = {0, 2, -1}, float[2] scale = {1, 2}, float[2] bias = {0, 1}> {
          shape = Shape(x)
          each = Reshape(x, grouped)
          normal = InstanceNormalization(each, scale, bias)
          y = Reshape(normal, shape)
        }""",
    "a transposed convolution": """
        t (float[batch, 2, height, width] x) => (float[batch, 1, h, w] y)
        <float[2, 1, 2, 2] kernel = {1, 2, 3, 4, 5, 6, 7, 8}> { y = ConvTranspose<strides = [2, 2]>(x, kernel) }""",
    "windows": """
        w (float[batch, height, 3] x) => (float[batch, windows, 3] y)
        <int64[1] one = {1}, int64[1] four = {4}, int64[1] zero = {0}, int64[3] ahead = {0, 0, 0},
         int64[2] none = {0, 0}, int64[4] parts = {0, -1, 4, 3}, int64[1] axis = {2}> {
          length = Shape<start = 1, end = 2>(x)
          over = Mod(length, four)
          left = Sub(four, over)
          missing = Mod(left, four)
          padding = Concat<axis = 0>(ahead, zero, missing, zero)
          padded = Pad(x, padding)
          cut = Reshape(padded, parts)
          y = ReduceMean<keepdims = 0>(cut, axis)
        }""",
    "heads of a flattened batch": """
        h (float[height, batch, 6] x) => (float[height, batch, 6] y)
        <int64[2] rows = {-1, 6}, float[6, 6] w = {1, 0, 2, 0, 3, 0, 1, 1, 0, 0, 1, 0, 0, 1, 1, 2, 0, 0,
                                                  1, 0, 0, 1, 2, 0, 0, 0, 1, 1, 0, 3, 1, 1, 0, 0, 2, 0}> {
          shape = Shape(x)
          flat = Reshape(x, rows)
          product = MatMul(flat, w)
          y = Reshape(product, shape)
        }""",
    "a slice from a size on": """
        s (float[height, 3] x, float[width, 3] past) => (float[height, 3] y)
        <float[8, 3] table = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}> {
          before = Shape<end = 1>(past)
          now = Shape<end = 1>(x)
          after = Add(before, now)
          positions = Slice(table, before, after)
          y = Add(x, positions)
        }""",
    "pooling that rounds up": """
        p (float[batch, 3, width] x) => (float[batch, 3, w] y, float[batch, 3, v] z, float[batch, 3, u] a) {
          y = MaxPool<kernel_shape = [3], strides = [2], pads = [1, 1], ceil_mode = 1>(x)
          z = MaxPool<kernel_shape = [1], strides = [3], ceil_mode = 1>(x)
          a = AveragePool<kernel_shape = [2], strides = [3], pads = [1, 1], ceil_mode = 1>(x)
        }""",
    "rows chosen from the end": """
        g (float[3, height, 3, 2] x, float[batch, 4] scores) => (float[2, 2, 3, 2] y, float[2] z)
        <int64[2, 2, 2] at = {2, 0, -1, -1, 0, 0, -2, -1}, int64[2, 2] best = {-1, -1, 0, 3}> {
          y = GatherND(x, at)
          z = GatherND(scores, best)
        }""",
    "elements of several dimensions": """
        e (float[2, height, width] x) => (float[k] y, int64[k] first, int64[n] place, int64[k] counts, float[l] z)
        <int64[1] flat = {-1}, float few = {0.3}> {
          rounded = Round(x)
          y, first, place, counts = Unique(rounded)
          vector = Reshape(x, flat)
          large = Greater(vector, few)
          z = Compress(x, large)
        }""",
    "running sums of products of one term": """
        c (float[batch, height, 1, 1] x, float[width, 1] v) => (float[batch, height, 1, 1] y, float[width, 1] z)
        <int64 last = {3}, int64 one = {1}> {
          factor = ReduceProd(x)
          scaled = MatMul(factor, x)
          y = CumSum<reverse = 1>(scaled, last)
          factors = Softmax<axis = 1>(v)
          z = CumSum(factors, one)
        }""",
}
DIMS = {"batch": (1, 3), "height": (1, 5), "width": (1, 3)}


@pytest.mark.parametrize("target", ["native", "wasm", "webgl"])
@pytest.mark.parametrize("name", MODELS)
def test_agrees_with_onnxruntime(name: str, target: str) -> None:
    need_driver(target)
    made = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {MODELS[name]}')
    shapes = {i.name: [d.dim_param or d.dim_value for d in i.type.tensor_type.shape.dim] for i in made.graph.input}
    dims = {n: DIMS[n] for shape in shapes.values() for n in shape if n in DIMS}
    compiled = webnn_compile.compile(made, target, dims=dims)
    for sizes in ({n: least for n, (least, _) in DIMS.items()}, {n: most for n, (_, most) in DIMS.items()}):
        feeds = {i: random([sizes.get(n, n) for n in shape], len(i)) for i, shape in shapes.items()}
        assert_close(compiled.run(feeds), onnxruntime_results(made, feeds))
