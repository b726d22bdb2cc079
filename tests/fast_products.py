"""A model of products with constants and with what a run computes, whose rows each run decides."""

from __future__ import annotations

import onnx
from onnx_models import random

PRODUCTS = """
    (float[batch, n, 96] x, float[m, 96] past) => (float[batch, n, 200] y, float[k, 96] now)
    <int64[2] rows = {-1, 96}> {
      t = Transpose <perm = [0, 2, 1]> (x)
      scores = MatMul(x, t)
      p = Softmax(scores)
      mixed = MatMul(p, x)
      up = MatMul(mixed, w)
      low = Relu(up)
      y = MatMul(low, v)
      r = Reshape(x, rows)
      now = Concat <axis = 0> (past, r)
    }"""


def products() -> onnx.ModelProto:
    return _parsed(PRODUCTS)


def products_with_states() -> onnx.ModelProto:
    """The rows that are joined are those of the runs before."""
    made = _parsed(PRODUCTS.replace("past", "past_rows"))
    made.graph.output[1].name = made.graph.node[-1].output[0] = "present_rows"
    return made


def _parsed(text: str) -> onnx.ModelProto:
    made = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 18]> g {text}')
    for name, shape in (("w", (96, 384)), ("v", (384, 200))):
        made.graph.initializer.append(onnx.numpy_helper.from_array(random(shape, len(name)) / 10, name))
    return made
