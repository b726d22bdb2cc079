"""A model loads and runs, in a worker and without one, wherever the page is, and says truly how."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from harness import RUN, hide_relaxed_simd, open_page, outcome, run_in_worker
from playwright.sync_api import Page
from server import STRICT_CSP, Site, serve
from tiny_artifact import tiny_weights

VALUES = np.random.default_rng(1).integers(-9, 10, 1024).astype(np.float32)
EXPECTED = np.maximum(VALUES * tiny_weights(1024)[0] + tiny_weights(1024)[1], 0)


@pytest.mark.parametrize("worker", [True, False])
def test_result_and_info(page: Page, site: Site, worker: bool) -> None:
    open_page(page, site)
    result = outcome(page, RUN, {"options": {"worker": worker}, "values": VALUES.tolist()})["value"]
    assert result["output"] == EXPECTED.tolist()
    assert result["kind"] == "Float32Array"
    assert result["info"] == {
        "name": "tiny",
        "backend": "wasm",
        "passedOver": [],
        "variant": "relaxed",
        "precision": "f32",
        "threads": 1,
        "threadsReason": "one was asked for",
        "worker": worker,
        "workerReason": "as asked for",
        "integrity": "sha256",
        "weightBytes": 8192,
        "weightTypes": {"float32": 8192},
        "preparedBytes": 0,
        "arenaBytes": 8192,
        "memoryBytes": 65536,
        "kernels": 1,
        "products": {"float32 and float32 in float32": 1},
        "abi": 5,
    }


def test_model_describes_itself(page: Page, site: Site) -> None:
    open_page(page, site)
    script = "const m = await bundle.load(); return [m.backend, m.inputs, m.outputs]"
    assert outcome(page, script)["value"] == [
        "wasm",
        [{"name": "input", "dtype": "float32", "shape": [1, 1024]}],
        [{"name": "output", "dtype": "float32", "shape": [1, 1024]}],
    ]


def test_more_threads_run_as_one_and_info_says_why(page: Page, site: Site) -> None:
    open_page(page, site)
    infos = outcome(
        page, "return [(await bundle.load({threads: 4})).info(), (await bundle.load({threads: 'auto'})).info()]"
    )
    for info in infos["value"]:
        assert info["threads"] == 1
        assert info["threadsReason"] == "no loop of this model is worth more than one thread"


@pytest.mark.parametrize("worker", [True, False])
def test_without_relaxed_simd_the_plain_variant_runs(page: Page, site: Site, worker: bool) -> None:
    open_page(page, site)
    hide_relaxed_simd(page)
    result = outcome(page, RUN, {"options": {"worker": worker}, "values": VALUES.tolist()})["value"]
    assert result["info"]["variant"] == "plain"
    assert result["output"] == EXPECTED.tolist()
    assert not any("relaxed-" in path for path in site.requests)


def test_under_a_sub_path(page: Page, tiny_folder: Path) -> None:
    with serve(tiny_folder, prefix="some/where") as site:
        open_page(page, site)
        result = outcome(page, RUN, {"options": {}, "values": VALUES.tolist()})["value"]
        assert result["output"] == EXPECTED.tolist()
        assert all(path.startswith("/some/where/") for path in site.requests if path != "/favicon.ico")


def test_a_worker_by_default(page: Page, site: Site) -> None:
    open_page(page, site)
    page.evaluate("""() => {
      globalThis.workers = 0;
      const Own = Worker;
      globalThis.Worker = function (...given) { workers++; return new Own(...given); };
    }""")
    result = outcome(page, RUN, {"options": {}, "values": VALUES.tolist()})["value"]
    assert (result["output"], result["info"]["worker"]) == (EXPECTED.tolist(), True)
    assert page.evaluate("workers") == 1


@pytest.mark.parametrize("options", [{}, {"worker": False}, {"worker": True}], ids=["default", "inline", "worker"])
def test_inside_a_worker_of_the_page(page: Page, site: Site, options: dict[str, bool]) -> None:
    """There no other worker is started unless asked for."""
    open_page(page, site)
    answer = run_in_worker(page, options, {"input": VALUES.tolist()})
    worker = options.get("worker", False)
    assert answer["outputs"] == {"output": EXPECTED.tolist()}
    assert (answer["info"]["worker"], answer["workers"]) == (worker, int(worker))


def test_inline_where_there_are_no_workers(page: Page, site: Site) -> None:
    open_page(page, site)
    page.evaluate("() => { delete globalThis.Worker }")
    result = outcome(page, RUN, {"options": {}, "values": VALUES.tolist()})["value"]
    assert result["info"]["worker"] is False
    assert result["output"] == EXPECTED.tolist()


def test_own_page_under_a_strict_csp(page: Page, tiny_folder: Path) -> None:
    logs: list[str] = []
    page.on("console", lambda message: logs.append(message.text))
    with serve(tiny_folder / "bundle", headers={"Content-Security-Policy": STRICT_CSP}) as site:
        page.goto(site.url)
        page.get_by_text("Ready, on wasm.").wait_for()
        assert page.locator("#inputs").inner_text().split() == ["input", "float32", "[1,", "1024]"]
        page.select_option("#fill", "zeros")
        page.click("#run")
        page.get_by_text("Done, on wasm.").wait_for()
        bias = np.maximum(tiny_weights(1024)[1], 0)
        shown = page.locator("#outputs td").inner_text().splitlines()
        assert shown[1] == ", ".join(f"{value:g}" for value in bias[:10]) + ", …"
        assert shown[2] == f"largest: {bias.max():g} at {bias.argmax()}"
        assert "median of 10" in page.locator("#times").inner_text()
        facts = page.locator("#info").inner_text()
        assert "threads reason\tone was asked for" in facts
        assert "arena bytes\t8,192" in facts
    assert [line for line in logs if "Content" in line] == []


def test_own_page_has_an_icon(page: Page, tiny_folder: Path) -> None:
    """The bundle has an icon, under any policy: browsers request /favicon.ico where a page names none."""
    with serve(tiny_folder / "bundle", headers={"Content-Security-Policy": STRICT_CSP}) as site:
        page.goto(site.url)
        page.get_by_text("Ready, on wasm.").wait_for()
        for _ in range(100):
            if any(path.endswith(".svg") for path in site.requests):
                break
            page.wait_for_timeout(50)
        names = [path.removeprefix("/") or "index.html" for path in site.requests]
        assert any(name.endswith(".svg") for name in names)
        assert [name for name in names if not (tiny_folder / "bundle" / name).is_file()] == []


def test_own_page_shows_a_failure(page: Page, tiny_folder: Path) -> None:
    with serve(tiny_folder / "bundle") as site:
        site.faults["weights-*.bin"] = "missing"
        page.goto(site.url)
        page.get_by_text("DownloadError: the server answered 404 for").wait_for()


@pytest.mark.parametrize("worker", [True, False])
def test_progress_reaches_the_total(page: Page, site: Site, worker: bool) -> None:
    open_page(page, site)
    script = """
      const seen = [];
      await bundle.load({ worker: argument, onProgress: (p) => seen.push(p) });
      return seen;
    """
    seen = outcome(page, script, worker)["value"]
    weights = [p for p in seen if p["phase"] == "weights"]
    assert [p["loaded"] for p in weights] == sorted(p["loaded"] for p in weights)
    assert weights[-1] == {"phase": "weights", "loaded": 8192, "total": 8192}
    assert any(p["phase"] == "code" and p["loaded"] == p["total"] for p in seen)
    assert seen[-1] == {"phase": "ready", "loaded": 8192, "total": 8192}


def test_progress_tells_of_a_half_loaded_file(page: Page, site: Site) -> None:
    open_page(page, site)
    site.faults["weights-*.bin"] = "wait"
    page.evaluate(
        """() => {
          globalThis.seen = 0;
          globalThis.loading = bundle.load({ onProgress: (p) => { if (p.phase === 'weights') seen = p.loaded; } });
        }"""
    )
    page.wait_for_function("() => seen === 3000")
    site.release.set()
    assert page.evaluate("async () => { await loading; return seen }") == 8192


def test_a_faulty_progress_function_spoils_no_load(page: Page, site: Site) -> None:
    open_page(page, site)
    with page.expect_event("pageerror") as caught:
        script = "const f = () => { throw new Error('mine') }; return (await bundle.load({onProgress: f})).backend"
        assert outcome(page, script) == {"value": "wasm"}
    assert "mine" in str(caught.value)
