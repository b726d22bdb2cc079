"""A size of a run that an attribute or a constant contradicts ends it with an error, as in onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import assert_close, from_text, onnxruntime_results, random
from webnn_compile.errors import InputError, UnsupportedError


@dataclass(frozen=True)
class Sized:
    """A model of `x`, whose size n is 1 to 8: runs of the `valid` sizes have results, those of `wrong` ones end with
    an error. Within `never` none is valid."""

    text: str
    valid: Sequence[int]
    wrong: Sequence[int]
    message: str
    never: tuple[int, int]
    opset: int = 18


MODELS = {
    "TopK": Sized(
        "(float[2, n] x) => (float[a, b] y, int64[a, b] i) <int64[1] k = {5}> { y, i = TopK(x, k) }",
        (5, 8),
        (4, 1),
        "axis 1 of extent n is shorter than its k, 5",
        (1, 4),
    ),
    "TopK-of-an-attribute": Sized(
        "(float[n, 2] x) => (float[a, b] y, int64[a, b] i) { y, i = TopK <axis = 0, k = 3> (x) }",
        (3, 8),
        (2,),
        "axis 0 of extent n is shorter than its k, 3",
        (1, 2),
        9,
    ),
    "TopK-of-a-size": Sized(
        "(float[n] x) => (float[a] y, int64[a] i) <int64[1] three = {3}> "
        "{ s = Shape(x) k = Sub(s, three) y, i = TopK(x, k) }",
        (3, 8),
        (2,),
        "its k, n - 3, is negative",
        (1, 2),
    ),
    "Split": Sized(
        "(float[n, 2] x) => (float[a, 2] y, float[b, 2] z) <int64[1] five = {5}> "
        "{ s = Shape <end = 1> (x) rest = Sub(s, five) k = Concat <axis = 0> (five, rest) y, z = Split(x, k) }",
        (5, 8),
        (4, 1),
        "n - 5, the size of a part of axis 0, is negative",
        (1, 4),
    ),
    "Split-into-equal-parts": Sized(
        "(float[n, 2] x) => (float[a, 2] y, float[b, 2] z) { y, z = Split(x) }",
        (2, 8),
        (1, 7),
        "an axis of extent n is not cut into 2 equal parts",
        (3, 3),
        17,
    ),
    "Pad": Sized(
        "(float[n] x) => (float[a] y) <int64[2] k = {-3, -2}> { y = Pad(x, k) }",
        (6, 8),
        (4, 1),
        r"it crops more than there is along axis 0 of \[n\]",
        (1, 4),
    ),
    "Gather": Sized(
        "(float[2, n] x) => (float[a, b] y) <int64[2] k = {0, -4}> { y = Gather <axis = 1> (x, k) }",
        (4, 8),
        (3,),
        r"index -4 is out of range in dimension 1 of a tensor of shape \[2, n\]",
        (1, 3),
    ),
    "GatherND": Sized(
        "(float[2, n] x) => (float[a] y) <int64[1, 2] k = {1, 4}> { y = GatherND(x, k) }",
        (5, 8),
        (4,),
        r"index 4 is out of range in dimension 1 of a tensor of shape \[2, n\]",
        (1, 4),
    ),
    "ScatterElements": Sized(
        "(float[n] x) => (float[n] y) <int64[2] k = {4, 0}, float[2] u = {9, 8}> { y = ScatterElements(x, k, u) }",
        (5, 8),
        (4,),
        r"index 4 is out of range in dimension 0 of a tensor of shape \[n\]",
        (1, 4),
    ),
    "ScatterND": Sized(
        "(float[n, 2] x) => (float[n, 2] y) <int64[1, 1] k = {4}, float[1, 2] u = {9, 8}> { y = ScatterND(x, k, u) }",
        (5, 8),
        (4,),
        r"index 4 is out of range in dimension 0 of a tensor of shape \[n, 2\]",
        (1, 4),
    ),
    "ConstantOfShape": Sized(
        "(float[n] x) => (float[a] y) <int64[1] five = {5}> { s = Shape(x) r = Sub(s, five) y = ConstantOfShape(r) }",
        (6, 8),
        (4,),
        "n - 5, of its input 'input', is negative",
        (1, 4),
    ),
}


def parsed(case: str) -> onnx.ModelProto:
    made = MODELS[case]
    return from_text(made.text, made.opset)


def feeds(made: onnx.ModelProto, n: int) -> dict[str, Any]:
    shape = [d.dim_value or n for d in made.graph.input[0].type.tensor_type.shape.dim]
    return {"x": random(shape)}


@pytest.mark.parametrize("target", ["native", "wasm", "c", "webgpu", "webgl"])
@pytest.mark.parametrize("case", MODELS)
def test_the_run_is_an_error(case: str, target: str) -> None:
    """And those before and after it are none."""
    need_driver(target)
    sized, made, op = MODELS[case], parsed(case), case.partition("-")[0]
    compiled = webnn_compile.compile(made, target, dims={"n": (1, 8)})
    for n in sized.valid:
        assert_close(compiled.run(feeds(made, n)), onnxruntime_results(made, feeds(made, n)))
    for n in sized.wrong:
        with pytest.raises(
            InputError, match=rf"^{op} \(node '{op}_\d'\): {sized.message} in this run; check the inputs"
        ):
            compiled.run(feeds(made, n))
    n = sized.valid[0]
    assert_close(compiled.run(feeds(made, n)), onnxruntime_results(made, feeds(made, n)))


@pytest.mark.parametrize("case", [c for c in MODELS if c != "Split-into-equal-parts"])
def test_sizes_of_which_none_fits_are_an_error_of_the_build(case: str) -> None:
    sized = MODELS[case]
    with pytest.raises(UnsupportedError, match=f"{sized.message}; the model is invalid, or its input shapes"):
        webnn_compile.compile(parsed(case), dims={"n": sized.never})


def test_what_always_fits_is_not_tested() -> None:
    """Sizes that follow from others, or have a least value, take no further result."""
    made = onnx.parser.parse_model("""
      <ir_version: 10, opset_import: ["" : 18]>
      g (float[n] x) => (float[a] y, int64[a] i, float[b] p, float[c] q, float[d] e, float[g] z)
      <int64[1] most = {5}, int64[1] two = {2}, int64[1] last = {-1}, int64[2] cut = {-1, 0}> {
        s = Shape(x)
        k = Min(s, most)
        y, i = TopK(x, k)
        h = Div(s, two)
        rest = Sub(s, h)
        parts = Concat <axis = 0> (h, rest)
        p, q = Split(x, parts)
        e = Gather(x, last)
        z = Pad(x, cut)
      }""")
    compiled: Any = webnn_compile.compile(made, dims={"n": (1, 8)})
    assert not compiled.program.refusals
    x = np.arange(7, dtype=np.float32)
    assert_close(compiled.run({"x": x}), onnxruntime_results(made, {"x": x}))
