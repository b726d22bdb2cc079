"""The bundle's own page as a model card: backends measured and compared, code to copy."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator

import pytest
from compiled import PAGES
from device_artifacts import tiny_device_artifact
from playwright.sync_api import ConsoleMessage, Page, expect
from server import STRICT_CSP, Site, serve
from webnn_compile.bundle import write_bundle


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("card")
    shutil.copytree(PAGES, folder, dirs_exist_ok=True)
    write_bundle(tiny_device_artifact("webgpu", "webgl", "wasm"), folder / "bundle")
    with serve(folder, headers={"Content-Security-Policy": STRICT_CSP}) as served:
        yield served


@pytest.fixture
def card(page: Page, site: Site) -> Iterator[Page]:
    """The page where it has loaded; it logs neither errors nor warnings."""
    said: list[str] = []

    def listen(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and "GPU" not in message.text:
            said.append(message.text)

    page.on("console", listen)
    site.requests.clear()
    page.goto(f"{site.url}bundle/index.html")
    expect(page.get_by_role("status")).to_have_text(re.compile("^Ready"))
    yield page
    page.remove_listener("console", listen)
    page.goto("about:blank")
    assert said == []


def test_backends_are_measured_one_after_the_other(card: Page, site: Site) -> None:
    """By keyboard. Without WebGPU its row says why. The model of this test computes something else on GPUs."""
    assert sum("weights-" in path for path in site.requests) == 1
    row = card.locator("#measured tr")
    expect(row).to_have_count(3)
    card.evaluate(
        "() => { globalThis.Worker = undefined; Object.defineProperty(navigator, 'gpu', { value: undefined }); }"
    )
    card.get_by_label("Repetitions").evaluate("(field) => { field.value = 4; }")
    card.get_by_role("button", name="Measure").press("Enter")
    expect(card.get_by_role("status")).to_have_text("Measured; not possible here: webgpu.")
    expect(row.filter(has_text="webgpu").locator(".error")).to_contain_text("UnsupportedError: ")
    wasm, webgl = (row.filter(has=card.get_by_role("rowheader", name=name, exact=True)) for name in ("wasm", "webgl"))
    expect(wasm).to_contain_text(re.compile(r"median [\d.]+ ms, 95% within [\d.]+ ms, 4 times, from "))
    expect(wasm).to_contain_text("SIMD, 1 thread")
    expect(wasm).not_to_contain_text("difference")
    expect(wasm.locator(".histogram span")).to_have_count(16)
    expect(webgl).to_contain_text(re.compile(r"largest difference from wasm: 0\.\d+ of the largest value"))
    card.get_by_role("button", name="Run").click()
    expect(card.get_by_role("status")).to_have_text(re.compile("^Done"))
    assert card.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_measuring_stops(card: Page) -> None:
    card.get_by_label("Backend").select_option("wasm")
    # It would never end.
    card.evaluate("() => { performance.now = () => 0; document.getElementById('repeats').max = ''; }")
    card.get_by_label("Repetitions").evaluate("(field) => { field.value = 1e9; }")
    card.get_by_role("button", name="Measure").click()
    expect(card.get_by_role("button", name="Run")).to_be_disabled()
    card.get_by_role("button", name="Stop").click()
    expect(card.get_by_role("status")).to_have_text("Stopped.")
    expect(card.get_by_role("button", name="Measure")).to_be_visible()
    expect(card.get_by_role("button", name="Run")).to_be_enabled()


def test_code_is_copied_or_selected(card: Page) -> None:
    copy = """(works) => Object.defineProperty(navigator, 'clipboard', {
      configurable: true,
      value: { writeText: async (text) => {
        if (!works) throw new Error('no');
        globalThis.copied = text;
      } },
    })"""
    card.evaluate(copy, True)
    card.get_by_role("button", name="Copy: React").click()
    expect(card.get_by_role("status")).to_have_text("Copied: React.")
    assert "\n  input: new Float32Array(" in card.evaluate("copied")
    card.evaluate(copy, False)
    card.get_by_role("button", name="Copy: Plain page").click()
    expect(card.get_by_role("status")).to_have_text("This page may not copy: the code is selected.")
    assert card.evaluate("getSelection().toString()").startswith('<script type="module">')
