"""On a page that is cross-origin isolated, runs one after the other take no messages; all else goes on working."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from compiled import compile_site
from control_flow import MODELS, SIZES
from harness import BEFORE_WORKERS, open_page, outcome
from parallel_site import INPUT, compile_parallel_site
from playwright.sync_api import Page
from server import ISOLATION, Site, serve
from tiny_artifact import tiny_weights

PATIENT = (
    BEFORE_WORKERS % "() => { const { wait } = Atomics; Atomics.wait = (...given) => wait(...given.slice(0, 3)); }"
)
"""Workers listen until they are woken, however long this page takes between two runs."""

WATCH = """
  let messages = 0;
  let control;
  globalThis.Worker = class extends Worker {
    constructor(...given) {
      super(...given);
      this.addEventListener('message', ({ data }) => { control ??= data.mailbox?.control; });
    }
    postMessage(...given) {
      messages++;
      return super.postMessage(...given);
    }
  };
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const until = async (state) => { while (Atomics.load(control, 0) !== state) await pause(0); };
  // A worker that has just answered a message has yet to begin to listen.
  const untilSettled = async (state) => {
    for (let since = performance.now(); performance.now() - since < 500; await pause(10)) {
      if (Atomics.load(control, 0) !== state) since = performance.now();
    }
  };
  const [away, listening] = [0, 1];
"""
"""Counts messages to the worker, and waits for a state of its mailbox."""

LOAD = (
    WATCH
    + """
  const fill = (value) => new Float32Array(1024).fill(value);
  const model = await bundle.load();
  const run = async (value) => (await model.run({ input: fill(value) })).output;
"""
)


@pytest.fixture
def isolated(tiny_folder: Path) -> Iterator[Site]:
    with serve(tiny_folder, headers=ISOLATION) as served:
        yield served


def first(value: float) -> float:
    """The first element of what the model makes of an input of equal elements."""
    weight, bias = tiny_weights(1024)[:, 0].tolist()
    return float(max(0, value * weight + bias))


def test_runs_in_a_row_take_no_messages(page: Page, isolated: Site) -> None:
    open_page(page, isolated)
    page.evaluate(PATIENT)
    script = """
      await run(0);
      messages = 0;
      const outputs = [];
      for (let i = 1; i <= 50; i++) {
        await until(listening);
        outputs.push(await run(i));
      }
      return {
        first: outputs.map((output) => output[0]),
        kinds: [...new Set(outputs.map(({ buffer }) => buffer.constructor.name))],
        messages,
      };
    """
    result = outcome(page, LOAD + script)["value"]
    assert result["first"] == [first(i) for i in range(1, 51)]
    assert result["kinds"] == ["ArrayBuffer"]
    assert result["messages"] == 0


def test_after_a_pause_a_message_calls_the_worker(page: Page, isolated: Site) -> None:
    open_page(page, isolated)
    script = """
      const outputs = [await run(1)];
      for (const ms of [90, 100, 110]) {
        await pause(ms);
        outputs.push(await run(ms));
      }
      await untilSettled(away);
      messages = 0;
      outputs.push(await run(400));
      return { first: outputs.map((output) => output[0]), messages };
    """
    result = outcome(page, LOAD + script)["value"]
    assert result["first"] == [first(x) for x in (1, 90, 100, 110, 400)]
    assert result["messages"] == 1


@pytest.mark.parametrize("threads", [1, 2])
def test_profiles_and_queues_between_runs(page: Page, tmp_path_factory: pytest.TempPathFactory, threads: int) -> None:
    """Whatever takes a message is answered at once, though the worker listened, and in its turn."""
    script = (
        INPUT
        + """
      const model = await bundle.load({ backend: 'wasm', threads: argument });
      const x = (factor) => ({ x: input.x.map((value) => value * factor) });
      const sum = ({ y }) => y.reduce((total, value) => total + value, 0);
      const alone = [];
      for (let i = 0; i < 4; i++) alone.push(sum(await model.run(x(i))));
      const rounds = [];
      for (let round = 0; round < 5; round++) {
        const before = sum(await model.run(x(0)));
        const profiles = [model.profile(x(1)), model.profile(x(2))];
        const queued = await Promise.all([1, 2, 3].map((i) => model.run(x(i))));
        const lengths = (await Promise.all(profiles)).map((steps) => steps.length);
        rounds.push({ sums: [before, ...queued.map(sum)], lengths });
      }
      return { alone, rounds, kernels: model.info().kernels };
    """
    )
    with serve(compile_parallel_site(tmp_path_factory.mktemp("mailbox")), headers=ISOLATION) as isolated:
        open_page(page, isolated)
        result = outcome(page, script, threads)["value"]
    assert len(set(result["alone"])) == 4
    for round_ in result["rounds"]:
        assert round_ == {"sums": result["alone"], "lengths": [result["kernels"]] * 2}


def test_a_trap_is_told_and_the_rest_rejects(page: Page, isolated: Site) -> None:
    open_page(page, isolated)
    script = """
      await run(1);
      await run(1);
      const results = [];
      for (const value of [NaN, 1, 1]) results.push(await outcome(run(value)));
      return results;
    """
    for result in outcome(page, LOAD + script)["value"]:
        assert (result["name"], result["code"]) == ("RunError", "trap")


def test_a_listening_worker_is_disposed_of(page: Page, isolated: Site) -> None:
    open_page(page, isolated)
    script = """
      await run(1);
      await model.dispose();
      const other = await bundle.load();
      const again = (await other.run({ input: fill(3) })).output[0];
      return [await outcome(run(1)), again];
    """
    rejected, again = outcome(page, LOAD + script)["value"]
    assert (rejected["name"], rejected["code"]) == ("RunError", "disposed")
    assert again == first(3)


def test_sizes_that_vary_and_arrays_of_the_callers(page: Page, tmp_path: Path) -> None:
    """Results equal the ones without a worker, larger and smaller in turns, by no messages; what does not fit
    rejects."""
    onnx.save(MODELS["branch_of_sizes"](), tmp_path / "model.onnx")
    sizes = [f"--dim={n}={least}..{most}" for n, (least, most) in SIZES["branch_of_sizes"].items()]
    script = """
      const [model, here] = [await bundle.load(), await bundle.load({ worker: false })];
      const given = (rows, seed) => ({
        x: { data: Float32Array.from({ length: 4 * rows }, (_, i) => Math.sin(i + seed)), shape: [rows, 4] },
        keep: Uint8Array.of(1, seed % 2, 1, seed % 3 ? 1 : 0),
        choose: Uint8Array.of(seed % 2),
      });
      const plain = (outputs) => Object.values(outputs).map((array) => [array.shape, ...array]);
      const room = () => new Float32Array(1000);
      const into = { of_y: room(), z: room(), of_z: room() };
      const right = [];
      const views = [];
      await model.run(given(1, 0));
      messages = 0;
      for (let i = 0; i < 40; i++) {
        const inputs = given(1 + ((7 * i) % 24), i);
        const expected = JSON.stringify(plain(await here.run(inputs)));
        await until(listening);
        const results = await model.run(inputs, i % 3 ? { into } : {});
        right.push(JSON.stringify(plain(results)) === expected);
        views.push(Object.entries(results).every(([name, { buffer }]) => (buffer === into[name].buffer) === i % 3 > 0));
      }
      const posted = messages;
      const short = { z: new Float32Array(3) };
      const refused = [await outcome(model.run(given(24, 1), { into: short }))];
      await model.run(given(24, 1));
      refused.push(await outcome(model.run(given(24, 1), { into: short })));
      refused.push(await outcome(here.run(given(24, 1), { into: short })));
      const both = [await model.run(given(3, 2)), await here.run(given(3, 2))];
      const small = both.map((all) => JSON.stringify(plain(all)));
      return { right, views, posted, refused, small };
    """
    site = compile_site(tmp_path / "model.onnx", tmp_path, "--targets", "wasm", *sizes)
    with serve(site, headers=ISOLATION) as isolated:
        open_page(page, isolated)
        page.evaluate(PATIENT)
        result = outcome(page, WATCH + script)["value"]
    assert all(result["right"])
    assert all(result["views"])
    assert result["small"][0] == result["small"][1]
    assert result["posted"] == 0
    for refused in result["refused"]:
        assert refused["name"] == "RangeError"
        assert refused["message"] == 'into: output "z" has 192 elements, and the array has room for 3'
