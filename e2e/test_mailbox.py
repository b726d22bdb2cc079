"""On a page that is cross-origin isolated, runs one after the other take no messages; all else goes on working."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import open_page, outcome
from parallel_site import INPUT, compile_parallel_site
from playwright.sync_api import Page
from server import ISOLATION, Site, serve
from tiny_artifact import tiny_weights

LOAD = """
  const fill = (value) => new Float32Array(1024).fill(value);
  const { postMessage } = Worker.prototype;
  let messages = 0;
  Worker.prototype.postMessage = function (...given) {
    messages++;
    return postMessage.apply(this, given);
  };
  const model = await bundle.load();
  const run = async (value) => (await model.run({ input: fill(value) })).output;
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
"""


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
    script = """
      await run(0);
      messages = 0;
      const outputs = [];
      for (let i = 1; i <= 50; i++) outputs.push(await run(i));
      return {
        first: outputs.map((output) => output[0]),
        kinds: [...new Set(outputs.map(({ buffer }) => buffer.constructor.name))],
        messages,
      };
    """
    result = outcome(page, LOAD + script)["value"]
    assert result["first"] == [first(i) for i in range(1, 51)]
    assert result["kinds"] == ["ArrayBuffer"]
    # Now and then this page is held up for so long that the worker no longer listens.
    assert result["messages"] < 25


def test_after_a_pause_a_message_calls_the_worker(page: Page, isolated: Site) -> None:
    open_page(page, isolated)
    script = """
      const outputs = [await run(1)];
      messages = 0;
      for (const ms of [90, 100, 110, 400]) {
        await pause(ms);
        outputs.push(await run(ms));
      }
      return { first: outputs.map((output) => output[0]), messages };
    """
    result = outcome(page, LOAD + script)["value"]
    assert result["first"] == [first(x) for x in (1, 90, 100, 110, 400)]
    assert result["messages"] >= 1


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
