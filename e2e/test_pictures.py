"""Bundles that take pictures: from whatever a page has, on every backend, as the Python reference prepares them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from compiled import compile_site, shared_file
from devices import need_backend, value
from harness import browser_name, open_page, outcome, refusal
from onnx_models import model, node
from PIL import Image
from playwright.sync_api import Page, expect
from server import Site, serve
from webnn_compile.dtypes import F32
from webnn_compile.graph.ir import Value
from webnn_compile.pictures.formats import PICTURES
from webnn_compile.pictures.prepare import open_picture, prepare
from webnn_compile.pictures.take_pictures import PictureInput, fit_picture

SHAPE = (1, 3, 20, 28)
FORMAT = {"like": "imagenet", "kept": 0.8, "most": 64}
SIZES = {"wide": (61, 34), "small": (9, 12), "large": (150, 90)}

KINDS = (
    *("Blob", "HTMLImageElement", "HTMLCanvasElement", "ImageBitmap", "ImageData"),
    *("OffscreenCanvas", "Uint8ClampedArray", "VideoFrame"),
)

SCRIPT = """
  const image = new Image();
  image.src = `./pictures/${argument.name}.png`;
  await image.decode();
  const { naturalWidth: width, naturalHeight: height } = image;
  const on = (canvas) => {
    const context = Object.assign(canvas, { width, height }).getContext('2d');
    context.drawImage(image, 0, 0);
    return { canvas, data: context.getImageData(0, 0, width, height) };
  };
  const { canvas, data } = on(document.createElement('canvas'));
  const sources = {
    Blob: () => fetch(image.src).then((response) => response.blob()),
    HTMLImageElement: () => image,
    HTMLCanvasElement: () => canvas,
    ImageBitmap: () => createImageBitmap(image),
    ImageData: () => data,
    OffscreenCanvas: () => on(new OffscreenCanvas(1, 1)).canvas,
    Uint8ClampedArray: () => ({ data: data.data, shape: [height, width] }),
    VideoFrame: () => new VideoFrame(canvas, { timestamp: 0 }),
  };
  const model = await bundle.load({ backend: argument.backend });
  const results = {};
  let reads = 0;
  const { getImageData } = OffscreenCanvasRenderingContext2D.prototype;
  OffscreenCanvasRenderingContext2D.prototype.getImageData = function (...given) {
    reads++;
    return getImageData.apply(this, given);
  };
  for (const kind of argument.kinds) {
    if (kind === 'VideoFrame' && !globalThis.VideoFrame) continue;
    const picture = await sources[kind]();
    const { y } = await model.run({ x: picture });
    results[kind] = [...y];
    picture.close?.();
  }
  OffscreenCanvasRenderingContext2D.prototype.getImageData = getImageData;
  const { backend } = model.info();
  await model.dispose();
  return { results, backend, reads };
"""


def target() -> PictureInput:
    return fit_picture(Value("x", SHAPE, F32), PICTURES.of(FORMAT, "f"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with a model that returns what it is given, and pictures."""
    folder = tmp_path_factory.mktemp("pictures")
    onnx.save(model([node("Identity", ["x"], ["y"])], {"x": SHAPE}, ["y"]), folder / "net.onnx")
    (folder / "format.json").write_text(json.dumps(FORMAT))
    compile_site(folder / "net.onnx", folder / "site", "--picture", f"x={folder / 'format.json'}")
    (folder / "site" / "pictures").mkdir()
    generator = np.random.default_rng(0)
    for name, (width, height) in SIZES.items():
        slope = np.linspace(0, 160, width)[None, :, None] + np.linspace(0, 95, height)[:, None, None]
        pixels = np.clip(slope + generator.normal(0, 50, (height, width, 3)), 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / "site" / "pictures" / f"{name}.png")
    clear = np.dstack([np.full((30, 40, 3), (20, 120, 220)), np.linspace(0, 255, 40)[None].repeat(30, 0)])
    Image.fromarray(clear.astype(np.uint8)).save(folder / "site" / "pictures" / "clear.png")
    (folder / "site" / "pictures" / "text.png").write_text("no picture")
    return folder / "site"


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[Site]:
    with serve(folder) as made:
        yield made


@pytest.mark.parametrize("backend", ["webgl", "webgpu"])
def test_what_is_compared_with_wasm_is_the_same_picture(page: Page, site: Site, backend: str) -> None:
    """The frame or bitmap that the GPU takes, or the words that were read of the picture."""
    open_page(page, site, "bundles.html?bundle")
    need_backend(page, backend)
    script = SCRIPT.replace("{ backend: argument.backend }", "{ backend: argument.backend, verify: { every: 1 } }")
    script = script.replace("const { backend } =", "const { backend, verified } =").replace(
        "backend, reads", "verified"
    )
    kinds = ["HTMLCanvasElement", "ImageBitmap", "ImageData", "Blob"]
    got = value(page, script, {"name": "wide", "kinds": kinds, "backend": backend})
    assert got["verified"]["runs"] == len(kinds)


@pytest.mark.parametrize("backend", ["wasm", "webgl", "webgpu"])
def test_whatever_a_page_has(page: Page, site: Site, folder: Path, backend: str) -> None:
    open_page(page, site, "bundles.html?bundle")
    need_backend(page, backend)
    for name in SIZES if backend == "wasm" else ("wide", "large"):
        kinds = KINDS if backend == "wasm" else ("ImageBitmap", "Blob", "HTMLImageElement", "VideoFrame", "ImageData")
        got = value(page, SCRIPT, {"name": name, "backend": backend, "kinds": kinds})
        assert got["backend"] == backend
        # A GPU takes bitmaps of pictures that need not be reduced.
        assert (got["reads"] == 0) == (backend != "wasm" and name != "large")
        want = prepare(open_picture(folder / "pictures" / f"{name}.png"), target()).ravel()
        assert {*kinds} - got["results"].keys() <= {"VideoFrame"}
        for kind, elements in got["results"].items():
            difference = np.abs(np.array(elements, np.float32) - want)
            # A frame of video may be stored by brightness and colour.
            tolerance = 0.1 if kind == "VideoFrame" and browser_name(page) == "firefox" else 1e-5
            assert difference.max() <= tolerance, (kind, name, difference.max())


@pytest.mark.parametrize("backend", ["wasm", "webgl", "webgpu"])
def test_transparent_pictures_are_over_white(page: Page, site: Site, folder: Path, backend: str) -> None:
    """As the page and the reference show them."""
    open_page(page, site, "bundles.html?bundle")
    need_backend(page, backend)
    kinds = ["Blob", "HTMLImageElement", "ImageBitmap"]
    got = value(page, SCRIPT, {"name": "clear", "backend": backend, "kinds": kinds})
    want = prepare(open_picture(folder / "pictures" / "clear.png"), target()).ravel()
    assert want.max() - want.min() > 1
    for kind, elements in got["results"].items():
        # Alpha is multiplied in bytes.
        assert np.abs(np.array(elements, np.float32) - want).max() <= 3 / 255 / 0.22, kind


@pytest.mark.parametrize("backend", ["wasm", "webgl", "webgpu"])
def test_pictures_of_which_browsers_make_no_bitmap(page: Page, site: Site, backend: str) -> None:
    """A drawing without a size of its own, which the browser gives it, and a canvas without a context."""
    open_page(page, site, "bundles.html?bundle")
    need_backend(page, backend)
    script = """
      const image = new Image();
      const rectangle = '<rect width="4" height="3" fill="#1478dc"/>';
      const drawing = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 3">${rectangle}</svg>`;
      image.src = `data:image/svg+xml,${encodeURIComponent(drawing)}`;
      await image.decode();
      const model = await bundle.load({ backend: argument });
      const taken = { empty: new OffscreenCanvas(30, 20), ...(image.naturalWidth && { image }) };
      const results = {};
      for (const [kind, x] of Object.entries(taken)) results[kind] = [...(await model.run({ x })).y];
      await model.dispose();
      return results;
    """
    results = value(page, script, backend)
    colours = {"empty": (255, 255, 255), "image": (20, 120, 220)}
    assert "image" in results or browser_name(page) == "firefox"
    for kind, elements in results.items():
        want = prepare(Image.new("RGB", (400, 300), colours[kind]), target()).ravel()
        np.testing.assert_allclose(np.array(elements, np.float32), want, atol=1e-5, err_msg=kind)


def test_inputs_say_that_they_take_pictures(page: Page, site: Site) -> None:
    open_page(page, site, "bundles.html?bundle")
    inputs = value(
        page, "const model = await bundle.load(); const { inputs } = model; await model.dispose(); return inputs"
    )
    assert inputs == [{"name": "x", "dtype": "int32", "shape": ["x_height", "x_width"], "picture": 64}]


def test_the_page_of_the_bundle_takes_a_file(page: Page, site: Site, folder: Path) -> None:
    page.goto(f"{site.url}bundle/index.html")
    expect(page.locator("#inputs td")).to_have_text("a picture")
    page.get_by_label("x: a picture").set_input_files(folder / "pictures" / "wide.png")
    page.get_by_label("Runs").fill("1")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("status")).to_have_text(re.compile("^Done"))
    want = prepare(open_picture(folder / "pictures" / "wide.png"), target()).ravel()
    shown = page.locator("#outputs td").inner_text().splitlines()[1]
    got = [float(text) for text in shown.removesuffix(", …").split(", ")]
    np.testing.assert_allclose(got, want[:10], rtol=1e-4)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("3", "expected a picture (ImageData, HTMLCanvasElement, "),
        (
            "new Float32Array(4)",
            "HTMLVideoElement, ImageBitmap, OffscreenCanvas, VideoFrame or Blob), or { data, shape",
        ),
        ("{ data: new Uint8ClampedArray(16) }", "its shape must be [height, width], of four bytes a pixel"),
        ("{ data: new Uint8ClampedArray(16), shape: [2, 3] }", "its shape must be [height, width]"),
        ("document.createElement('video')", "the HTMLVideoElement has no pixels: await its event loadeddata"),
        ("new Image()", "the HTMLImageElement has no pixels: await image.decode()"),
        (
            "await fetch('./pictures/text.png').then((r) => r.blob())",
            "the file is no picture that can be decoded here",
        ),
    ],
)
def test_mistakes(page: Page, site: Site, expression: str, message: str) -> None:
    assert message in refusal(page, site, expression)


def test_pictures_of_other_origins(page: Page, site: Site, folder: Path, tmp_path: Path) -> None:
    """Their pixels cannot be read, and are told how they can be."""
    shutil.copytree(folder / "pictures", tmp_path / "pictures")
    with serve(tmp_path) as other:
        open_page(page, site, "bundles.html?bundle")
        for backend, worker in (("wasm", False), ("webgl", False), ("webgl", True)):
            got = outcome(
                page,
                """
                const image = new Image();
                image.src = `${argument.url}pictures/wide.png`;
                await image.decode();
                const model = await bundle.load(argument.options);
                try {
                  await model.run({ x: image });
                } finally {
                  await model.dispose();
                }
                """,
                {"url": other.url, "options": {"backend": backend, "worker": worker}},
            )
            assert got.get("name") == "TypeError", (backend, worker, got)
            assert "of another origin cannot be read" in got["message"]
            assert "crossOrigin = 'anonymous'" in got["message"]


@pytest.mark.parametrize("backend", ["wasm", "webgl", "webgpu"])
def test_photographs(page: Page, tmp_path_factory: pytest.TempPathFactory, backend: str) -> None:
    """Classes and probabilities of a network are those of the reference, from files as people have them."""
    expected = json.loads(shared_file("photos/expected.json").read_text())["onnxruntime_top1"]
    ort = pytest.importorskip("onnxruntime")
    network = shared_file("models/resnet18_imagenet.onnx")
    folder = tmp_path_factory.getbasetemp() / "photographs-as-pictures"
    if not folder.exists():
        compile_site(network, folder, "--shape", "input=1x3x224x224", "--picture", "input=imagenet")
        (folder / "photos").mkdir()
        for name in expected:
            shutil.copy(shared_file(f"photos/{name}"), folder / "photos" / name)
    session = ort.InferenceSession(network, providers=["CPUExecutionProvider"])
    ready = fit_picture(Value("input", (1, 3, 224, 224), F32), PICTURES.parse("imagenet"))
    names = list(expected) if backend == "wasm" else list(expected)[:3]
    with serve(folder) as served:
        open_page(page, served, "bundles.html?bundle")
        need_backend(page, backend)
        scores = value(
            page,
            """
            const model = await bundle.load({ backend: argument.backend });
            const scores = {};
            for (const name of argument.names) {
              const file = await fetch(`./photos/${name}`).then((response) => response.blob());
              scores[name] = [...Object.values(await model.run({ input: file }))[0]];
            }
            await model.dispose();
            return scores;
            """,
            {"backend": backend, "names": names},
        )
    for name in names:
        (want,) = session.run(None, {"input": prepare(open_picture(shared_file(f"photos/{name}")), ready)})
        got = softmax(np.array(scores[name]))
        assert int(got.argmax()) == expected[name], name
        assert np.abs(got - softmax(want.ravel())).max() <= 1e-3, name


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max())
    return e / e.sum()
