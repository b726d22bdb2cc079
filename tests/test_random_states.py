"""Random models with states on every target, run by run, against the reference executor."""

from __future__ import annotations

import pytest
import webnn_compile
from drivers import need_driver
from effort import STATES, effort_of
from onnx_models import assert_close
from random_states import random_states

TOLERANCE = 1e-3
"""Relative to the largest element: errors of one run are carried to the next."""


@pytest.mark.parametrize("target", ["native", "wasm", "wasm-relaxed", "webgpu", "webgl", "opencl", "c"])
def test_random_states(target: str, request: pytest.FixtureRequest) -> None:
    need_driver(target)
    for seed in range(STATES[effort_of(request.config)].get(target, 0)):
        drawn = random_states(seed)
        compiled = webnn_compile.compile(drawn.model, target, dims=drawn.dims, states=drawn.pairs)
        for given, results, states in drawn.runs(5, seed):
            assert_close(compiled.run(given), results, TOLERANCE)
            assert_close(compiled.save_state(), states, TOLERANCE)
