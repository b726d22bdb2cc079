"""If, Loop, Scan and results as long as the data says, in browsers, over a number of rows that each run decides."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from bundle_runs import RUN, TO_ARRAY, as_arrays, as_data
from compiled import compile_site
from control_flow import MODELS, MOST_ROWS, SIZES, WIDTH, feeds, results
from devices import open_bundle, value
from harness import browser_name, measure_heap
from onnx_models import assert_close
from playwright.sync_api import Page
from server import serve

BACKENDS = ("wasm", "webgl", "webgpu")
RUNS = ((MOST_ROWS, 2), (1, 1), (7, 8))
"""Rows and seeds."""
OFTEN = {"wasm": 1000, "webgl": 60, "webgpu": 60}

FACTS = (
    TO_ARRAY
    + """
  const model = await bundle.load({ backend: argument.backend });
  const { memoryBytes } = model.info();
  const refused = [];
  const tell = ({ name, message }) => `${name}: ${message}`;
  for (const run of argument.wrong) refused.push(await model.run(toInputs(run)).catch(tell));
  const { dimensions } = model;
  const shapes = model.inputShapes({ rows: 3, times: 2 });
  const inputs = model.inputs.map(({ shape }) => shape);
  globalThis.again = async (count) => {
    for (let i = 0; i < count; i++) {
      const rows = 1 + (i * 7) % argument.most;
      const x = new Float32Array(rows * argument.width).fill(0.1);
      await model.run({ x: { data: x, shape: [rows, argument.width] }, times: BigInt64Array.of(BigInt(i % 6)) });
    }
    return model.info().memoryBytes;
  };
  return { memoryBytes, refused, dimensions, shapes, inputs };
"""
)


def site_of(name: str, folder: Path, backend: str) -> Path:
    path = folder / f"{name}.onnx"
    onnx.save(MODELS[name](), path)
    sizes = [f"--dim={n}={least}..{most}" for n, (least, most) in SIZES[name].items()]
    return compile_site(path, folder, "--targets", backend, "--report", str(folder / "report.json"), *sizes)


@pytest.mark.parametrize("name", MODELS)
def test_any_size_and_any_way(page: Page, tmp_path: Path, name: str) -> None:
    """Backends take turns: every target runs all of them in Python."""
    backend = BACKENDS[(list(MODELS).index(name) + (browser_name(page) == "firefox")) % len(BACKENDS)]
    given = [feeds(name, rows, seed) for rows, seed in RUNS]
    with serve(site_of(name, tmp_path, backend)) as site:
        open_bundle(page, site, "bundle", backend)
        answer = value(page, RUN, {"backend": backend, "runs": [as_data(run) for run in given]})
    assert answer["backend"] == backend
    made = MODELS[name]()
    for run, found in zip(given, answer["found"], strict=True):
        expected = results(made, run)
        assert_close(as_arrays(found, expected), expected, 1e-4)


@pytest.mark.parametrize("backend", BACKENDS)
def test_sizes_are_checked_and_runs_of_any_size_take_no_memory(page: Page, tmp_path: Path, backend: str) -> None:
    wrong = [
        feeds("loop_times", MOST_ROWS + 1),
        feeds("loop_times", 2) | {"times": np.array(9, np.int64)},
        {"x": np.zeros((2, WIDTH + 1), np.float32), "times": np.array(1, np.int64)},
    ]
    given = {"backend": backend, "wrong": [as_data(run) for run in wrong], "most": MOST_ROWS, "width": WIDTH}
    with serve(site_of("loop_times", tmp_path, backend)) as site:
        open_bundle(page, site, "bundle", backend)
        facts = value(page, FACTS, given)
        heap = measure_heap(page)
        value(page, "return again(20);")
        before = heap()
        after_runs = value(page, f"return again({OFTEN[backend]});")
        grown = heap() - before
    assert facts["dimensions"] == [
        {"name": "rows", "least": 1, "most": MOST_ROWS, "multiple": 1},
        {"name": "times", "least": 0, "most": 5, "multiple": 1, "input": "times"},
    ]
    assert facts["inputs"] == [["rows", WIDTH], []]
    assert facts["shapes"] == {"x": [3, WIDTH], "times": []}
    for message, part in zip(
        facts["refused"],
        (
            f"makes rows {MOST_ROWS + 1}, and the model was compiled for 1 to {MOST_ROWS}",
            "makes times 9, and the model was compiled for 0 to 5",
            f'input "x": expected a Float32Array (float32, shape [rows, {WIDTH}])',
        ),
        strict=True,
    ):
        assert message.startswith("RangeError: ")
        assert part in message
    target = json.loads((tmp_path / "report.json").read_text())["targets"][backend]["bytes"]
    planned = target["memory" if backend == "wasm" else "device"]
    assert abs(facts["memoryBytes"] - planned) <= 0.05 * planned
    assert after_runs == facts["memoryBytes"]
    assert grown < 100_000


REFUSED = """
    (float[2, n] x, int64 sr) => (float[2, 4] y) <int64 rate = {16000}> {
      c = Equal(sr, rate)
      y = If(c) <
        then_branch = t () => (float[2, 4] u) { u = MatMul(x, wide) },
        else_branch = e () => (float[2, 4] v) { v = MatMul(x, narrow) }
      >
    }"""

TRY_BOTH = """
  const model = await bundle.load({ backend: argument.backend, warmup: true });
  const x = new Float32Array(16).fill(1);
  const told = [];
  for (const sr of [16000n, 8000n, 16000n]) {
    const run = model.run({ x, sr: BigInt64Array.of(sr) });
    told.push(await run.then(({ y }) => [...y], ({ name, code, message }) => [name, code, message]));
  }
  return told;
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_branch_that_does_not_fit_is_an_error_of_its_runs(page: Page, tmp_path: Path, backend: str) -> None:
    made = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 18]> g {REFUSED}')
    weights = {"wide": np.ones((8, 4), np.float32), "narrow": np.ones((4, 4), np.float32)}
    made.graph.initializer.extend(onnx.numpy_helper.from_array(a, n) for n, a in weights.items())
    onnx.save(made, tmp_path / "rates.onnx")
    with serve(compile_site(tmp_path / "rates.onnx", tmp_path, "--targets", backend, "--dim", "n=8")) as site:
        open_bundle(page, site, "bundle", backend)
        first, refused, last = value(page, TRY_BOTH, {"backend": backend})
    assert first == last == [8] * 8
    assert refused[:2] == ["RunError", "refused"]
    assert "this run takes its else_branch, which does not fit" in refused[2]


LONGER = """
    (float[n] x, int64 m) => (float y) <int64[1] k = {5}, bool yes = {1}, float zero = {0}> {
      y = Loop(m, yes, zero) <body = b (int64 t, bool c, float s) => (bool d, float u) {
        d = Identity(c)
        v, i = TopK(x, k)
        p = ReduceSum <keepdims = 0> (v)
        u = Add(s, p)
      }>
    }"""

TRY_SIZES = """
  const model = await bundle.load({ backend: argument.backend });
  const told = [];
  for (const [n, m] of [[6, 3], [4, 3], [4, 0], [5, 1]]) {
    const run = model.run({ x: new Float32Array(n).fill(1), m: BigInt64Array.of(BigInt(m)) });
    told.push(await run.then(({ y }) => y[0], ({ name, code, message }) => [name, code, message]));
  }
  return told;
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_size_that_does_not_fit_in_a_loop_is_an_error_of_its_runs(page: Page, tmp_path: Path, backend: str) -> None:
    """An iteration that asks for more elements than there are; runs without one have a result."""
    made = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 18]> g {LONGER}')
    onnx.save(made, tmp_path / "longer.onnx")
    with serve(compile_site(tmp_path / "longer.onnx", tmp_path, "--targets", backend, "--dim", "n=1..8")) as site:
        open_bundle(page, site, "bundle", backend)
        first, refused, none, last = value(page, TRY_SIZES, {"backend": backend})
    assert (first, none, last) == (15, 0, 5)
    assert refused[:2] == ["RunError", "refused"]
    assert "axis 0 of extent n is shorter than its k, 5 in this run" in refused[2]
