"""Random models with states on every target, run by run and in random sequences, against the reference executor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import webnn_compile
from drivers import need_driver
from effort import STATES, effort_of
from onnx_models import Array, assert_close
from random_states import inputs_of, nothing, random_states
from webnn_compile.graph.evaluate import evaluate_graph
from webnn_compile.graph.ir import Graph
from webnn_compile.program.states import StateFullError

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


ROOM = 4
"""Rows that a run of a sequence may find, which fill soon."""


@pytest.mark.parametrize("target", ["native", "wasm", "wasm-relaxed", "webgpu", "webgl", "opencl", "c"])
def test_random_sequences(target: str, request: pytest.FixtureRequest) -> None:
    """Runs of no rows and of full states among them, which are refused and leave the states."""
    need_driver(target)
    for seed in range(STATES[effort_of(request.config)].get(target, 0)):
        drawn = random_states(seed)
        drawn = replace(drawn, dims={n: (0, 3 if n == "S" else ROOM) for n in drawn.dims})
        model = webnn_compile.compile(drawn.model, target, dims=drawn.dims, states=drawn.pairs)
        play(model, drawn.graph, np.random.default_rng(seed))


def play(model: Any, graph: Graph, generator: np.random.Generator) -> None:
    """A sequence of steps, each in a session of the model."""
    start, after = nothing(graph), {s.before: s.after for s in graph.states}
    given = [v for v in graph.inputs if v.name not in start]
    kept = [v for v in graph.inputs if v.name in start]
    lengths = [(v.name, axis) for v in kept for axis, n in enumerate(v.shape) if not isinstance(n, int)]
    sessions: list[tuple[Any, dict[str, Array]]] = [(model, start)]
    saved = [start]
    for _ in range(30):
        number = int(generator.integers(len(sessions)))
        session, states = sessions[number]
        match generator.choice(["run"] * 9 + ["save", "load", "fork", "session", "reset"]):
            case "run" if any(states[name].shape[axis] > ROOM for name, axis in lengths):
                with pytest.raises(StateFullError):
                    session.run(inputs_of(given, 1, generator))
            case "run":
                inputs = inputs_of(given, int(generator.integers(4)), generator)
                results = evaluate_graph(graph, {**inputs, **states})
                states = {before: results.pop(name) for before, name in after.items()}
                assert_close(session.run(inputs), results, TOLERANCE)
            case "save":
                saved.append(session.save_state())
            case "load":
                states = saved[int(generator.integers(len(saved)))]
                session.load_state(states)
            case "fork":
                sessions.append((session.fork(), states))
            case "session":
                sessions.append((model.session(), start))
            case _:
                session.reset()
                states = start
        sessions[number] = session, states
        assert_close(session.save_state(), states, TOLERANCE)
