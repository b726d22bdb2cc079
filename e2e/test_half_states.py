"""States in float16 under `--precision f16` in pages: caches in the memory of WebGPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from bundle_runs import TO_ARRAY, as_data
from compiled import compile_site
from devices import need_halves, open_bundle, value
from half_states import DIMS, MOST, PAIRS, WIDTH, attention, drawn, results
from played_sequences import SCRIPT, check_played, options_of
from playwright.sync_api import Page
from server import serve
from state_sequences import HALVED_KINDS, Kind

RUNS = 12

PLAYED = (
    TO_ARRAY
    + """
  const model = await bundle.load({ backend: 'webgpu', verify: { every: 5 } });
  const wasm = await bundle.load({ backend: 'wasm' });
  const data = (array) => ({ shape: array.shape, values: Array.from(array) });
  const plain = (arrays) => Object.fromEntries(Object.entries(arrays).map(([name, array]) => [name, data(array)]));
  const alone = model.info().memoryBytes;
  const other = await model.session();
  const bytes = model.info().memoryBytes - alone;
  const found = [];
  for (const given of argument) {
    await wasm.loadState(await other.saveState());
    for (const one of [model, wasm, other]) found.push(plain(await one.run(toInputs(given))));
    await other.loadState(await wasm.saveState());
  }
  const states = [await model.saveState(), await other.saveState()].map(plain);
  const saved = await other.saveState();
  saved.k.set([1e6, -1e6, -Infinity, Number.NaN]);
  await other.loadState(saved);
  const fork = await other.fork();
  const odd = Array.from((await fork.saveState()).k.slice(0, 4), String);
  for (const one of [model, wasm]) await one.dispose();
  return { found, states, bytes, odd };
"""
)
"""Runs on `argument` in a session, and in one that was saved and loaded on the other backend between runs."""


def play(page: Page, folder: Path, precision: str) -> Any:
    """The results of PLAYED in a bundle of that precision."""
    sizes = [f"--dim={name}={a}..{b}" for name, (a, b) in DIMS.items()]
    options = [*sizes, *(f"--state={pair}" for pair in PAIRS), "--targets", "webgpu,wasm", "--precision", precision]
    with serve(compile_site(folder / "model.onnx", folder / precision, *options)) as site:
        open_bundle(page, site, "bundle", "webgpu")
        need_halves(page)
        return value(page, PLAYED, [as_data(one) for one in drawn(RUNS)])


def test_caches_go_from_one_backend_to_another(page: Page, tmp_path: Path) -> None:
    """A session more takes half of what its caches take in float32."""
    onnx.save(attention(), tmp_path / "model.onnx")
    halves, floats = (play(page, tmp_path, precision) for precision in ("f16", "f32"))
    wanted = list(results(drawn(RUNS)))
    for played in (halves, floats):
        for got, (outputs, _) in zip(played["found"], [w for w in wanted for _ in range(3)], strict=True):
            y = np.reshape(got["y"]["values"], outputs["y"].shape)
            np.testing.assert_allclose(y, outputs["y"], rtol=4e-3, atol=4e-3)
        for states in played["states"]:
            for name, want in wanted[-1][1].items():
                assert states[name]["shape"] == [*want.shape]
                tolerance = 2**-10 if name in ("k", "v") else 1e-6
                got = np.reshape(states[name]["values"], want.shape)
                np.testing.assert_allclose(got, want, rtol=tolerance, atol=1e-5, err_msg=name)
    assert halves["odd"] == ["65504", "-65504", "-Infinity", "NaN"]
    assert floats["odd"] == ["1000000", "-1000000", "-Infinity", "NaN"]
    assert floats["bytes"] - halves["bytes"] == 2 * 2 * WIDTH * MOST


@pytest.mark.parametrize("kind", HALVED_KINDS[2:], ids=lambda k: k.name)
def test_random_sequences(page: Page, tmp_path: Path, kind: Kind) -> None:
    onnx.save(kind.model, tmp_path / "kind.onnx")
    site = compile_site(tmp_path / "kind.onnx", tmp_path / "site", *options_of(kind), "--targets", "webgpu")
    with serve(site) as made:
        open_bundle(page, made, "bundle", "webgpu")
        need_halves(page)
        check_played(kind, 1, True, lambda argument: value(page, SCRIPT, argument), {"backend": "webgpu"})
