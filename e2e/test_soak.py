"""A short run of `make soak`, and what it must find: wrong results, canaries that fail, and memory that grows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from harness import browser_name
from playwright.sync_api import Browser, Page
from server import Site, serve
from soak.__main__ import describe
from soak.play import Row, compile_models, play

MODEL = "states"
SECONDS = 4.0

SPOIL = """() => {
  const { load } = bundle;
  const kept = [];
  globalThis.bundle = {
    load: async (options) => {
      const model = await load(options);
      const { run } = model;
      let runs = 0;
      model.run = async (...given) => {
        const outputs = await run(...given);
        if (++runs > 40) (%s);
        return outputs;
      };
      return model;
    },
  };
}"""
"""Formatted with what goes wrong after a number of runs."""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("soak")
    given = compile_models((MODEL,), folder)
    with serve(folder) as site:
        yield site, given[MODEL]


@pytest.fixture
def own_page(browser: Browser) -> Iterator[Page]:
    """A page of a context of its own, in which another one can be opened."""
    context = browser.new_context()
    yield context.new_page()
    context.close()


def soaked(page: Page, compiled: tuple[Site, dict[str, Any]], backend: str, worker: bool, spoil: str = "") -> Row:
    site, given = compiled
    row = Row(MODEL, browser_name(page), backend, worker)
    found = play(page, site, row, given, SECONDS, lambda p: p.evaluate(SPOIL % spoil) if spoil else None)
    if found is None:
        pytest.skip(f"this browser has no {backend} on this machine")
    return found


@pytest.mark.parametrize(("backend", "worker"), [("wasm", False), ("wasm", True), ("webgl", False), ("webgpu", False)])
def test_all_is_right_and_flat(
    own_page: Page, compiled: tuple[Site, dict[str, Any]], backend: str, worker: bool
) -> None:
    row = soaked(own_page, compiled, backend, worker)
    assert row.failure == ""
    assert row.counts is not None
    assert row.counts["runs"] >= 12
    assert row.counts["loads"] >= 2
    assert (row.counts["losses"] > 0) == (backend != "wasm")
    assert row.counts["canaries"] >= (0 if backend == "wasm" else 2)
    assert describe(row).split()[:4] == [MODEL, browser_name(own_page), backend, "yes" if worker else "no"]


def test_a_result_that_goes_wrong_is_found(own_page: Page, compiled: tuple[Site, dict[str, Any]]) -> None:
    row = soaked(own_page, compiled, "wasm", False, "outputs.y[3] += 1")
    assert "y[3] is " in row.failure
    assert "FAILED: " in describe(row)


def test_a_canary_that_fails_is_found(own_page: Page, compiled: tuple[Site, dict[str, Any]]) -> None:
    failed = "model.info = () => ({ canaries: { failed: [{ kernel: 'multiply' }] } })"
    assert "the canary of multiply failed" in soaked(own_page, compiled, "wasm", False, failed).failure


def test_memory_that_grows_is_found(own_page: Page, compiled: tuple[Site, dict[str, Any]]) -> None:
    if browser_name(own_page) != "chromium":
        pytest.skip("only Chromium says what its heap holds")
    row = soaked(own_page, compiled, "wasm", False, "kept.push(new Float64Array(10_000))")
    assert "the heap grew from" in row.failure
