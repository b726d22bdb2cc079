"""The demo site with small models: each of its pages at work, without a message on the console and without a request
to elsewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
import webnn_compile
from check_pages import Seen, check_pages, need_axe
from compiled import ROOT, shared_file
from devices import need_backend
from documentation import blocks
from made_once import made_once
from onnx_models import model, node
from PIL import Image
from playwright.sync_api import Browser, Page, expect
from server import Site, serve
from shared_pages import SharedPages, need_browser

PAGES = ("index.html", "writer.html", "photographs.html", "faces.html", "enlarge.html", "backends.html", "tuning.html")
BUILD = ROOT / "demo-site" / "build.py"
CAMERA = """(colour) => {
  const canvas = Object.assign(document.createElement('canvas'), { width: 64, height: 48 });
  const context = canvas.getContext('2d');
  const paint = () => {
    context.fillStyle = colour;
    context.fillRect(0, 0, 64, 48);
    requestAnimationFrame(paint);
  };
  paint();
  navigator.mediaDevices.getUserMedia = async () => canvas.captureStream();
}"""
"""In place of a camera, frames of a colour."""

DENIED = "() => { navigator.mediaDevices.getUserMedia = async () => { throw new Error('Denied'); }; }"
DROP = """async (colour) => {
  const canvas = new OffscreenCanvas(8, 8);
  const context = canvas.getContext('2d');
  context.fillStyle = colour;
  context.fillRect(0, 0, 8, 8);
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([await canvas.convertToBlob()], 'dropped.png', { type: 'image/png' }));
  document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
}"""
"""A file of a picture, of one colour, onto the page."""

FILL = """([text, count, seed]) => {
  document.getElementById('most').value = count;
  document.getElementById('seed').value = seed;
  const area = document.getElementById('text');
  if (!area.value.startsWith(text)) area.value = text;
  area.setSelectionRange(text.length, text.length);
}"""
"""Fills in the page that writes: the cursor is behind what the text begins with."""

WRITER = ROOT / "examples" / "writer" / "writer.onnx"
READY = "body[data-state=ready]"


def classifier() -> onnx.ModelProto:
    """Which of red, green and blue a picture has most of."""
    nodes = [node("GlobalAveragePool", ["image"], ["means"]), node("Flatten", ["means"], ["logits"])]
    return model(nodes, {"image": ["N", 3, "height", "width"]}, ["logits"])


def finder() -> onnx.ModelProto:
    """One face, always in the middle, in the arrangement of ultraface."""
    nodes = [
        node("ReduceMean", ["image"], ["mean"], axes=[1, 2, 3], keepdims=1),
        node("Reshape", ["mean", "shape"], ["flat"]),
        node("Mul", ["flat", "zero"], ["nothing"]),
        node("Add", ["nothing", "one"], ["scores"]),
        node("Add", ["nothing", "middle"], ["boxes"]),
    ]
    constants = {
        "shape": np.array([1, 1, 1]),
        "zero": np.float32(0),
        "one": np.array([[[0.1, 0.9]] + [[0.9, 0.1]] * 3], np.float32),
        "middle": np.array([[[0.25, 0.25, 0.75, 0.75]] * 4], np.float32),
    }
    return model(nodes, {"image": [1, 3, 24, 32]}, ["scores", "boxes"], constants)


def enlarger() -> onnx.ModelProto:
    """Twice as large and as dark as it was bright."""
    nodes = [
        node("Sub", ["one", "image"], ["inverted"]),
        node("Concat", ["inverted"] * 4, ["four"], axis=1),
        node("DepthToSpace", ["four"], ["large"], blocksize=2),
    ]
    return model(nodes, {"image": [1, 1, 20, 20]}, ["large"], {"one": np.float32(1)})


def build(*options: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, BUILD, *options], capture_output=True, text=True, cwd=cwd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of docs/demo.md, with small models, for two backends."""
    return made_once(tmp_path_factory, "demo-site", make)


def make(work: Path) -> None:
    work.mkdir()
    for name, made in {"resnet18": classifier(), "ultraface": finder(), "superres": enlarger()}.items():
        onnx.save(made, work / f"{name}.onnx")
    (work / "labels.txt").write_text("red\ngreen\nblue\n")
    (work / "compile").mkdir()
    (work / "compile" / "compiler.js").write_text("")
    (work / "compile" / "index.html").write_text('<!doctype html><link rel="icon" href="data:,">')
    (work / "pictures").mkdir()
    Image.new("RGB", (30, 30), (220, 60, 40)).save(work / "pictures" / "a red one.png")
    (command,) = (block.text for block in blocks(ROOT / "docs" / "demo.md") if block.language == "sh")
    python, script, *options = shlex.split(command)
    assert (python, ROOT / script) == ("python", BUILD)
    done = build(*options, "--compile-page", "compile", "--samples", "pictures", "--targets", "webgl,wasm", cwd=work)
    assert done.returncode == 0, done.stderr
    Image.new("RGB", (64, 48), (20, 200, 40)).save(work / "green.png")


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[Site]:
    with serve(folder / "site") as served:
        yield served


@pytest.fixture
def quiet(page: Page, site: Site) -> Iterator[Page]:
    """A page that logs no error and requests nothing from other servers."""
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda r: said.append(r.url) if not r.url.startswith((site.url, "blob:", "data:")) else None)
    yield page
    assert said == []


def choose(page: Page, site: Site, name: str, file: Path) -> None:
    page.goto(site.url + name)
    page.wait_for_selector("body[data-state=ready]")
    page.set_input_files("#source input", file)
    page.wait_for_selector("#result[aria-busy=false]:not(:empty)")


def pixel(page: Page, canvas: str, x: int, y: int) -> list[int]:
    script = "(canvas, [x, y]) => [...canvas.getContext('2d').getImageData(x, y, 1, 1).data].slice(0, 3)"
    found: list[int] = page.locator(canvas).evaluate(script, [x, y])
    return found


@pytest.mark.fresh_page
def test_photographs(quiet: Page, site: Site, folder: Path, tmp_path: Path) -> None:
    choose(quiet, site, "photographs.html", folder / "green.png")
    assert quiet.inner_text("#result").startswith("green (")
    assert quiet.locator("#bars li:visible b").all_inner_texts() == ["green", "blue", "red"]
    assert pixel(quiet, "#picture", 5, 5) == [20, 200, 40]

    (tmp_path / "no.png").write_text("no picture")
    quiet.set_input_files("#source input", tmp_path / "no.png")
    expect(quiet.locator("#status")).to_contain_text("cannot read no.png as a picture")

    quiet.evaluate(DROP, "rgb(200, 20, 30)")
    expect(quiet.locator("#result")).to_contain_text("red (")
    expect(quiet.locator("#status")).to_be_empty()

    quiet.set_input_files("#source input", folder / "green.png")
    expect(quiet.locator("#result")).to_contain_text("green (")
    quiet.click("img[alt='Sample 1']")
    expect(quiet.locator("#result")).to_contain_text("red (")

    quiet.evaluate(DENIED)
    quiet.click("#source > button")
    expect(quiet.locator("#status")).to_contain_text("No camera: Denied. Allow it")
    quiet.evaluate(CAMERA, "rgb(10, 30, 220)")
    quiet.click("#source > button")
    expect(quiet.locator("#result")).to_have_text("blue")
    expect(quiet.locator("#status")).to_be_empty()
    quiet.click("#source > button")
    expect(quiet.locator("#source > button")).to_have_text("Start the camera")


@pytest.mark.fresh_page
def test_faces(quiet: Page, site: Site, folder: Path) -> None:
    choose(quiet, site, "faces.html", folder / "green.png")
    assert quiet.inner_text("#result") == "1 face"
    assert pixel(quiet, "#picture", 4, 4) == [20, 200, 40]
    assert pixel(quiet, "#picture", 16, 24) != [20, 200, 40]


@pytest.mark.fresh_page
def test_enlarge(quiet: Page, site: Site, folder: Path) -> None:
    choose(quiet, site, "enlarge.html", folder / "green.png")
    assert quiet.inner_text("#result") == "20 x 20 to 40 x 40"
    assert pixel(quiet, "#plain", 20, 20) == [20, 200, 40]
    # The brightness is 128 of 255, its opposite 127.
    assert pixel(quiet, "#picture", 20, 20) == pytest.approx([19, 199, 39], abs=1)


@pytest.mark.fresh_page
def test_writer(quiet: Page, site: Site) -> None:
    """The page writes what Python does, goes on from anywhere in the text, and where its states are full."""
    made = webnn_compile.compile(
        WRITER, generate=True, dims={"sequence_length": (1, 64), "past_sequence_length": (0, 255)}
    )
    quiet.goto(site.url + "writer.html")
    need_backend(quiet, "webgl")
    characters = quiet.evaluate("fetch('writer.json').then((response) => response.json())")["characters"]

    def expected(text: str, count: int, seed: int) -> str:
        ids = [characters.index(character) for character in text]
        return text + "".join(characters[i] for i in made.generate(ids, max_tokens=count, temperature=0.7, seed=seed))

    def write(text: str, count: int, seed: int, wanted: str) -> None:
        quiet.evaluate(FILL, [text, count, seed])
        quiet.click("#write")
        expect(quiet.locator("#text")).to_have_value(wanted, timeout=30_000)
        quiet.wait_for_selector(READY)

    beginning = quiet.input_value("#text")
    for backend in ("wasm", "webgl"):
        quiet.select_option("#backend", backend)
        quiet.wait_for_selector(READY)
        expect(quiet.locator("#facts")).to_contain_text(f"{backend}, ")
        first = expected(beginning, 40, 1)
        write(beginning, 40, 1, first)
        write(first, 20, 2, expected(first, 20, 2))
        write(first[:-25], 20, 3, expected(first[:-25], 20, 3))
        expect(quiet.locator("#facts")).to_contain_text(re.compile(r"characters\s*\d+ in a second"))

    quiet.select_option("#backend", "wasm")
    quiet.wait_for_selector(READY)
    # The states have room for 256 characters, and one follows; then the last 128 go on.
    full = expected(first, 257 - len(first), 4)
    write(first, 357 - len(first), 4, full[:-128] + expected(full[-128:], 100, 4))

    quiet.evaluate("() => { document.getElementById('text').value = 'caf\u00e9'; }")
    quiet.click("#write")
    expect(quiet.locator("#status")).to_have_text("The model knows no \u00e9: leave it out")
    quiet.evaluate(FILL, ["The", 5000, 1])
    quiet.click("#write")
    quiet.click("#stop")
    quiet.wait_for_selector(READY)
    assert 3 < len(quiet.input_value("#text")) < 5003


@pytest.mark.fresh_page
def test_another_backend_where_one_does_not_start(page: Page, site: Site) -> None:
    page.goto(site.url + "writer.html")
    page.wait_for_selector(READY)
    site.faults["*webgl*"] = "missing"
    try:
        page.select_option("#backend", "webgl")
        page.wait_for_selector("body[data-state=error]")
        expect(page.locator("#status")).not_to_be_empty()
        expect(page.locator("#write")).to_be_disabled()
    finally:
        site.faults.clear()
    page.select_option("#backend", "wasm")
    page.wait_for_selector(READY)
    expect(page.locator("#write")).to_be_enabled()


@pytest.mark.fresh_page
def test_backends(quiet: Page, site: Site) -> None:
    quiet.goto(site.url + "backends.html")
    need_backend(quiet, "webgl")
    assert quiet.locator("#models h2").all_inner_texts() == ["Digits", "Photographs", "Faces", "Enlarge"]
    quiet.locator("#models button").nth(1).click()
    expect(quiet.locator("#status")).to_have_text("Photographs: compared", timeout=60_000)
    texts = quiet.locator("[data-model='models/classify'] svg text").all_text_contents()
    assert [text.split(": ")[0] for text in texts] == ["webgl", "wasm"]
    assert all(text.endswith(" ms") for text in texts)
    assert quiet.locator(".bar").nth(1).evaluate("bar => bar.getBBox().width") > 0


@pytest.mark.fresh_page
def test_tuning(quiet: Page, site: Site) -> None:
    """Searches as they are told, and races of their candidates."""
    quiet.goto(site.url + "tuning.html")
    need_backend(quiet, "webgl")
    assert quiet.locator("#searches h2").all_inner_texts() == ["WebGL", "WebAssembly"]
    search = quiet.locator("#searches section").nth(1)
    expect(search.get_by_role("img")).to_have_accessible_name(re.compile("The best one so far falls from 1"))
    assert search.locator(".trial").count() > 20
    assert search.locator("tbody tr.changed").count() > 0
    listing = search.locator("pre").nth(2)
    expect(listing).not_to_be_visible()
    search.locator("summary").nth(2).press("Enter")
    expect(listing).to_contain_text("define internal void")

    search.get_by_role("button").press("Enter")
    expect(quiet.locator("#status")).to_contain_text("WebAssembly: the fastest here is", timeout=60_000)
    texts = search.locator(".chart text").all_text_contents()
    assert len(texts) == 5
    assert texts[0].startswith("rules: ")
    assert all(text.endswith(" ms") for text in texts)
    notes = search.locator("dd").all_inner_texts()
    assert all(note.endswith(" in the search; the same results") for note in notes)

    quiet.locator("#searches button").nth(0).click()
    expect(quiet.locator("#status")).to_contain_text("WebGL: the fastest here is", timeout=60_000)
    assert "rules" in quiet.locator("#searches section").nth(0).locator("dt").all_inner_texts()


def test_pages_as_people_see_them(shared_pages: SharedPages, browser: Browser, site: Site, update: bool) -> None:
    need_axe()
    if browser is not need_browser(shared_pages, "chromium"):
        pytest.skip("screenshots are Chromium's")
    ready = "body[data-state=ready]"
    check_pages(browser, [Seen(Path(name).stem, site.url + name, ready) for name in PAGES[1:]], update)


def test_pages_link_to_each_other(quiet: Page, site: Site) -> None:
    for name in PAGES:
        quiet.goto(site.url + name)
        quiet.wait_for_selector("body[data-state=ready]")
        links = quiet.locator("nav a")
        assert [link.get_attribute("href") for link in links.all()] == [*PAGES, "compile/"]
        assert quiet.get_attribute("nav [aria-current=page]", "href") == name
    quiet.click("nav a:has-text('Compile')")


@pytest.fixture(scope="module")
def classified(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The site with ResNet18 alone."""
    folder = tmp_path_factory.mktemp("classified") / "site"
    network = shared_file("models/resnet18_imagenet.onnx")
    labels = shared_file("labels/imagenet1000_clsidx_to_labels.txt")
    done = build("--out", folder, "--model", f"classify={network}", "--labels", labels, "--targets", "wasm")
    assert done.returncode == 0, done.stderr
    with serve(folder) as served:
        yield served


def test_a_photograph_of_the_shared_ones(page: Page, classified: Site) -> None:
    choose(page, classified, "photographs.html", shared_file("photos/samoyed.jpg"))
    assert page.inner_text("#result").startswith("Samoyed")
    assert page.locator("nav a").all_inner_texts() == ["Digits", "Write on", "Photographs", "Backends", "Tuning"]
