"""Sizes that each run decides, and the shape arithmetic that exported models make of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import Array, assert_close, onnxruntime_results, random
from webnn_compile.errors import InputError, UnsupportedError, WebnnCompileError

DIMS = {"batch": (1, 3), "n": (2, 9), "m": (1, 4), "even": (2, 8, 2), "count": (0, 6)}
"""Sizes that the models below may leave open: `count` is the element of an input."""

MODELS = {
    "heads of a computed shape": """
        (float[batch, n, 8] x) => (float[batch, n, 8] y)
        <int64 zero = {0}, int64 one = {1}, int64[1] heads = {2}, int64[1] width = {4}, int64[1] first = {0}> {
          s = Shape(x)
          b = Gather(s, zero)
          l = Gather(s, one)
          b1 = Unsqueeze(b, first)
          l1 = Unsqueeze(l, first)
          apart = Concat <axis = 0> (b1, l1, heads, width)
          h = Reshape(x, apart)
          q = Transpose <perm = [0, 2, 1, 3]> (h)
          k = Transpose <perm = [0, 2, 3, 1]> (h)
          scores = MatMul(q, k)
          p = Softmax(scores)
          mixed = MatMul(p, q)
          back = Transpose <perm = [0, 2, 1, 3]> (mixed)
          all = Mul(heads, width)
          together = Concat <axis = 0> (b1, l1, all)
          y = Reshape(back, together)
        }""",
    "bounds that are infinite": """
        (float[n] x) => (float[n] y)
        <float one = {1}, float none = {0}, int64[1] zero = {0}, float[1] ends = {1}> {
          infinite = Div(one, none)
          far = Div(ends, none)
          s = Shape(x)
          l = Cast <to = 1> (s)
          bounded = Clip(l, one, infinite)
          near = Min(bounded, far)
          e = Cast <to = 7> (near)
          y = Slice(x, zero, e)
        }""",
    "a causal mask": """
        (float[n, n] x) => (float[n, n] y)
        <int64 zero = {0}, int64 one = {1}, float low = {-1000}, int64[1] first = {0}, int64[1] second = {1}> {
          s = Shape(x)
          l = Gather(s, zero)
          at = Range(zero, l, one)
          row = Unsqueeze(at, second)
          column = Unsqueeze(at, first)
          later = Less(row, column)
          masked = Where(later, low, x)
          y = Softmax(masked)
        }""",
    "a mask that is expanded": """
        (float[batch, n] x) => (float[batch, 1, n, n] y)
        <int64[2] axes = {1, 2}, int64[1] one = {1}, int64[4] wanted = {-1, 1, -1, -1}, int64 minus = {-1}> {
          s = Shape(x)
          b = Shape <start = 0, end = 1> (x)
          l = Shape <start = 1, end = 2> (x)
          given = Concat <axis = 0> (b, one, l, l)
          rank = Shape(given)
          minuses = ConstantOfShape <value = int64[1] {-1}> (rank)
          none = Equal(given, minuses)
          ones = ConstantOfShape <value = int64[1] {1}> (rank)
          to = Where(none, ones, given)
          wide = Unsqueeze(x, axes)
          y = Expand(wide, to)
        }""",
    "tiles and zeros": """
        (float[n, 3] x) => (float[k, 3] y, float[n] z) <int64[1] one = {1}> {
          l = Shape <end = 1> (x)
          repeats = Concat <axis = 0> (l, one)
          y = Tile(x, repeats)
          empty = ConstantOfShape(l)
          sum = ReduceSum <keepdims = 0> (x)
          z = Add(empty, sum)
        }""",
    "the last rows, backwards and apart": """
        (float[n, 3] x) => (float[3] last, float[k, 3] rest, float[n, 3] back, float[l, 3] half, float[p, 3] few)
        <int64[1] zero = {0}, int64[1] one = {1}, int64[1] minus = {-1}, int64[1] low = {-9223372036854775807},
         int64[1] two = {2}, int64[1] five = {5}, int64 back_one = {-1}> {
          l1 = Shape <end = 1> (x)
          last = Gather(x, back_one)
          from = Sub(l1, one)
          rest = Slice(x, zero, from, zero)
          back = Slice(x, minus, low, zero, minus)
          to = Div(l1, two)
          half = Slice(x, zero, to, zero)
          few = Slice(x, zero, five, zero)
        }""",
    "parts": """
        (float[n, 6] x) => (float[n, 2] a, float[n, 4] b, float[1, 6] c, float[k, 6] d)
        <int64[2] sizes = {2, 4}, int64[1] one = {1}> {
          a, b = Split <axis = 1> (x, sizes)
          l = Shape <end = 1> (x)
          rest = Sub(l, one)
          cut = Concat <axis = 0> (one, rest)
          c, d = Split(x, cut)
        }""",
    "resized and pooled": """
        (float[1, 2, n, even] x) => (float[1, 2, k, l] y, float[1, 2, p, q] z, float[1, 3, r, s] c)
        <float[4] scales = {1, 1, 2, 2}, float[3, 2, 3, 3] w = {0.1, 0.2, 0.3, -0.1, 0.4, -0.2, 0.1, 0.1, 0.2, 0.3, 0.1,
         0, 0.1, 0.2, 0.3, -0.1, 0.4, -0.2, 0.1, 0.1, 0.2, 0.3, 0.1, 0, 0.1, 0.2, 0.3, -0.1, 0.4, -0.2, 0.1, 0.1, 0.2,
         0.3, 0.1, 0, 0.3, 0.1, 0, 0.1, 0.2, 0.3, 0.1, 0, 0.1, 0.2, 0.3, -0.1, 0.4, -0.2, 0.1, 0.1, 0.2, 0.4}> {
          near = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">
                        (x, "", scales)
          y = Relu(near)
          pooled = MaxPool <kernel_shape = [2, 2], strides = [2, 2], pads = [0, 0, 1, 1]> (y)
          z = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (pooled)
          c = Conv <pads = [1, 1, 1, 1], strides = [2, 1]> (x, w)
        }""",
    "joined with what came before": """
        (float[m, 4] past, float[n, 4] x) => (float[k, 4] now, float[n, k] p, float[4] mean) <int64[1] zero = {0}> {
          now = Concat <axis = 0> (past, x)
          t = Transpose <perm = [1, 0]> (now)
          scores = MatMul(x, t)
          p = Softmax(scores)
          mean = ReduceMean <keepdims = 0> (now, zero)
        }""",
    "flattened": """
        (float[batch, n, 4] x) => (float[batch, n, 2] y, float[batch, k] z, float[n] top, float size)
        <int64[2] rows = {-1, 4}, int64[2] flat = {0, -1}, float[4, 2] w = {1, 2, 3, 4, -1, -2, -3, -4},
         int64[1] two = {2}, int64[2] axes = {0, 2}> {
          r = Reshape(x, rows)
          product = MatMul(r, w)
          lead = Shape <end = 2> (x)
          to = Concat <axis = 0> (lead, two)
          y = Reshape(product, to)
          z = Reshape(x, flat)
          top = ReduceMax <keepdims = 0> (x, axes)
          number = Size(x)
          size = Cast <to = 1> (number)
        }""",
    "pairs": """
        (float[even, 3] x) => (float[k, 2, 3] y, float[even, 3] z)
        <int64[3] pairs = {-1, 2, 3}, int64[2] rows = {-1, 3}, int64[1] zero = {0}> {
          y = Reshape(x, pairs)
          z = CumSum(x, zero)
        }""",
    "as many as an input says": """
        (float[9, 3] x, int64 count) => (float[k, 3] y, float[9, 3] z)
        <int64 zero = {0}, int64 one = {1}, int64[1] first = {0}, int64[1] nine = {9}> {
          at = Range(zero, count, one)
          y = Gather(x, at)
          c1 = Unsqueeze(count, first)
          missing = Sub(nine, c1)
          before = Concat <axis = 0> (first, first)
          after = Concat <axis = 0> (missing, first)
          pads = Concat <axis = 0> (before, after)
          z = Pad(y, pads)
        }""",
    "the largest few": """
        (float[n, 5] x) => (float[k, 5] top, int64[k, 5] at) <int64[1] four = {4}> {
          l = Shape <end = 1> (x)
          k1 = Min(l, four)
          top, at = TopK <axis = 0> (x, k1)
        }""",
}


def parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 18]> g {text}')


def open_sizes(made: onnx.ModelProto) -> dict[str, Any]:
    names = [i.name for i in made.graph.input]
    names += [d.dim_param for i in made.graph.input for d in i.type.tensor_type.shape.dim if d.dim_param]
    return {n: DIMS[n] for n in names if n in DIMS}


def feeds_of(made: onnx.ModelProto, sizes: Mapping[str, int]) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for i in made.graph.input:
        shape = [sizes.get(d.dim_param, d.dim_value) for d in i.type.tensor_type.shape.dim]
        found[i.name] = np.array(sizes[i.name]) if i.name in sizes else random(shape, len(found))
    return found


def runs(dims: Mapping[str, Any]) -> list[dict[str, int]]:
    """The largest sizes, some in between, the smallest."""
    generator = np.random.default_rng(len(dims))

    def between(least: int, most: int, multiple: int = 1) -> int:
        return int(generator.integers(least // multiple, most // multiple + 1)) * multiple

    middle = [{n: between(*span) for n, span in dims.items()} for _ in range(2)]
    return [{n: span[1] for n, span in dims.items()}, *middle, {n: span[0] for n, span in dims.items()}]


@pytest.mark.parametrize("target", ["native", "wasm", "webgl"])
@pytest.mark.parametrize("name", MODELS)
def test_any_sizes(name: str, target: str) -> None:
    """A run of the largest sizes that fills memory with NaN leaves no trace in those after it."""
    need_driver(target)
    made = parsed(MODELS[name])
    dims = open_sizes(made)
    compiled = webnn_compile.compile(made, target, dims=dims)
    largest, *others = runs(dims)
    poison = {n: np.full_like(a, np.nan) if a.dtype.kind == "f" else a for n, a in feeds_of(made, largest).items()}
    compiled.run(poison)
    for sizes in (largest, *others):
        feeds = feeds_of(made, sizes)
        assert_close(compiled.run(feeds), onnxruntime_results(made, feeds))


@pytest.mark.parametrize("name", MODELS)
def test_each_size_as_compiled_for_it(name: str) -> None:
    made = parsed(MODELS[name])
    dims = open_sizes(made)
    compiled = webnn_compile.compile(made, dims=dims)
    for sizes in runs(dims)[1:2]:
        feeds = feeds_of(made, sizes)
        alone = webnn_compile.compile(made, dims=sizes)
        assert_close(compiled.run(feeds), alone.run(feeds))
        constants = {n: sizes[n] for n in feeds if n in sizes}
        if constants:
            rest = {n: a for n, a in feeds.items() if n not in constants}
            fixed = webnn_compile.compile(made, dims=dims.keys() - constants and dims, constants=constants)
            assert_close(fixed.run(rest), alone.run(feeds))


def test_names_for_dimensions_without() -> None:
    made = parsed("(float[1, ?, 4] x, float[?, 4] z) => (y) <int64[1] a = {0}> { e = Unsqueeze(z, a) y = Add(x, e) }")
    compiled = webnn_compile.compile(made, shapes={"x": (1, "N", 4), "z": ("N", 4)}, dims={"N": (1, 7)})
    for n in (7, 1, 4):
        feeds = {"x": random((1, n, 4)), "z": random((n, 4), 1)}
        assert_close(compiled.run(feeds), onnxruntime_results(made, feeds))
    with pytest.raises(
        InputError, match=r"input 'z' of shape \[2, 4\] makes N 2, but input 'x' of shape \[1, 3, 4\] m"
    ):
        compiled.run({"x": random((1, 3, 4)), "z": random((2, 4))})


EXP, GATHER = "(float[n, 4] x) => (y) { y = Exp(x) }", "(float[n, 4] x, int64 k) => (y) { y = Gather(x, k) }"
TWO = "(float[n, 4] x, float[n] z) => (y) { e = Exp(x) y = Neg(z) }"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (EXP, {}, r"x: declared \[n, 4\]\nFix them: --dim n=1\n.*\nOr leave sizes to each run: --dim n=1\.\.8"),
        (EXP, {"dims": {"m": 3}}, "--dim m: g has no dimension of this name, and no input of one integer; its named d"),
        (EXP, {"dims": {"n": (5, 2)}}, r"the size 'n' is given as 5\.\.2: give a least and a most value, of at least"),
        (EXP, {"dims": {"n": (1, 2**31)}}, r"given as 1\.\.2147483648: give a least and a most value, .* less than 2"),
        (EXP, {"dims": {"n": (1, 3, 4)}}, r"given as 1\.\.3,multiple=4: no multiple of 4 is in that range"),
        (EXP, {"dims": {"n": "long"}}, r"dims=\{'n': 'long'\}: give a number, \(least, most\), \(least, most, mult"),
        (EXP, {"dims": {"n": (1, 2**30)}}, r"input 'x' of shape \[1073741824, 4\] has 4294967296 elements"),
        (EXP, {"dims": {"n": 2}, "shapes": {"x": (3, 4)}}, "sets n = 3, but --dim sets n = 2; give n one value"),
        (EXP, {"dims": {"n": 2}, "constants": {"n": 3}}, "--fix n: g has no such input; its inputs are: 'x'"),
        (GATHER, {"dims": {"n": 3}, "constants": {"k": 1.5}}, r"--fix k: 1\.5 is no int64, which this input is"),
        (GATHER, {"dims": {"n": 3}, "constants": {"k": [1, 2]}}, r"--fix k: the shape \[2\] is given, and the model d"),
        (GATHER, {"dims": {"n": 3}, "constants": {"k": "abc"}}, r"--fix k: str96\[\] is no array of numbers"),
        (GATHER, {"constants": {"x": np.zeros((3, 5))}}, r"--fix x: the shape \[3, 5\] is given, and .* \[n, 4\]"),
    ],
)  # fmt: skip
def test_what_cannot_be_compiled(text: str, options: Mapping[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        webnn_compile.compile(parsed(text), **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "(float[n, 4] x, int64[2] s) => (y) { y = Reshape(x, s) }",
            r"Reshape \(node 'Reshape_0'\): its input 'shape' is computed at run time, .*make 's' a constant.*: "
            r"--fix s=VALUE,VALUE\n",
        ),
        (
            "(float[n, 4] x, int64 s) => (y) <int64 a = {0}, int64 b = {1}> { y = Range(a, s, b) }",
            r"Range \(node 'Range_0'\): .*a size among them by --dim NAME=LEAST\.\.MOST, or in the model by Min or "
            r"Clip: --fix s=VALUE or --dim s=1\.\.MOST\n",
        ),
        (
            "(float[n] x, float[m] z) => (y) { y = Add(x, z) }",
            r"Add \(node 'Add_0'\): shapes \[n\] and \[m\] broadcast only where n and m are equal, .* fix these sizes",
        ),
        (
            "(float[n, 3] x) => (y) <int64[2] s = {-1, 4}> { y = Reshape(x, s) }",
            r"Reshape \(node 'Reshape_0'\): \[n, 3\] cannot become \[-1, 4\]",
        ),
    ],
)
def test_sizes_that_nothing_bounds(text: str, message: str) -> None:
    made = parsed(text)
    with pytest.raises(UnsupportedError, match=message):
        webnn_compile.compile(made, dims=open_sizes(made))


@pytest.mark.parametrize("target", ["native", "webgl"])
def test_wrong_inputs_are_refused_before_anything_is_computed(target: str) -> None:
    need_driver(target)
    compiled = webnn_compile.compile(parsed(TWO), target, dims={"n": (4, 16, 4)})
    good = {"x": random((8, 4)), "z": random((8,), 1)}
    before = compiled.run(good)
    wrong: list[tuple[dict[str, Array], str]] = [
        ({"x": random((20, 4))}, r"input 'x' of shape \[20, 4\] makes n 20, and the model was compiled for 4 to 16"),
        ({"x": random((6, 4))}, r"makes n 6, and the model was compiled for multiples of 4"),
        ({"z": random((12,))}, r"input 'z' of shape \[12\] makes n 12, but input 'x' of shape \[8, 4\] makes it 8"),
        ({"x": random((8, 5))}, r"input 'x': expected float32\[n, 4\], got float32\[8, 5\]"),
        ({"x": random((8, 4, 1))}, r"input 'x': expected float32\[n, 4\], got float32\[8, 4, 1\]"),
        ({"x": random((8, 4), 0, np.float64)}, r"input 'x': expected float32\[n, 4\], got float64\[8, 4\]"),
        ({"y": random((8,))}, "no input 'y'; the model has 'x', 'z'"),
    ]
    for change, message in wrong:
        with pytest.raises(WebnnCompileError, match=message):
            compiled.run(good | change)
    assert_close(compiled.run(good), before, 0)


@pytest.mark.parametrize("target", ["native", "c", "webgl"])
def test_an_input_that_is_a_size_of_one_value_is_held_to_it(target: str) -> None:
    """Its element is known at build, and no kernel reads it."""
    need_driver(target)
    made = parsed("(float[4] x, int64 count) => (float[4] y) { c = Cast<to = 1>(count) y = Mul(x, c) }")
    compiled = webnn_compile.compile(made, target, dims={"count": 3})
    feeds = {"x": random((4,)), "count": np.array(3)}
    assert_close(compiled.run(feeds), onnxruntime_results(made, feeds))
    for wrong in (4, -3, 2**40):
        with pytest.raises(InputError, match=f"makes count {wrong}, and the model was compiled for 3 only"):
            compiled.run(feeds | {"count": np.array(wrong)})
