"""Bundles that give answers, on every backend, in a worker and in the page, as the Python reference has them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from compiled import compile_site, shared_file
from devices import need_backend, value
from harness import open_page
from onnx_models import model, node
from playwright.sync_api import Page, expect
from random_forests import forest_of_strings
from server import Site, serve
from webnn_compile.pictures.formats import MOST
from webnn_compile.pictures.prepare import open_picture, reduce_picture

PHOTOGRAPHS = ("samoyed.jpg", "sports_car.jpg", "coral_parrot.jpg", "dmlc_dog.jpg")

SCRIPT = """
  const model = await bundle.load({ backend: argument.backend, worker: argument.worker });
  const answers = {};
  for (const name of argument.names) {
    const file = await fetch(`./photos/${name}`).then((response) => response.blob());
    answers[name] = await model.run({ [model.inputs[0].name]: file });
  }
  const { outputs } = model;
  await model.dispose();
  return { answers, outputs };
"""


def words_of(name: str) -> np.ndarray:
    """A photograph as a compiled model in this process takes it."""
    image = reduce_picture(open_picture(shared_file(f"photos/{name}")), MOST)
    return np.ascontiguousarray(image.convert("RGBA")).view(np.int32)[..., 0]


class Case:
    """A network with its options, its site and its reference: for each photograph the answers of Python."""

    def __init__(
        self, folder: Path, file: str, picture: str, answer: str, *, labels: str = "", targets: str = "", **dims: int
    ) -> None:
        network = shared_file(f"models/{file}.onnx")
        options = [f"--dim={name}={n}" for name, n in dims.items()]
        options += ["--labels", str(shared_file(labels))] if labels else []
        options += ["--targets", targets] if targets else []
        compile_site(network, folder, *options, "--picture", picture, "--answer", answer)
        (folder / "photos").mkdir()
        for name in PHOTOGRAPHS:
            shutil.copy(shared_file(f"photos/{name}"), folder / "photos" / name)
        name, form = picture.split("=")
        compiled = webnn_compile.compile(
            network,
            dims=dims,
            pictures={name: form},
            answers=[answer],
            labels=shared_file(labels) if labels else None,
        )
        self.wanted: dict[str, dict[str, Any]] = {n: compiled.run({name: words_of(n)}) for n in PHOTOGRAPHS}


@pytest.fixture(scope="module")
def resnet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Case]]:
    folder = tmp_path_factory.mktemp("classify")
    labels = "labels/imagenet1000_clsidx_to_labels.txt"
    case = Case(folder, "resnet18_imagenet", "input=imagenet", "classify", labels=labels, N=1)
    with serve(folder) as site:
        yield site, case


@pytest.fixture(scope="module")
def ultraface(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Case]]:
    folder = tmp_path_factory.mktemp("faces")
    case = Case(folder, "ultraface_rfb320", "input=ultraface", "detect=ultraface")
    with serve(folder) as site:
        yield site, case


@pytest.fixture(scope="module")
def yolox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Case]]:
    folder = tmp_path_factory.mktemp("objects")
    case = Case(folder, "yolox_nano_coco_416", "images=yolox", "detect=yolox", targets="wasm")
    with serve(folder) as site:
        yield site, case


def intersection_over_union(a: dict[str, float], b: dict[str, float]) -> float:
    both = (("x", "width"), ("y", "height"))
    sides = [max(0.0, min(a[at] + a[n], b[at] + b[n]) - max(a[at], b[at])) for at, n in both]
    common = sides[0] * sides[1]
    return common / (a["width"] * a["height"] + b["width"] * b["height"] - common)


@pytest.mark.parametrize(
    ("detector", "backend"), [("yolox", "wasm"), ("ultraface", "wasm"), ("ultraface", "webgl"), ("ultraface", "webgpu")]
)
def test_boxes(page: Page, request: pytest.FixtureRequest, detector: str, backend: str) -> None:
    site, case = request.getfixturevalue(detector)
    open_page(page, site, "bundles.html?bundle")
    need_backend(page, backend)
    names = PHOTOGRAPHS if backend == "wasm" else PHOTOGRAPHS[-1:]
    got = value(page, SCRIPT, {"backend": backend, "worker": True, "names": names})
    found = 0
    for name in names:
        (boxes,), (want,) = got["answers"][name].values(), case.wanted[name].values()
        assert [(b["index"], b["label"]) for b in boxes] == [(b["index"], b["label"]) for b in want]
        # The page reduces large pictures itself, and counts pixels of the file.
        reduced = open_picture(shared_file(f"photos/{name}")).width / words_of(name).shape[1]
        for ours, theirs in zip(boxes, want, strict=True):
            box = {key: reduced * n for key, n in theirs["box"].items()}
            assert intersection_over_union(ours["box"], box) >= 0.99
            assert abs(ours["score"] - theirs["score"]) < 1e-3
        found += len(boxes)
    assert found > 0


NAMES = ["setosa", "versicolor", "virginica"]

ROWS = """
  const model = await bundle.load({ backend: argument.backend, worker: argument.worker });
  const outputs = await model.run({ x: Float32Array.from(argument.x) });
  const { backend } = model.info();
  const described = model.outputs;
  await model.dispose();
  return { outputs, backend, described };
"""


@pytest.fixture(scope="module")
def forest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("forest")
    onnx.save(forest_of_strings(NAMES), folder / "forest.onnx")
    compile_site(folder / "forest.onnx", folder, "--dim", "rows=1..9")
    with serve(folder) as site:
        yield site


@pytest.mark.parametrize("backend", ["wasm", "webgl", "webgpu"])
def test_labels_are_strings_and_scores_maps(page: Page, forest: Site, backend: str) -> None:
    x = np.random.default_rng(3).normal(size=(5, 3)).astype(np.float32)
    wanted = webnn_compile.compile(forest_of_strings(NAMES), shapes={"x": x.shape}).run({"x": x})
    open_page(page, forest, "bundles.html?bundle")
    need_backend(page, backend)
    for worker in (True, False) if backend == "wasm" else (True,):
        got = value(page, ROWS, {"backend": backend, "worker": worker, "x": x.ravel().tolist()})
        assert got["backend"] == backend
        assert got["described"] == [{"name": "label", "answer": "labels"}, {"name": "zipped", "answer": "scores"}]
        assert got["outputs"]["label"] == wanted["label"].tolist()
        for row, expected in zip(got["outputs"]["zipped"], wanted["zipped"], strict=True):
            assert row == pytest.approx(expected, abs=1e-5)


def test_the_page_of_the_bundle_shows_labels(page: Page, forest: Site) -> None:
    page.goto(f"{forest.url}bundle/index.html")
    page.get_by_label("Runs").evaluate("(field) => (field.value = 1)")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#outputs .labels")).to_contain_text(re.compile("|".join(NAMES)))
    expect(page.locator("#outputs .scores label").first).to_contain_text("% setosa")


def run_page(page: Page, site: Site, photograph: str) -> None:
    """Runs the model once on the page of the bundle."""
    page.goto(f"{site.url}bundle/index.html")
    chooser = page.get_by_label("input: a picture")
    assert (chooser.bounding_box() or {"width": 0})["width"] > 200  # with room for the file's name
    chooser.set_input_files(shared_file(f"photos/{photograph}"))
    page.get_by_label("Runs").evaluate("(field) => (field.value = 1)")  # Firefox may fill behind the old number
    page.get_by_role("button", name="Run").click()


def test_the_page_of_the_bundle_shows_boxes(page: Page, ultraface: tuple[Site, Case]) -> None:
    site, _ = ultraface
    run_page(page, site, "dmlc_dog.jpg")
    expect(page.locator("#outputs .detect label")).to_contain_text("face")
    expect(page.locator("#outputs .detect canvas")).to_have_attribute("width", "1024")
    run_page(page, site, "samoyed.jpg")
    expect(page.locator("#outputs .detect")).to_have_text("none")


@pytest.mark.parametrize(("backend", "worker"), [("wasm", True), ("wasm", False), ("webgl", True), ("webgpu", True)])
def test_classes(page: Page, resnet: tuple[Site, Case], backend: str, worker: bool) -> None:
    site, case = resnet
    open_page(page, site, "bundles.html?bundle")
    need_backend(page, backend)
    names = PHOTOGRAPHS if backend == "wasm" else PHOTOGRAPHS[:1]
    got = value(page, SCRIPT, {"backend": backend, "worker": worker, "names": names})
    assert got["outputs"] == [{"name": "output", "answer": "classify"}]
    expected = json.loads(shared_file("photos/expected.json").read_text())["onnxruntime_top1"]
    for name in names:
        (classes,), (want,) = got["answers"][name].values(), case.wanted[name].values()
        assert classes[0]["index"] == expected[name]
        assert [(c["index"], c["label"]) for c in classes][:2] == [(c["index"], c["label"]) for c in want][:2]
        np.testing.assert_allclose([c["score"] for c in classes], [c["score"] for c in want], atol=1e-3)


def test_runs_refuse_arrays_for_answers(page: Page, resnet: tuple[Site, Case]) -> None:
    open_page(page, resnet[0], "bundles.html?bundle")
    message = value(
        page,
        """
        const model = await bundle.load({ backend: 'wasm' });
        const input = { data: new Uint8ClampedArray(16), shape: [2, 2] };
        try {
          return await model.run({ input }, { into: { output: new Float32Array(5) } }).catch((e) => e.message);
        } finally {
          await model.dispose();
        }
        """,
    )
    assert message == 'into has no array "output"; it has: none'


def test_labels_that_do_not_arrive(page: Page, resnet: tuple[Site, Case]) -> None:
    open_page(page, resnet[0], "bundles.html?bundle")
    page.route("**/labels-*.txt", lambda route: route.fulfill(status=404))
    try:
        got = value(page, "return bundle.load({ backend: 'wasm' }).catch((e) => [e.name, e.code, e.message])")
    finally:
        page.unroute("**/labels-*.txt")
    assert got[:2] == ["DownloadError", "http"]
    assert "labels-" in got[2]


def test_the_page_of_the_bundle_shows_bars(page: Page, resnet: tuple[Site, Case]) -> None:
    site, case = resnet
    run_page(page, site, "samoyed.jpg")
    expect(page.get_by_role("status")).to_have_text(re.compile("^Done"))
    first = case.wanted["samoyed.jpg"]["output"][0]
    expect(page.locator("#outputs .classify label").first).to_contain_text(first["label"])
    shown = page.locator("#outputs meter").first.evaluate("(bar) => bar.value")
    assert abs(shown - first["score"]) < 1e-3


def test_masks(page: Page, tmp_path: Path) -> None:
    """A mask has the size of the picture, and colours."""
    nodes = [node("Neg", ["x"], ["n"]), node("Concat", ["n", "x"], ["y"], axis=1)]
    onnx.save(model(nodes, {"x": (1, 1, 8, 8)}, ["y"]), tmp_path / "net.onnx")
    (tmp_path / "grey.json").write_text(json.dumps({"colours": "grey", "mean": 0.5}))
    compile_site(
        tmp_path / "net.onnx", tmp_path / "site", "--picture", f"x={tmp_path / 'grey.json'}", "--answer", "mask"
    )
    with serve(tmp_path / "site") as site:
        open_page(page, site, "bundles.html?bundle")
        got = value(
            page,
            """
            const image = new ImageData(16, 32);
            new Uint32Array(image.data.buffer).fill(0xffffffff, 0, 16 * 16);
            const model = await bundle.load({ backend: 'wasm' });
            const { y } = await model.run({ x: image });
            await model.dispose();
            const { data } = y.toImageData();
            return { size: [y.width, y.height], classes: [...y.classes], alpha: [data[3], data.at(-1)] };
            """,
        )
    assert got["size"] == [16, 32]
    assert got["classes"] == [1] * 256 + [0] * 256
    assert got["alpha"] == [160, 0]
