"""A search in the page: the compiler's worker builds, the page measures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from devices import need_backend
from onnx_models import model as build
from onnx_models import node, random
from page_compiler import CSP, HEADERS, choose, command_line, compile_chosen, open_compiler_page
from playwright.sync_api import Page
from server import serve

TUNE = """async ({ stopAt, ...options }) => outcome((async () => {
  globalThis.compiler ??= await openCompiler();
  const seen = [];
  const stop = new AbortController();
  const onStatus = (status) => { seen.push(status); if (status.trials >= stopAt) stop.abort('stop'); };
  const tuned = await compiler.tune(chosen(), { ...options, onStatus, signal: stop.signal });
  return { ...tuned, seen };
})())"""


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two convolutions, the second by Winograd's algorithm or not."""
    weights = {"k": random((16, 3, 3, 3)), "l": random((16, 16, 3, 3), 1)}
    nodes = [
        node("Conv", ["x", "k"], ["a"], "first", pads=[1] * 4),
        node("Relu", ["a"], ["b"], "relu"),
        node("Conv", ["b", "l"], ["y"], "second", pads=[1] * 4),
    ]
    path = tmp_path_factory.mktemp("models") / "two.onnx"
    onnx.save(build(nodes, {"x": [1, 3, 24, 24]}, ["y"], weights), path)
    return path


@pytest.fixture
def opened(page: Page, site_folder: Path) -> Iterator[Page]:
    with serve(site_folder, headers=HEADERS) as site:
        open_compiler_page(page, site)
        yield page
        page.goto("about:blank")


@pytest.mark.parametrize("target", ["webgpu", "webgl"])
def test_a_search_measures_here_and_its_records_are_used(
    opened: Page, model: Path, tmp_path: Path, target: str
) -> None:
    need_backend(opened, target)
    choose(opened, model)
    ended = opened.evaluate(TUNE, {"target": target, "trials": 6, "seconds": 60, "stopAt": 1000})
    assert "value" in ended, ended
    tuned = ended["value"]
    records = [json.loads(line) for line in tuned["records"].splitlines()]
    assert {(r["target"], r["device"]) for r in records} == {(target, tuned["device"])}
    measured = [r for r in records if r["kind"] == "trial" and r.get("failure") is None]
    assert measured
    assert all(r["ms"] > 0 and r["base"] > 0 for r in measured)
    assert 0 < tuned["gain"] <= 1
    assert (tuned["gain"] < 1) == any(r["kind"] == "chosen" and r.get("whole") for r in records)
    assert tuned["seen"][-1]["phase"] == "done"
    assert tuned["trials"] == sum(r["kind"] == "trial" and r.get("failure") != "illegal" for r in records)
    path = tmp_path / "records.jsonl"
    path.write_text(tuned["records"])
    used = compile_chosen(opened, {"records": tuned["records"]}, "hashes(made.files)")
    assert used == {"value": command_line(model, tmp_path / "bundle", "--records", path)}


def test_what_was_found_is_kept_when_it_is_stopped(opened: Page, model: Path) -> None:
    need_backend(opened, "webgl")
    choose(opened, model)
    ended = opened.evaluate(TUNE, {"target": "webgl", "trials": 500, "seconds": 600, "stopAt": 1})
    assert "value" in ended, ended
    assert 1 <= ended["value"]["trials"] < 20
    assert ended["value"]["records"].count("\n") >= 1
    assert "value" in compile_chosen(opened)


@pytest.mark.parametrize(("reason", "ended"), [("stop", "resolved"), ("enough", "enough")])
def test_an_abort_while_a_search_starts_counts(opened: Page, model: Path, reason: str, ended: str) -> None:
    need_backend(opened, "webgl")
    choose(opened, model)
    found = opened.evaluate(
        """async (reason) => {
          globalThis.compiler ??= await openCompiler();
          const stop = new AbortController();
          const options = { target: 'webgl', seconds: 600, trials: 500, signal: stop.signal };
          const tuned = compiler.tune(chosen(), options).then(() => 'resolved', (error) => error);
          await null;
          stop.abort(reason);
          return tuned;
        }""",
        reason,
    )
    assert found == ended


def test_modules_of_a_search_that_do_not_arrive(page: Page, model: Path, site_folder: Path) -> None:
    with serve(site_folder, headers=HEADERS) as site:
        open_compiler_page(page, site)
        need_backend(page, "webgl")
        choose(page, model)
        site.faults["tuner-*.zip"] = "missing"
        ended = page.evaluate(TUNE, {"target": "webgl", "stopAt": 1})
        site.faults.clear()
        assert (ended["name"], ended["kind"]) == ("CompileError", "start")
        assert ended["message"].startswith("the modules of a search cannot be had: the server answered 404")
        assert "value" in page.evaluate(TUNE, {"target": "webgl", "stopAt": 1})
        page.goto("about:blank")


def test_what_a_search_needs_is_said(opened: Page) -> None:
    ended = opened.evaluate("() => openCompiler().then((own) => outcome(own.tune(new Uint8Array(1), { seconds: 1 })))")
    assert ended["message"] == "tune needs the option target: 'webgpu' or 'webgl'"


def test_a_page_that_is_not_isolated_cannot_search(page: Page, model: Path, site_folder: Path) -> None:
    with serve(site_folder, headers={"Content-Security-Policy": CSP}) as site:
        open_compiler_page(page, site)
        choose(page, model)
        ended = page.evaluate(TUNE, {"target": "webgl", "stopAt": 1})
        page.goto("about:blank")
    assert (ended["name"], ended["kind"]) == ("CompileError", "input")
    assert ended["message"] == (
        "a search needs a cross-origin isolated page: serve it with Cross-Origin-Opener-Policy: same-origin, "
        "Cross-Origin-Embedder-Policy: require-corp"
    )
