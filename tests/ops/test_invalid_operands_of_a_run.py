"""Operands that a run computes, and that are invalid, end it with an error, as in onnxruntime."""

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
from webnn_compile.errors import InputError


@dataclass(frozen=True)
class Operands:
    """Operands of a model of `x`, of `shape`, and integers `k`: of a valid run, then of `wrong` ones."""

    text: str
    shape: Sequence[int]
    valid: Sequence[int]
    wrong: Sequence[Sequence[int]]
    message: str


MODELS = {
    "Split": Operands(
        "(float[9, 2] x, int64[3] k) => (float[a, 2] p, float[b, 2] q, float[c, 2] r) { p, q, r = Split(x, k) }",
        (9, 2),
        (2, 3, 4),
        ((1, 1, 1), (5, 5, 5), (-1, 5, 5), (10, 0, -1)),
        "sizes of 3 parts that do not make up axis 0, of extent 9",
    ),
    "Squeeze": Operands(
        "(float[1, 3, 1, 4] x, int64[2] k) => (float[a, b] y) { y = Squeeze(x, k) }",
        (1, 3, 1, 4),
        (2, -4),
        ((0, 0), (0, 1), (0, -4), (0, 9)),
        r"axes that are not 2 different ones of extent 1 in \[1, 3, 1, 4\]",
    ),
    "Squeeze-to-a-scalar": Operands(
        "(float[1, 1] x, int64[3] k) => (float y) { y = Squeeze(x, k) }",
        (1, 1),
        (1, 0, -1),
        ((0, 0, -2), (0, 1, 2), (0, 1, -3)),
        r"axes that are not 2 different ones of extent 1 in \[1, 1\]",
    ),
    "Unsqueeze": Operands(
        "(float[2, 3] x, int64[2] k) => (float[a, b, c, d] y) { y = Unsqueeze(x, k) }",
        (2, 3),
        (2, 0),
        ((1, 1), (7, 0)),
        "axes that are not 2 different ones of 4",
    ),
    "CumSum": Operands(
        "(float[2, 3] x, int64[1] k) => (float[2, 3] y) <int64[0] s = {}> { a = Reshape(k, s) y = CumSum(x, a) }",
        (2, 3),
        (-1,),
        ((2,), (-3,)),
        "an axis that is none of 2",
    ),
    "CumProd": Operands(  # of numbers that devices lack, so that the axis is read on the host and on the device
        "(float[2, 3] x, int64[1] k) => (double[2, 3] y, float[2, 3] z) <int64[0] s = {}> "
        "{ a = Reshape(k, s) d = Cast <to = 11> (x) y = CumProd(d, a) z = Exp(x) }",
        (2, 3),
        (-1,),
        ((2,), (-3,)),
        "an axis that is none of 2",
    ),
    "TopK": Operands(
        "(float[5] x, int64[1] k) => (float[a] y, int64[a] i) { y, i = TopK(x, k) }",
        (5,),
        (3,),
        ((6,), (-1,)),
        "a k that is not within 0 to 5",
    ),
    "MaxUnpool": Operands(  # indices of an image that is copied for the pooling
        "(float[1, 1, 4, 4] x, int64[4] k) => (float[1, 1, 4, 4] y) <int64[4] s = {1, 1, 2, 2}> "
        "{ p, j = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) more = Reshape(k, s) i = Add(j, more) "
        "y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (p, i) }",
        (1, 1, 4, 4),
        (0, 0, 0, 0),
        ((16, 0, 0, 0), (0, 0, 2, 0), (0, -16, 0, 0)),
        "indices that no MaxPool of the same attributes has",
    ),
    "ConstantOfShape": Operands(
        "(float[1] x, int64[1] k) => (float[a] y) <int64[1] most = {10}> "
        "{ n = Min(k, most) zeros = ConstantOfShape(n) y = Add(zeros, x) }",
        (1,),
        (3,),
        ((-3,),),
        "a negative number as its input 'input'",
    ),
    "Tile": Operands(
        "(float[2, 3] x, int64[2] k) => (float[a, b] y) <int64[1] most = {4}> { n = Min(k, most) y = Tile(x, n) }",
        (2, 3),
        (1, 2),
        ((1, -1), (-2, 1)),
        "a negative number as its input 'repeats'",
    ),
}


def parsed(op: str) -> onnx.ModelProto:
    opset = 26 if op == "CumProd" else 18
    return from_text(MODELS[op].text, opset)


@pytest.mark.parametrize("target", ["native", "wasm", "c", "webgpu", "webgl"])
@pytest.mark.parametrize("case", MODELS)
def test_the_run_is_an_error(case: str, target: str) -> None:
    """And those before and after it are none."""
    need_driver(target)
    operands, made, op = MODELS[case], parsed(case), case.partition("-")[0]
    compiled = webnn_compile.compile(made, target)
    good = {"x": random(operands.shape), "k": np.array(operands.valid)}
    assert_close(compiled.run(good), onnxruntime_results(made, good))
    for wrong in operands.wrong:
        with pytest.raises(InputError, match=rf"^{op} \(node '{op}_\d'\): this run computes {operands.message}"):
            compiled.run(good | {"k": np.array(wrong)})
    assert_close(compiled.run(good), onnxruntime_results(made, good))


def test_what_cannot_be_wrong_is_not_tested() -> None:
    """Sizes that the model itself bounds take no further result."""
    made = onnx.parser.parse_model("""
      <ir_version: 10, opset_import: ["" : 18]>
      g (int64[1] k, float[6] x) => (float[a] y, float[b] z, int64[b] i) <int64[1] none = {0}, int64[1] most = {5}> {
        some = Max(k, none)
        n = Min(some, most)
        y = ConstantOfShape(n)
        z, i = TopK(x, n)
      }""")
    compiled: Any = webnn_compile.compile(made)
    assert not compiled.program.refusals
    feeds = {"k": np.array([-3]), "x": random((6,))}
    assert_close(compiled.run(feeds), onnxruntime_results(made, feeds))
