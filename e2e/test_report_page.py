"""The page of a build, from disk: nothing is fetched, no error is logged, sources are unpacked, times are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from compiled import compile_site
from digits import MODEL, images
from harness import open_page
from playwright.sync_api import Page
from server import serve

TARGETS = ("--targets", "wasm", "--peak", "wasm=100,20")
PROFILE = """async (pixels) => {
  const model = await bundle.load({ backend: 'wasm', worker: false });
  const times = await model.profile({ image: Float32Array.from(pixels) });
  await model.dispose();
  return JSON.stringify(times);
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with the classifier of digits, and the page of its build."""
    made = tmp_path_factory.mktemp("report")
    compile_site(MODEL, made, *TARGETS, "--report", str(made / "report.html"))
    return made


@pytest.mark.fresh_page
def test_the_page_works_from_disk(page: Page, folder: Path) -> None:
    logged, requested = list[str](), list[str]()
    page.on("console", lambda message: logged.append(message.text))
    page.on("pageerror", lambda error: logged.append(str(error)))
    page.on("request", lambda request: requested.append(request.url))
    address = (folder / "report.html").as_uri()
    page.goto(address)
    kernels = page.locator("#wasm .kernel")
    count = kernels.count()
    assert count > 10

    page.get_by_label("Filter").fill("globalaveragepool")
    shown = kernels.locator("visible=true").count()
    assert 0 < shown < count
    assert page.locator("#wasm output").inner_text() == f"{shown} of {count} kernels"
    page.get_by_label("Filter").fill("")

    first = kernels.first.get_attribute("id")
    page.get_by_label("Order by").select_option("time")
    work = [float(k.get_attribute("data-ms") or 0) for k in kernels.all()]
    assert work == sorted(work, reverse=True)
    page.get_by_label("Order by").select_option("first use")
    assert kernels.first.get_attribute("id") == first

    kernels.nth(1).locator("summary").first.focus()
    page.keyboard.press("Enter")
    kernels.nth(1).get_by_text("Source (llvm)").click()
    page.wait_for_function(
        "() => /define /.test(document.querySelectorAll('.kernel')[1].querySelector('code').textContent)"
    )

    drawing = page.locator("#wasm > details:has(g.node)")
    drawing.locator("summary").click()
    node = drawing.locator("g.node").last
    node.dispatch_event("click")
    assert page.evaluate("document.activeElement.parentElement.id") == node.get_attribute("data-kernel")

    for width in (1200, 360):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
    assert logged == []
    assert set(requested) <= {address}, "Firefox does not list files"


def test_a_profile_of_the_bundle_gives_times(page: Page, folder: Path) -> None:
    with serve(folder) as site:
        open_page(page, site)
        profile = page.evaluate(PROFILE, images()[0])
    file = folder / "profile.json"
    file.write_text(profile)
    timed = folder / "timed.html"
    compile_site(MODEL, folder / "again", *TARGETS, "--force", "--report", str(timed), "--profile", f"wasm={file}")
    page.goto(timed.as_uri())
    total = sum(step["ms"] for step in json.loads(profile))
    assert page.locator("#summary td").last.inner_text() == f"{total:.2f} ms"
    assert page.locator("#wasm circle.measured").count() or not total
