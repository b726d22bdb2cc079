"""Visits to the page that compiles models: the first, later ones without a network, and builds that do not arrive."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest
from compile_page_steps import START, dense_model, drop, wait
from digits import MODEL as DIGITS
from playwright.sync_api import Page, expect
from server import Site, serve


def test_a_second_visit_needs_no_network(opened: Page, site: Site, tmp_path: Path) -> None:
    drop(opened, dense_model(tmp_path / "before.onnx"))
    site.faults["*"] = "refuse"
    try:
        opened.goto("about:blank")
        opened.goto(site.url)
        wait(opened, "ready")
        drop(opened, dense_model(tmp_path / "after.onnx"))
    finally:
        site.faults.clear()


@pytest.mark.fresh_page
def test_large_files_are_fetched_once(page: Page, site: Site) -> None:
    site.requests.clear()
    for _ in range(2):
        page.goto(site.url)
        wait(page, "ready")
    large = [r for r in site.requests if re.search(r"\.(zip|wasm)$", r)]
    assert sorted(r.rpartition("/")[2].partition("-")[0] for r in large) == [
        "compiler",
        "pyodide.asm.wasm",
        "python_stdlib.zip",
    ]


@pytest.mark.fresh_page
def test_a_wrong_answer_is_not_kept(page: Page, site: Site) -> None:
    site.faults["compiler-*.zip"] = "html"
    try:
        page.goto(site.url)
        wait(page, "error")
        assert "is not the file that was built" in page.inner_text("#problem")
    finally:
        site.faults.clear()
    page.click("#again")
    wait(page, "ready")


def without_module(page: Path, name: str) -> None:
    """Takes a module out of the compiler's archive of a page's folder."""
    (archive,) = page.glob("compiler-*.zip")
    with zipfile.ZipFile(archive) as packed:
        entries = [(entry, packed.read(entry)) for entry in packed.infolist()]
    assert name in [entry.filename for entry, _ in entries]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for entry, data in entries:
            if entry.filename != name:
                packed.writestr(entry, data)
    data = archive.read_bytes()
    listed = json.loads((page / "files.json").read_text())
    (own,) = (file for file in listed["files"] if file["name"] == archive.name)
    own |= {"bytes": len(data), "sha256": sha256(data).hexdigest()}
    (page / "files.json").write_text(json.dumps(listed))


@pytest.mark.fresh_page
@pytest.mark.parametrize(
    ("module", "state", "problem"),
    [
        ("graph/ir", "error", "the compiler does not start: .*ModuleNotFoundError: No module named '{}'"),
        ("glsl/lower", "described", r"ModuleNotFoundError in phase 'optimise \(webgl\)': No module named '{}' \("),
    ],
)
def test_a_module_that_is_missing_is_an_error_on_the_page(
    page: Page, site_folder: Path, tmp_path: Path, module: str, state: str, problem: str
) -> None:
    """Whether the compiler's start imports it or a compilation."""
    folder = tmp_path / "site"
    shutil.copytree(site_folder, folder)
    without_module(folder, f"webnn_compile/{module}.pyc")
    with serve(folder) as own:
        page.goto(own.url)
        wait(page, "ready", "error")
        page.set_input_files("#files", str(DIGITS))
        text = re.compile(problem.format(f"webnn_compile.{module}".replace("/", ".")), re.DOTALL)
        expect(page.locator("#problem")).to_have_text(text, timeout=START)
        assert page.get_attribute("body", "data-state") == state
        page.goto("about:blank")


def test_exceptions_that_no_caller_meets_are_shown(opened: Page) -> None:
    problem = opened.locator("#problem")
    opened.evaluate("() => { Promise.reject(new Error('a rejection')); }")
    expect(problem).to_have_text("a rejection")
    opened.evaluate("() => { setTimeout(() => { throw new Error('an exception'); }); }")
    expect(problem).to_contain_text("an exception")
    opened.goto("about:blank")


@pytest.mark.fresh_page
def test_a_new_build_that_does_not_arrive_leaves_the_old_one(page: Page, site_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    for name in ("first", "second"):
        shutil.copytree(site_folder, folder / name)
    with serve(folder) as own:
        page.goto(f"{own.url}first/")
        wait(page, "ready")
        page.goto(f"{own.url}second/")
        wait(page, "ready")
        (archive,) = (folder / "first").glob("compiler-*.zip")
        text = (folder / "first" / "files.json").read_text()
        (folder / "first" / "files.json").write_text(text.replace(archive.name, "compiler-0123456789ab.zip"))
        own.faults["compiler-0123456789ab.zip"] = "break"
        page.goto(f"{own.url}first/")
        wait(page, "error")
        own.faults.clear()
        own.faults["*"] = "refuse"
        for name in ("first", "second"):
            page.goto("about:blank")
            page.goto(f"{own.url}{name}/")
            wait(page, "ready")


@pytest.mark.fresh_page
def test_where_nothing_is_kept_the_page_works_without_a_search(page: Page, site: Site, tmp_path: Path) -> None:
    page.add_init_script("Object.defineProperty(navigator, 'serviceWorker', { value: undefined });")
    page.goto(site.url)
    wait(page, "ready")
    drop(page, dense_model(tmp_path / "dense.onnx"))
    assert page.is_disabled("#tune")
    assert "isolated" in page.inner_text("#tune-note")
