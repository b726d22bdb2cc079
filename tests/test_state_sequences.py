"""Random sequences of what changes states, on every path, against a model in NumPy."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webnn_compile
from drivers import need_driver
from effort import SEQUENCES, effort_of
from library_builds import build_library
from node_sessions import play, written
from played_sequences import SCRIPT, STEPS, check_played, options_of
from state_sequences import HALVED_KINDS, KINDS, Kind, Step, sequence
from webnn_compile.dtypes import F16
from webnn_compile.errors import InputError


def opened(kind: Kind, target: str, folder: Path) -> Any:
    """A model of a target, or a library that was built as one."""
    if not target.startswith("library"):
        need_driver(target, "shader-f16" if kind.halves else "")
        options: dict[str, Any] = {"dims": kind.dims, "states": kind.pairs, "state_window": kind.window}
        return webnn_compile.compile(kind.model, target, **options, precision=kind.precision)
    return webnn_compile.load(build_library(kind.model, target.removeprefix("library-"), folder, *options_of(kind)))


def take(sessions: list[Any], step: Step) -> Any:
    """The output `y` of a step that is a run."""
    one = sessions[step.session]
    match step.what:
        case "run":
            return one.run(step.given)["y"]
        case "rewind":
            one.rewind(step.given)
        case "load" | "more":
            one.load_state(step.given)
        case "reset":
            one.reset()
        case "fork":
            sessions.append(one.fork())
        case "session":
            sessions.append(one.session())
        case "save":
            one.save_state()
    return None


@pytest.mark.parametrize("target", ["native", "wasm", "webgl", "c", "library-native", "library-c"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.name)
def test_sequences(kind: Kind, target: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if target in ("c", "library-native", "library-c") and shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    check_sequences(kind, opened(kind, target, tmp_path), SEQUENCES[effort_of(request.config)])


@pytest.mark.parametrize("target", ["webgpu", "opencl", "cuda", "webgl"])
@pytest.mark.parametrize("kind", HALVED_KINDS, ids=lambda k: k.name)
def test_sequences_in_halves(kind: Kind, target: str, tmp_path: Path) -> None:
    """The elements are whole numbers that float16 holds: nothing is rounded."""
    model = opened(kind, target, tmp_path)
    program = model.program
    stored = {p.spec.name: program.storages[program.values[p.value].storage].dtype for p in program.states}
    assert {name for name, dtype in stored.items() if dtype == F16} == set(() if target == "webgl" else kind.halves)
    check_sequences(kind, model, 2)


def check_sequences(kind: Kind, model: Any, seeds: int) -> None:
    for seed in range(seeds):
        model.reset()
        sessions: list[Any] = [model]
        for i, step in enumerate(sequence(kind, seed, STEPS)):
            where = f"seed {seed}, step {i}: {step.what} of {step.session} with {step.given}"
            failed, y = False, None
            try:
                y = take(sessions, step)
            except InputError:
                failed = True
            one = sessions[step.session]
            assert (failed, one.position) == (step.fails, step.position), where
            if step.y is not None:
                np.testing.assert_allclose(y, step.y, rtol=1e-4, atol=1e-4, err_msg=where)
            if step.states is None:
                with pytest.raises(InputError, match="reset"):
                    one.save_state()
                continue
            saved = one.save_state()
            assert saved.keys() == step.states.keys(), where
            for name, want in step.states.items():
                np.testing.assert_allclose(saved[name], want, rtol=1e-4, atol=1e-4, err_msg=f"{name}, {where}")


@pytest.mark.parametrize("at_once", [False, True], ids=["in turn", "at once"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.name)
def test_sequences_of_bundles(kind: Kind, at_once: bool, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Calls that a session has not yet carried out wait, in their order."""
    bundle = written(kind.model, tmp_path, *options_of(kind))
    seeds = SEQUENCES[effort_of(request.config)]
    check_played(kind, seeds, at_once, lambda argument: play(bundle, SCRIPT, argument), {"backend": "wasm"})
