"""Sessions of a model with states in a page: in its worker, by messages and by shared memory, on several threads and on
the page's own; memory is as planned."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from compiled import compile_site
from decoders.tiny import DIMS, WORDS, Passed, sentences, tiny_decoder
from devices import value
from harness import measure_heap, open_page
from played_sessions import INTERLEAVED, KEPT, OPEN, STEPS, WINDOWED, check_interleaved, check_kept, check_windowed
from playwright.sync_api import Page
from server import ISOLATION, Site, serve
from windowed_decoder import OPTIONS, SMALL
from windowed_decoder import sentence as long_sentence

MOST = DIMS["past"][1]
SIZES = [f"--dim={name}={size if isinstance(size, int) else '{}..{}'.format(*size)}" for name, size in DIMS.items()]
WASM = {"backend": "wasm"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("sessions")
    onnx.save(tiny_decoder(), made / "tiny.onnx")
    report = made / "site" / "report.json"
    return compile_site(made / "tiny.onnx", made / "site", *SIZES, "--targets", "wasm", "--report", str(report))


@pytest.fixture(params=[False, True], ids=["plain", "isolated"])
def served(folder: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    with serve(folder, headers=ISOLATION if request.param else {}) as site:
        yield site


def test_eight_sessions_in_turns(page: Page, served: Site) -> None:
    open_page(page, served)
    each = sentences(8, 25)
    found = value(page, INTERLEAVED, {"options": {**WASM, "threads": 2}, "sentences": each})
    check_interleaved(found, tiny_decoder(), each)


@pytest.mark.parametrize("worker", [True, False])
def test_states_are_saved_forked_rewound_and_full(page: Page, served: Site, worker: bool) -> None:
    open_page(page, served)
    check_kept(value(page, KEPT, {"options": {**WASM, "worker": worker}}), tiny_decoder(), MOST)


def test_a_sequence_goes_on_with_the_newest_rows(page: Page, tmp_path: Path) -> None:
    """In a worker that listens at shared memory."""
    onnx.save(SMALL, tmp_path / "small.onnx")
    folder = compile_site(tmp_path / "small.onnx", tmp_path / "site", *OPTIONS, "--targets", "wasm")
    runs = long_sentence()
    with serve(folder, headers=ISOLATION) as site:
        open_page(page, site)
        check_windowed(value(page, WINDOWED, {"options": WASM, "runs": runs, "save": 9}), runs, 9)


def test_an_aborted_run_counts_once_or_not_at_all(page: Page, served: Site) -> None:
    """Whichever the position says: what follows is right."""
    open_page(page, served)
    script = (
        OPEN
        + """
      const lines = [];
      for (let i = 0; i < 12; i++) {
        await model.reset();
        const kept = [];
        const controller = new AbortController();
        for (const ids of [[1, 2], [3], [4, 5, 6]]) {
          const before = model.position;
          const { signal } = controller;
          const running = say(model, ids, { signal }).then(() => true, ({ name }) => name);
          const late = i % 3 === 1 ? running : Promise.resolve();
          if (i % 3 === 2 && ids.length === 3) controller.abort(); // under way, or not even begun
          if (i % 3 === 1 && ids.length === 1) {
            await late;
            controller.abort();
          }
          await running;
          if (model.position > before) kept.push(ids);
        }
        lines.push({ kept, logits: Array.from(await say(model, [7])), position: model.position });
      }
      return lines;
    """
    )
    for line in value(page, script, {"options": WASM}):
        passed = Passed.of(tiny_decoder())
        for ids in line["kept"]:
            passed.run(ids)
        assert line["position"] == sum(map(len, line["kept"])) + 1
        np.testing.assert_allclose(np.reshape(line["logits"], (1, WORDS)), passed.run([7]), rtol=2e-4, atol=2e-4)


@pytest.mark.fresh_page
def test_two_thousand_steps_leave_the_heap_flat(page: Page, folder: Path) -> None:
    with serve(folder) as site:
        open_page(page, site)
        given = {"options": {**WASM, "worker": False}, "most": MOST, "words": WORDS}
        loaded = value(page, STEPS, given)
        heap = measure_heap(page)
        value(page, "return steps(50);")
        before = heap()
        value(page, "return steps(2000);")
        grown, after = heap() - before, value(page, "return model.info().memoryBytes;")
    planned = json.loads((folder / "report.json").read_text())["targets"]["wasm"]["bytes"]["memory"]
    state = -(-json.loads((folder / "report.json").read_text())["states"]["bytes"] // 65536) * 65536
    assert loaded == after == planned + state  # of one session more
    assert grown < 200_000  # the logits alone come to 296 kB


def set_number(page: Page, label: str, number: int) -> None:
    """`fill` leaves what Firefox has in a field of a number."""
    page.get_by_label(label).evaluate("(field, number) => { field.value = number; }", str(number))


def test_the_bundles_page_shows_the_position_and_resets_it(page: Page, folder: Path) -> None:
    with serve(folder) as site:
        page.goto(site.url + "bundle/index.html")
        page.get_by_text("Ready, on wasm").wait_for()
        shown = page.locator("#position")
        assert shown.text_content() == "0"
        assert page.get_by_label("past", exact=True).count() == 0
        assert page.locator("#inputs tr").count() == 1
        set_number(page, "seq", 2)
        set_number(page, "Runs", 3)
        page.get_by_role("button", name="Run", exact=True).click()
        page.get_by_text("Done, on wasm").wait_for()
        assert shown.text_content() == "6"
        page.get_by_role("button", name="Reset").click()
        page.wait_for_function("document.querySelector('#position').textContent === '0'")
        set_number(page, "Runs", 100)
        page.get_by_role("button", name="Run", exact=True).click()
        page.get_by_text("StateFullError: the state is full").wait_for()
