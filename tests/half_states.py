"""A model with states of each kind, some of which are float16 in the memory of GPUs, and runs of it by onnxruntime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import onnx
from decoder_reference import run_of, session
from onnx import numpy_helper

Array = np.ndarray

WIDTH, ROWS, NEW, KEPT = 72, 90, 3, 60
"""Elements of a row, rows before a run and those of a run; rows that move up."""

MOST = ROWS + NEW
"""Rows after a run."""

DIMS = {"S": (1, NEW), "P": (0, ROWS)}
PAIRS = ["k=k2", "v=v2", "total=total2", "last=last2"]


def attention() -> onnx.ModelProto:
    """Keys and values of all rows, a sum over all runs, and the last KEPT rows."""
    model = onnx.parser.parse_model(f"""<ir_version: 9, opset_import: ["" : 17]>
      g (float[1, S, {WIDTH}] x, float[1, P, {WIDTH}] k, float[1, P, {WIDTH}] v, float[{WIDTH}, {WIDTH}] total,
         float[1, {KEPT}, {WIDTH}] last)
        => (float[1, S, {WIDTH}] y, float[1, PS, {WIDTH}] k2, float[1, PS, {WIDTH}] v2,
            float[{WIDTH}, {WIDTH}] total2, float[1, {KEPT}, {WIDTH}] last2)
        <float step = {{0.3330078125}}, int64[1] first = {{-{KEPT}}}, int64[1] end = {{9999}}, int64[1] axis = {{1}}> {{
          nk = MatMul(x, wk)
          k2 = Concat <axis = 1> (k, nk)
          v2 = Concat <axis = 1> (v, x)
          t = Transpose <perm = [0, 2, 1]> (k2)
          scores = MatMul(x, t)
          weights = Softmax <axis = -1> (scores)
          y = MatMul(weights, v2)
          total2 = Add(total, step)
          all = Concat <axis = 1> (last, x)
          last2 = Slice(all, first, end, axis)
        }}""")
    weights = np.random.default_rng(0).normal(size=(WIDTH, WIDTH)) * 0.1
    model.graph.initializer.append(numpy_helper.from_array(weights.astype(np.float16).astype(np.float32), "wk"))
    return model


def drawn(count: int) -> list[dict[str, Array]]:
    """Inputs of so many runs. Keys are far apart, so that a wrong row shows."""
    generator = np.random.default_rng(1)
    lengths = generator.integers(1, NEW + 1, count)
    return [{"x": generator.normal(size=(1, n, WIDTH)).astype(np.float32)} for n in lengths]


def results(runs: Sequence[Mapping[str, Array]]) -> Iterator[tuple[dict[str, Array], dict[str, Array]]]:
    """Outputs of each run, and the states that it leaves, by onnxruntime."""
    step = run_of(session(attention().SerializeToString()))
    none = np.zeros((1, 0, WIDTH), np.float32)
    states = {"k": none, "v": none, "total": np.zeros((WIDTH, WIDTH), np.float32)}
    states["last"] = np.zeros((1, KEPT, WIDTH), np.float32)
    for inputs in runs:
        outputs = step({**inputs, **states})
        states = {name: outputs[f"{name}2"] for name in states}
        yield {"y": outputs["y"]}, states
