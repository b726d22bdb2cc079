"""Calls queue, the page stays responsive, disposing ends all, a thousand runs leave nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import browser_name, measure_heap, open_page, outcome
from playwright.sync_api import Page
from server import ISOLATION, Site, serve
from tiny_artifact import SLOW, tiny_weights


@pytest.fixture(params=["messages", "shared memory"])
def site(tiny_folder: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    """Page and worker talk by messages, or, where the page is cross-origin isolated, by shared memory, too."""
    with serve(tiny_folder, headers=ISOLATION if request.param == "shared memory" else None) as served:
        yield served


FIRST = """
  const fill = (value) => new Float32Array(1024).fill(value);
"""


@pytest.mark.parametrize("worker", [True, False])
def test_concurrent_runs_queue_and_do_not_mix(page: Page, site: Site, worker: bool) -> None:
    open_page(page, site)
    script = (
        FIRST
        + """
      const model = await bundle.load({ worker: argument });
      const done = [];
      const results = await Promise.all([3, 1, 4, 1, 5, 9, 2, 6].map(async (value) => {
        const { output } = await model.run({ input: fill(value) });
        done.push(value);
        return output[0];
      }));
      return { done, results };
    """
    )
    result = outcome(page, script, worker)["value"]
    w, b = tiny_weights(1024)[:, 0].tolist()
    assert result["done"] == [3, 1, 4, 1, 5, 9, 2, 6]
    assert result["results"] == [max(0, x * w + b) for x in (3, 1, 4, 1, 5, 9, 2, 6)]


@pytest.mark.parametrize("worker", [True, False])
def test_inputs_are_taken_at_the_call_and_left_alone(page: Page, site: Site, worker: bool) -> None:
    open_page(page, site)
    script = (
        FIRST
        + """
      const model = await bundle.load({ worker: argument });
      const whole = new Float32Array(3000).fill(2);
      const input = whole.subarray(100, 1124);
      const running = model.run({ input });
      whole.fill(100);
      const a = (await running).output;
      const b = (await model.run({ input: fill(2) })).output;
      a.fill(0);  // the caller's own: the next result must not change
      const c = (await model.run({ input: fill(2) })).output;
      return { same: b.every((value, i) => value === c[i]), first: b[0], length: whole.length };
    """
    )
    w, b = tiny_weights(1024)[:, 0].tolist()
    assert outcome(page, script, worker)["value"] == {"same": True, "first": max(0, 2 * w + b), "length": 3000}


def test_input_changed_after_the_call_has_no_effect(page: Page, site: Site) -> None:
    open_page(page, site)
    script = (
        FIRST
        + """
      const model = await bundle.load();
      const input = fill(2);
      const slow = fill(1);
      slow[0] = argument;
      const before = model.run({ input: slow });
      const running = model.run({ input });
      input.fill(100);
      await before;
      return (await running).output[0];
    """
    )
    w, b = tiny_weights(1024)[:, 0].tolist()
    assert outcome(page, script, SLOW)["value"] == max(0, 2 * w + b)


def test_page_stays_responsive_during_a_run(page: Page, site: Site) -> None:
    open_page(page, site)
    script = (
        FIRST
        + """
      const model = await bundle.load();
      const input = fill(1);
      input[0] = argument;
      let turns = 0;
      let running = true;
      const turn = () => { if (running) { turns++; setTimeout(turn); } };
      turn();
      await model.run({ input });
      running = false;
      return turns;
    """
    )
    assert outcome(page, script, SLOW)["value"] > 5


@pytest.mark.parametrize("worker", [True, False])
def test_run_after_dispose_rejects(page: Page, site: Site, worker: bool) -> None:
    open_page(page, site)
    script = (
        FIRST
        + """
      const model = await bundle.load({ worker: argument });
      await model.dispose();
      await model.dispose();
      return model.run({ input: fill(1) });
    """
    )
    assert outcome(page, script, worker) == {
        "name": "RunError",
        "code": "disposed",
        "message": "the model was disposed of",
    }


def test_dispose_rejects_pending_runs(page: Page, site: Site) -> None:
    open_page(page, site)
    script = (
        FIRST
        + """
      const model = await bundle.load();
      const input = fill(1);
      input[0] = argument;
      const pending = [outcome(model.run({ input })), outcome(model.run({ input }))];
      await model.dispose();
      return Promise.all(pending);
    """
    )
    results = outcome(page, script, SLOW)["value"]
    assert [(r["name"], r["code"]) for r in results] == [("RunError", "disposed")] * 2


def test_two_models_do_not_disturb_each_other(page: Page, site: Site) -> None:
    open_page(page, site)
    script = (
        FIRST
        + """
      const [a, b] = await Promise.all([bundle.load(), bundle.load({ worker: false })]);
      await a.dispose();
      return (await b.run({ input: fill(1) })).output.length;
    """
    )
    assert outcome(page, script)["value"] == 1024


@pytest.mark.parametrize("worker", [True, False])
@pytest.mark.fresh_page
def test_a_thousand_runs_leave_memory_flat(page: Page, site: Site, worker: bool) -> None:
    """The wasm memory cannot grow; the page's heap is measured where the browser tells it (Chromium)."""
    open_page(page, site)
    page.evaluate(
        """async (worker) => {
          const Memory = WebAssembly.Memory;
          globalThis.memories = [];
          WebAssembly.Memory = function (size) {
            const memory = new Memory(size);
            memories.push(memory);
            return memory;
          };
          globalThis.model = await bundle.load({ worker });
          globalThis.input = new Float32Array(1024).fill(1);
          globalThis.runs = async (n) => {
            for (let i = 0; i < n; i++) await model.run({ input });
            return memories.map((memory) => memory.buffer.byteLength);
          };
        }""",
        worker,
    )
    heap = measure_heap(page)
    expected = [] if worker else [65536]
    assert page.evaluate("runs(1000)") == expected  # code that they compile stays, some 100 kB
    before = heap()
    assert page.evaluate("runs(1000)") == expected
    assert heap() - before < 100_000  # the outputs alone come to 4 MB


@pytest.mark.fresh_page
def test_who_holds_a_model_that_is_disposed_of_holds_no_memory(page: Page, site: Site) -> None:
    if browser_name(page) != "chromium":
        pytest.skip("only Chromium collects garbage when it is told to")
    open_page(page, site)
    script = """
      const { Memory } = WebAssembly;
      WebAssembly.Memory = function (size) {
        const memory = new Memory(size);
        globalThis.memory = new WeakRef(memory);
        return memory;
      };
      globalThis.model = await bundle.load({ worker: false });
      await model.run({ input: new Float32Array(1024) });
    """
    assert outcome(page, script) == {"value": None}
    collect = measure_heap(page)
    collect()
    assert page.evaluate("memory.deref() !== undefined")
    page.evaluate("model.dispose()")
    collect()
    assert page.evaluate("memory.deref() === undefined")
