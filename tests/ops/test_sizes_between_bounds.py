"""Shapes that a run computes, of which the model says how large they may be."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import assert_close, onnxruntime_results, random
from webnn_compile.errors import UnsupportedError

HEADER = '<ir_version: 10, opset_import: ["" : 21]> g'
CONSTANTS = """<int64 one = {1}, int64 two = {2}, int64 ten = {10}, int64 zero = {0}, int64[1] ones = {1},
    int64[1] tens = {10}, int64[1] nought = {0}, int64[1] last = {-1},
    float[2] off_on = {0, 3}, float[1] ones_ = {1}, int64[1] twos = {2}>"""

MODELS: Mapping[str, str] = {
    "filled": """
        (int64[1] k, bool[4] b, float[n, 1] x) => (float[p] few, float[q] none, int64[r] true, float[s] best,
                                                   float[t] largest, float[u] other) {
          least = Min(k, tens)
          few = ConstantOfShape(least)
          rest = Mod(k, tens)
          none = ConstantOfShape(rest)
          ints = Cast <to = 7> (b)
          count = ReduceSum <keepdims = 1> (ints)
          true = ConstantOfShape <value = int64[1] {7}> (count)
          place = ArgMax <keepdims = 0> (x)
          after = Add(place, ones)
          best = ConstantOfShape(after)
          three = Concat <axis = 0> (rest, nought, count)
          most = ReduceMax <keepdims = 1> (three)
          largest = ConstantOfShape(most)
          some = Less(k, tens)
          either = Where(some, tens, ones)
          other = ConstantOfShape(either)
        }""",
    "spread": """
        (int64[1] k, bool[4] b, float[n, 1] x) => (float[n, p] wide, float[n, q] sum, float[r, s] tiled,
                                                   float[n, t] padded, float[n, 1, u] hot) {
          some = Clip(k, one, ten)
          rows = Shape <end = 1> (x)
          shape = Concat <axis = 0> (rows, some)
          wide = Expand(x, shape)
          flat = Squeeze(some)
          counted = Range(zero, flat, one)
          floats = Cast <to = 1> (counted)
          sum = Add(wide, floats)
          repeats = Concat <axis = 0> (ones, some)
          tiled = Tile(x, repeats)
          less = Sub(some, tens)
          before = Neg(less)
          pads = Concat <axis = 0> (nought, before, nought, some)
          padded = Pad(x, pads)
          places = Cast <to = 7> (x)
          hot = OneHot(places, some, off_on)
        }""",
    "counted": """
        (int64[1] k, bool[4] b, float[n, 1] x) => (int64[p] up, int64[q] down, int64[r] apart, int64[s] between) {
          flat = Squeeze(k)
          least = Min(flat, ten)
          up = Range(zero, least, two)
          some = Clip(flat, one, ten)
          step = Neg(some)
          down = Range(ten, zero, step)
          apart = Range(zero, ten, some)
          end = Add(some, ten)
          first = Range(some, end, one)
          second = Range(zero, ten, one)
          between = Add(first, second)
        }""",
    "in regions": """
        (int64[1] k, bool[4] b, float[n, 1] x) => (float[1] total, float[p, 2] taken) {
          off = Squeeze(nought)
          row = Gather(x, off)
          total = Loop(ten, , row) <body = each (int64 i, bool on, float[1] sum) => (bool still, float[1] more) {
            still = Identity(on)
            moved = Add(k, i)
            some = Mod(moved, tens)
            few = Expand(ones_, some)
            own = ReduceSum <keepdims = 1> (few)
            more = Add(sum, own)
          }>
          least = Min(k, tens)
          length = Max(least, nought)
          shape = Concat <axis = 0> (length, twos)
          wanted = Gather(b, off)
          taken = If (wanted) <
            then_branch = yes () => (float[p, 2] most) { most = Expand(ones_, shape) },
            else_branch = no () => (float[q, 2] none) { none = ConstantOfShape(shape) }>
        }""",
}


@pytest.mark.parametrize("name", MODELS)
def test_bounds_of_the_model(name: str) -> None:
    check(name, "native")


@pytest.mark.parametrize("target", ["wasm", "webgl", "webgpu"])
@pytest.mark.parametrize("name", MODELS)
def test_bounds_of_the_model_elsewhere(name: str, target: str) -> None:
    need_driver(target)
    check(name, target)


def check(name: str, target: str) -> None:
    made = onnx.parser.parse_model(f"{HEADER} {MODELS[name].replace('{', f'{CONSTANTS} {{', 1)}")
    compiled = webnn_compile.compile(made, target, dims={"n": (1, 4)})
    for k, n in ((1, 4), (0, 1), (7, 3), (40, 2)):
        trues = np.asarray([n > 1, n > 3, n > 2, False])
        feeds = {"k": np.asarray([k]), "b": trues, "x": random((n, 1))}
        assert_close(compiled.run(feeds), onnxruntime_results(made, feeds))


@pytest.mark.parametrize(
    ("body", "flags"),
    [
        ("y = ConstantOfShape(k)", ["--fix k=VALUE", "--dim k=1..MOST", "Min or Clip"]),
        ("least = Max(k, tens) y = Expand(tens, least)", ["--fix k=VALUE", "--dim k=1..MOST", "Min or Clip"]),
        ("flat = Squeeze(k) y = Range(flat, ten, one)", ["'start'", "--dim k=1..MOST"]),
        ("y = ConstantOfShape(v)", ["--fix v=VALUE,VALUE"]),
        ("wide = Cast <to = 7> (u) y = ConstantOfShape(wide)", ["--fix u=VALUE,VALUE"]),
        ("m = Mul(v, k) y = ConstantOfShape(m)", ["--fix k=VALUE or --dim k=1..MOST and --fix v=VALUE,VALUE"]),
    ],
)
def test_what_has_no_bound_names_the_options(body: str, flags: list[str]) -> None:
    made = onnx.parser.parse_model(
        f"{HEADER} (int64[1] k, int64[2] v, uint16[2] u) => (float[a] y) {CONSTANTS} {{ {body} }}"
    )
    with pytest.raises(UnsupportedError) as error:
        webnn_compile.compile(made)
    assert all(flag in str(error.value) for flag in flags), str(error.value)


def test_what_a_large_input_decides_has_no_option() -> None:
    made = onnx.parser.parse_model(
        f"{HEADER} (int64[1] k, int64[17] w) => (float[a] y) {CONSTANTS} {{ m = Mul(w, k) y = ConstantOfShape(m) }}"
    )
    with pytest.raises(UnsupportedError) as error:
        webnn_compile.compile(made)
    assert "--fix k" not in str(error.value)
    assert "--fix w" not in str(error.value)


def test_one_given_as_a_dimension_needs_no_bound() -> None:
    text = "(int64[1] k) => (float[a] y) <int64[1] ones = {1}> { more = Add(k, ones) y = ConstantOfShape(more) }"
    made = onnx.parser.parse_model(f"{HEADER} {text}")
    found = webnn_compile.compile(made, dims={"k": (1, 5)}).run({"k": np.asarray([4])})
    assert found["y"].shape == (5,)
