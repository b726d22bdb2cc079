"""Scan from the end of a sequence whose length each run decides."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import assert_close, onnxruntime_results, random

MODEL = """
<ir_version: 10, opset_import: ["" : 21]>
backwards (float[n, 3] x, float[3] start) => (float[3] final, float[n, 3] rows)
{
  final, rows = Scan<
    num_scan_inputs = 1, scan_input_directions = [1], scan_output_directions = [1],
    body = step (float[3] sum, float[3] row) => (float[3] next, float[3] out) {
      next = Add(sum, row)
      out = Mul(sum, row)
    }
  >(start, x)
}
"""


@pytest.mark.parametrize("target", ["native", "webgl"])
def test_rows_are_taken_from_the_last_on(target: str) -> None:
    need_driver(target)
    made = onnx.parser.parse_model(MODEL)
    compiled = webnn_compile.compile(made, target, dims={"n": (1, 9)})
    for n in (1, 4, 9):
        feeds = {"x": random((n, 3), n), "start": np.ones(3, np.float32)}
        assert_close(compiled.run(feeds), onnxruntime_results(made, feeds))


def test_over_one_row_or_none() -> None:
    compiled = webnn_compile.compile(onnx.parser.parse_model(MODEL), dims={"n": (0, 1)})
    for n in (1, 0):
        x, start = random((n, 3), n), np.ones(3, np.float32)
        found = compiled.run({"x": x, "start": start})
        assert_close(found, {"final": start + x.sum(axis=0), "rows": x * start})
