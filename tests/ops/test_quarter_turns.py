"""Parts of a spectrum that are zero, or whole numbers, for all signals of whole numbers."""

from __future__ import annotations

import numpy as np
import pytest
import webnn_compile
from onnx_models import model, node


@pytest.mark.parametrize("length", [2, 4, 8])
def test_quarters_of_a_turn_are_exact(length: int) -> None:
    proto = model([node("DFT", ["x"], ["y"])], {"x": [1, length, 1]}, ["y"], opset=20)
    x = np.random.default_rng(length).integers(-9, 9, (1, length, 1)).astype(np.float32)
    made = webnn_compile.compile(proto, target="native").run({"x": x})["y"]
    step = max(length // 4, 1)  # of bins whose angles are all quarters of a turn
    want = np.fft.fft(x[0, :, 0])[::step].round()
    np.testing.assert_array_equal(made[0, ::step, 0], want.real.astype(np.float32))
    np.testing.assert_array_equal(made[0, ::step, 1], want.imag.astype(np.float32))
