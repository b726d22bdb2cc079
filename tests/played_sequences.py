"""Random sequences of what changes states in JavaScript: a script for Node.js and for pages, and what it must find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from bundle_runs import TO_ARRAY, as_data
from state_sequences import Kind, sequence

STEPS = 60

SCRIPT = (
    TO_ARRAY.replace("({ float32", "({ int32: () => Int32Array.from(values), float32")
    + """
  const model = await bundle.load(argument.options);
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


def options_of(kind: Kind) -> list[str]:
    sizes = [f"--dim={name}={a}..{b},multiple={m}" for name, (a, b, m) in kind.dims.items()]
    window = [] if kind.window is None else [f"--state-window={kind.window}"]
    return [*sizes, *(f"--state={s}" for s in kind.pairs), *window, f"--precision={kind.precision}"]


def check_played(kind: Kind, seeds: int, at_once: bool, play: Callable[[Any], Any], options: dict[str, object]) -> None:
    """`play` gives what SCRIPT finds for its argument, in a bundle of the kind. With `at_once` calls do not wait."""
    runs = [list(sequence(kind, seed, STEPS)) for seed in range(seeds)]
    sequences = [
        [
            {"what": s.what, "session": s.session, "given": as_data(s.given) if isinstance(s.given, dict) else s.given}
            for s in steps
        ]
        for steps in runs
    ]
    steps = [(seed, i, step) for seed, one in enumerate(runs) for i, step in enumerate(one)]
    played = play({"sequences": sequences, "atOnce": at_once, "options": options})
    for (seed, i, step), found in zip(steps, played, strict=True):
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
