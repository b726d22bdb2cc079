"""Operators along an axis whose size each run decides: every length that onnxruntime takes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
import webnn_compile
from drivers import need_driver
from growing_models import GROWING
from onnx_models import assert_close, from_text, onnxruntime_results, random

MODELS: Mapping[str, tuple[str, tuple[int, int]]] = {
    "padding that repeats": (
        """
        (float[3, n] x) => (float[3, a] reflected, float[3, b] edge, float[3, c] wrapped, float[3, 8] middle)
        <int64[4] one = {0, 1, 0, 2}, int64[4] more = {0, 5, 0, 7}, int64[4] crops = {0, -1, 0, 3},
         int64[1] zero = {0}, int64[1] eight = {8}, int64[1] two = {2}> {
          reflected = Pad <mode = "reflect"> (x, one)
          edge = Pad <mode = "edge"> (x, more)
          wrapped = Pad <mode = "wrap"> (x, crops)
          length = Shape <start = 1> (x)
          missing = Sub(eight, length)
          before = Div(missing, two)
          after = Sub(missing, before)
          around = Concat <axis = 0> (zero, before, zero, after)
          middle = Pad <mode = "wrap"> (x, around)
        }""",
        (3, 8),
    ),
    "slices apart": (
        """
        (float[3, n] x) => (float[3, a] back, float[3, b] to_one, float[3, c] from_seven, float[3, d] ahead)
        <int64[1] axis = {1}, int64[1] one = {1}, int64[1] minus_one = {-1}, int64[1] minus_two = {-2},
         int64[1] minus_three = {-3}, int64[1] three = {3}, int64[1] seven = {7}, int64[1] minus_seven = {-7},
         int64[1] least = {-9223372036854775807}> {
          back = Slice(x, minus_two, least, axis, minus_two)
          to_one = Slice(x, minus_one, one, axis, minus_three)
          from_seven = Slice(x, seven, minus_seven, axis, minus_two)
          ahead = Slice(x, minus_seven, minus_one, axis, three)
        }""",
        (1, 9),
    ),
    "parts of which the last is shorter": (
        """
        (float[3, n] x) => (float[3, a] first, float[3, b] second, float[3, c] p, float[3, d] q, float[3, e] r)
        {
          first, second = Split <axis = 1, num_outputs = 2> (x)
          p, q, r = Split <axis = 1, num_outputs = 3> (x)
        }""",
        (2, 9),
    ),
    "chosen by known indices": (
        """
        (float[n, 4] x) => (float[2] few, float[1, 2, 4] rows)
        <int64[2, 2] places = {0, -1, -1, 3}, int64[1, 2, 1] ends = {-1, 0}> {
          few = GatherND(x, places)
          rows = GatherND(x, ends)
        }""",
        (1, 5),
    ),
    "the places of places": (
        """
        (float[3, n] x) => (int64[2, k] y, int64[l] flat) <float zero = {0}, int64[1] all = {-1}> {
          above = Greater(x, zero)
          there = NonZero(above)
          y = NonZero(there)
          flat = Reshape(there, all)
        }""",
        (0, 5),
    ),
    "windows of which as many as steps": (
        """
        (float[1, 2, n, 7] x) => (float[1, 2, a, 4] best, int64[1, 2, a, 4] at, float[1, 2, b, 7] mean,
                                  float[1, 2, c, 3] norm)
        {
          best, at = MaxPool <kernel_shape = [3, 3], strides = [2, 2], auto_pad = "SAME_UPPER"> (x)
          mean = AveragePool <kernel_shape = [4, 2], strides = [3, 1], auto_pad = "SAME_LOWER"> (x)
          norm = LpPool <kernel_shape = [2, 3], strides = [2, 3], auto_pad = "SAME_UPPER"> (x)
        }""",
        (2, 8),
    ),
    "elements put at places that a run counts": (
        """
        (float[1, 1, n] x) => (float[1, 1, n] row, float[1, 5, n] grid, float[1, 1, n] along)
        <int64 zero = {0}, int64 one = {1}, int64 five = {5}, int64[1] last = {-1}, int64[3] column = {1, -1, 1},
         float[1, 5, 1] fives = {0, 10, 20, 30, 40}> {
          shape = Shape(x)
          nothing = ConstantOfShape <value = int64[1] {0}> (shape)
          two = Shape <start = 2> (x)
          length = Squeeze(two)
          counted = Range(zero, length, one)
          places = Add(counted, nothing)
          columns = Unsqueeze(places, last)
          rows = Unsqueeze(nothing, last)
          at = Concat <axis = -1> (rows, rows, columns)
          less = Neg(x)
          row = ScatterND(x, at, less)
          wide = Add(x, fives)
          four = Range(zero, five, one)
          down = Reshape(four, column)
          others = Mul(places, zero)
          deep = Add(down, others)
          deepest = Unsqueeze(deep, last)
          across = Mul(deepest, zero)
          over = Add(columns, across)
          ends = Concat <axis = -1> (across, deepest, over)
          lower = Neg(wide)
          grid = ScatterND(wide, ends, lower)
          along = ScatterElements <axis = 2> (x, places, less)
        }""",
        (1, 5),
    ),
    "convolutions of which as many as steps": (
        """
        (float[1, 1, n, 7] x) => (float[1, 2, a, 4] y, float[1, 1, b, 14] wide, float[1, 1, 12, 15] given)
        <float[2, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, -1, -2, -3, 1, 2, 3, 1, 2, 1},
         float[1, 1, 3, 3] v = {1, 2, 3, 4, 5, 6, 7, 8, 9}> {
          positive = Relu(x)
          y = Conv <strides = [2, 2], auto_pad = "SAME_UPPER"> (positive, w)
          wide = ConvTranspose <strides = [2, 2], auto_pad = "SAME_LOWER"> (positive, v)
          given = ConvTranspose <strides = [2, 2], output_shape = [12, 15]> (positive, v)
        }""",
        (6, 8),
    ),
}
"""With the least and the largest size."""


@pytest.mark.parametrize("name", MODELS)
def test_every_length(name: str) -> None:
    check(name, "native")


@pytest.mark.parametrize("target", ["wasm", "webgl"])
@pytest.mark.parametrize("name", MODELS)
def test_every_length_elsewhere(name: str, target: str) -> None:
    need_driver(target)
    check(name, target)


def check(name: str, target: str) -> None:
    text, span = MODELS[name]
    made = from_text(text)
    compiled = webnn_compile.compile(made, target, dims={"n": span})
    shape = made.graph.input[0].type.tensor_type.shape.dim
    for n in range(span[0], span[1] + 1):
        feeds = {"x": random([d.dim_value or n for d in shape])}
        assert_close(compiled.run(feeds), onnxruntime_results(made, feeds))


@pytest.mark.parametrize("target", ["native", "wasm", "webgpu", "webgl"])
def test_parts_that_begin_at_long_sums(target: str) -> None:
    """Some parts are empty, and so is the whole once."""
    need_driver(target)
    growing = GROWING["parts of sizes that vary"]
    compiled = webnn_compile.compile(growing.model(24), target, dims={f"N{k}": (0, 3) for k in range(24)})
    for lengths in ([k % 4 for k in range(24)], [3] * 24, [0] * 24, [0] * 23 + [2]):
        feeds = {f"x{k}": random((n, 4), k) for k, n in enumerate(lengths)}
        feeds["v0"] = random((8, 4), 24)
        want = np.concatenate([feeds["v0"], *(feeds[f"x{k}"] for k in range(24))])
        np.testing.assert_array_equal(compiled.run(feeds)["v24"], want)
