"""GroupNormalization before opset 21, which onnx.checker calls deprecated, so the operator table cannot have it."""

from __future__ import annotations

import numpy as np
from webnn_compile.dtypes import F32
from webnn_compile.graph.define import define
from webnn_compile.graph.ir import Array, Node, Value
from webnn_compile.tensor import constant
from webnn_compile.tensor.evaluate import evaluate


def _normalised(x: Array, scale: Array, bias: Array, opset: int) -> Array:
    values = [Value(n, a.shape, F32) for n, a in (("x", x), ("scale", scale), ("bias", bias))]
    tensors = {v: constant(v.name, a) for v, a in zip(values, (x, scale, bias), strict=True)}
    node = Node("GroupNormalization", "node", tuple(values), (None,), {"num_groups": 3}, opset)
    return evaluate(define(node, tensors)[0])


def test_scale_and_bias_per_group() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2, 6, 3, 4)).astype(np.float32)
    scale, bias = rng.standard_normal((2, 3)).astype(np.float32)
    per_group = _normalised(x, scale, bias, 18)
    np.testing.assert_array_equal(per_group, _normalised(x, np.repeat(scale, 2), np.repeat(bias, 2), 21))
    assert not np.allclose(per_group, _normalised(x, np.tile(scale, 2), np.tile(bias, 2), 21))
