"""Random sequences of what changes states, on every path, against a model in NumPy."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webnn_compile
from bundle_runs import TO_ARRAY, as_data
from drivers import need_driver
from effort import SEQUENCES, effort_of
from library_builds import build_library
from node_sessions import play, written
from state_sequences import KINDS, Kind, Step, sequence
from webnn_compile.errors import InputError

STEPS = 60


def options_of(kind: Kind) -> list[str]:
    window = [] if kind.window is None else [f"--state-window={kind.window}"]
    return [*(f"--dim={n}={a}..{b}" for n, (a, b) in kind.dims.items()), *(f"--state={s}" for s in kind.pairs), *window]


def opened(kind: Kind, target: str, folder: Path) -> Any:
    """A model of a target, or a library that was built as one."""
    if not target.startswith("library"):
        need_driver(target)
        return webnn_compile.compile(kind.model, target, dims=kind.dims, states=kind.pairs, state_window=kind.window)
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
    model = opened(kind, target, tmp_path)
    for seed in range(SEQUENCES[effort_of(request.config)]):
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


SCRIPT = (
    TO_ARRAY.replace("({ float32", "({ int32: () => Int32Array.from(values), float32")
    + """
  const model = await bundle.load({ backend: 'wasm' });
  const data = (array) => ({ shape: array.shape, values: Array.from(array, Number) });
  const plain = (arrays) => Object.fromEntries(Object.entries(arrays).map(([name, array]) => [name, data(array)]));
  const found = [];
  for (const steps of argument.sequences) {
    await model.reset();
    const sessions = [model];
    for (const { what, session, given } of steps) {
      const one = sessions[session];
      const does = {
        run: async () => plain(await one.run(toInputs(given))),
        rewind: () => one.rewind(given),
        load: () => one.loadState(Object.fromEntries(Object.entries(toInputs(given)).map(([name, { data, shape }]) =>
          [name, Object.assign(data, { shape })]))),
        reset: () => one.reset(),
        fork: async () => void sessions.push(await one.fork()),
        session: async () => void sessions.push(await model.session()),
        save: async () => void (await one.saveState()),
      };
      does.more = does.load;
      const outcome = does[what]().then((made) => ({ made }), ({ message }) => ({ message }));
      if (!argument.atOnce || what === 'fork') await outcome;
      const states = one.saveState().then(plain, ({ code }) => code);
      const record = async () => ({ ...(await outcome), states: await states, position: one.position });
      found.push(record());
      if (!argument.atOnce || what === 'session') await found.at(-1);
    }
    await Promise.all(found);
    for (const session of sessions.slice(1)) await session.dispose();
  }
  return Promise.all(found);
"""
)


@pytest.mark.parametrize("at_once", [False, True], ids=["in turn", "at once"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.name)
def test_sequences_of_bundles(kind: Kind, at_once: bool, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Calls that a session has not yet carried out wait, in their order."""
    bundle = written(kind.model, tmp_path, *options_of(kind))
    runs = [list(sequence(kind, seed, STEPS)) for seed in range(SEQUENCES[effort_of(request.config)])]
    sequences = [
        [
            {"what": s.what, "session": s.session, "given": as_data(s.given) if isinstance(s.given, dict) else s.given}
            for s in steps
        ]
        for steps in runs
    ]
    steps = [(seed, i, step) for seed, one in enumerate(runs) for i, step in enumerate(one)]
    for (seed, i, step), found in zip(
        steps, play(bundle, SCRIPT, {"sequences": sequences, "atOnce": at_once}), strict=True
    ):
        where = f"seed {seed}, step {i}: {step.what} of {step.session} with {step.given}: {found.get('message')}"
        assert ("message" in found) == step.fails, where
        assert at_once or found["position"] == step.position, where
        if step.y is not None:
            y = np.reshape(found["made"]["y"]["values"], step.y.shape)
            np.testing.assert_allclose(y, step.y, rtol=1e-4, atol=1e-4, err_msg=where)
        if step.states is None:
            assert found["states"] == "state-lost", where
            continue
        assert found["states"].keys() == step.states.keys(), where
        for name, want in step.states.items():
            shape, values = found["states"][name].get("shape", []), found["states"][name]["values"]
            assert tuple(shape) == want.shape, where
            np.testing.assert_allclose(np.reshape(values, shape), want, rtol=1e-4, atol=1e-4, err_msg=where)
