"""Native measurements do the work of a run: each repeat starts from the run's own inputs."""

from __future__ import annotations

from typing import Any

import pytest
from control_flow import MODELS, SIZES, feeds, results
from onnx_models import Array, assert_close
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.tune.native_program import NativeProgram, TimedModel


def timed(name: str) -> TimedModel:
    graph = import_model(MODELS[name](), model_inputs(None, dict(SIZES[name]), None))
    return NativeProgram(lower_model(graph)).compile(None)


def outputs(made: TimedModel) -> dict[str, Array]:
    return made._model.ports.read()


@pytest.mark.parametrize("name", ["branch", "loop_until", "branch_of_sizes", "grow_until"])
def test_repeated_steps_compute_what_a_run_does(name: str) -> None:
    made = timed(name)
    for rows, seed in ((7, 0), (13, 1)):
        given: dict[str, Any] = feeds(name, rows, seed)
        expected = results(MODELS[name](), given)
        times = made.profile(given, repeat=4)
        assert_close(outputs(made), expected, 1e-4)
        assert all(t["ms"] >= 0 for t in times)
        made.time(given)
        assert_close(outputs(made), expected, 1e-4)
