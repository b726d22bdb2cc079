"""Networks as PyTorch exports them, at two sizes each, and Silero's voice activity detector, once in each browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from compiled import compile_site
from devices import open_bundle, value
from exported import LEAST, MODELS, ODD, Array, dims, feeds, path_of, results
from harness import browser_name
from onnx_models import assert_close
from playwright.sync_api import Page
from server import serve
from silero import RATE, SHAPES, chunks, model_path

BACKENDS = ("wasm", "webgl", "webgpu")
NETWORKS = sorted({m.rpartition("_")[0] for m in MODELS})

RUN = """
  const model = await bundle.load({ backend: argument.backend });
  const runs = [];
  for (const tensors of argument.runs) {
    const inputs = {};
    for (const [name, { dtype, shape, values }] of Object.entries(tensors)) {
      const data = dtype === 'int64' ? BigInt64Array.from(values, BigInt) : Float32Array.from(values);
      inputs[name] = { data, shape };
    }
    const outputs = Object.entries(await model.run(inputs));
    runs.push(Object.fromEntries(outputs.map(([name, data]) => [name, { shape: data.shape, values: [...data] }])));
  }
  const { backend } = model.info();
  await model.dispose();
  return { runs, backend };
"""

LISTEN = """
  const model = await bundle.load({ backend: argument.backend });
  let state = new Float32Array(2 * 128);
  const heard = [];
  for (const sound of argument.sounds) {
    const { output, stateN } = await model.run({ input: Float32Array.from(sound), state });
    heard.push(output[0]);
    state = stateN;
  }
  const { backend } = model.info();
  await model.dispose();
  return { heard, state: [...state], backend };
"""


def exported_for(network: str, browser: str) -> tuple[str, str]:
    """The file and the backend: what one exporter writes for each browser, and backends in turns."""
    exporter = "torchscript" if browser == "chromium" and f"{network}_torchscript" in MODELS else "dynamo"
    return f"{network}_{exporter}", BACKENDS[(NETWORKS.index(network) + (browser == "firefox")) % len(BACKENDS)]


def as_data(tensors: dict[str, Array]) -> dict[str, Any]:
    return {n: {"dtype": a.dtype.name, "shape": a.shape, "values": a.ravel().tolist()} for n, a in tensors.items()}


@pytest.mark.parametrize("network", NETWORKS)
def test_an_exported_network_runs_at_any_size(page: Page, tmp_path: Path, network: str) -> None:
    model, backend = exported_for(network, browser_name(page))
    sizes = [f"{name}={least}..{most}" for name, (least, most) in dims(model).items()]
    options = ["--state", "none", *(option for size in sizes for option in ("--dim", size))]
    given = [feeds(model, sizes) for sizes in (ODD, LEAST)]
    with serve(compile_site(path_of(model), tmp_path, "--targets", backend, *options)) as site:
        open_bundle(page, site, "bundle", backend)
        answer = value(page, RUN, {"backend": backend, "runs": [as_data(tensors) for tensors in given]})
    assert answer["backend"] == backend
    for tensors, run in zip(given, answer["runs"], strict=True):
        found = {n: np.asarray(t["values"], np.float32).reshape(t["shape"]) for n, t in run.items()}
        assert_close(found, results(model, tensors), 1e-4)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_state_is_handed_back_chunk_after_chunk(page: Page, tmp_path: Path, backend: str) -> None:
    path = model_path()
    shapes = [f"{name}={'x'.join(map(str, shape))}" for name, shape in SHAPES.items()]
    options = [option for shape in shapes for option in ("--shape", shape)]
    sounds = list(chunks(6))
    with serve(compile_site(path, tmp_path, "--targets", backend, "--fix", f"sr={RATE}", *options)) as site:
        open_bundle(page, site, "bundle", backend)
        answer = value(page, LISTEN, {"backend": backend, "sounds": [sound.ravel().tolist() for sound in sounds]})
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    state = np.zeros(SHAPES["state"], np.float32)
    heard = []
    for sound in sounds:
        fed = {"input": sound, "state": state, "sr": np.asarray(RATE, np.int64)}
        voice, state = session.run(["output", "stateN"], fed)
        heard.append(voice.item())
    assert answer["backend"] == backend
    np.testing.assert_allclose(answer["heard"], heard, rtol=0, atol=1e-4)
    np.testing.assert_allclose(answer["state"], state.ravel(), rtol=0, atol=1e-4 * max(1, abs(state).max()))
