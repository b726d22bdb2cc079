"""From the ONNX file to the class of a photograph, and of a handwritten digit, in the page."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import ROOT, compile_site, shared_file
from devices import need_backend
from effort import PHOTOGRAPHS, effort_of
from harness import hide_relaxed_simd, open_page
from playwright.sync_api import Page
from server import Site, serve


@pytest.fixture(scope="session")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    """The site with ResNet18 and the photographs, and onnxruntime's answer for each."""
    expected = json.loads(shared_file("photos/expected.json").read_text())["onnxruntime_top1"]
    model = shared_file("models/resnet18_imagenet.onnx")
    folder = compile_site(model, tmp_path_factory.mktemp("photographs"), "--shape", "input=1x3x224x224")
    for name in expected:
        (folder / "photos").mkdir(exist_ok=True)
        shutil.copy(shared_file(f"photos/{name}"), folder / "photos" / name)
    return folder, expected


def check_backend(info: dict[str, Any], backend: str) -> None:
    """Checks the backend that ran: no other may pass as this one."""
    assert (info["backend"], info["worker"]) == (backend, True)
    if backend == "wasm":
        assert (info["variant"], info["threads"]) == ("relaxed", 1)


@pytest.mark.parametrize("backend", ["wasm", "webgl", "webgpu"])
def test_photographs_get_the_reference_class(
    page: Page, photographs: tuple[Path, dict[str, int]], backend: str, request: pytest.FixtureRequest
) -> None:
    folder, expected = photographs
    assert len(expected) == 12
    if backend != "wasm":
        expected = dict(list(expected.items())[: PHOTOGRAPHS[effort_of(request.config)]])
    with serve(folder) as site:
        open_page(page, site, "photographs.html")
        need_backend(page, backend)
        result = page.evaluate("([names, backend]) => classify(names, backend)", [list(expected), backend])
    check_backend(result["info"], backend)
    assert result["top1"] == expected


@pytest.mark.parametrize("variant", ["relaxed", "plain"])
def test_digits_get_their_label_and_the_reference_scores(page: Page, digits_site: Site, variant: str) -> None:
    ort = pytest.importorskip("onnxruntime")
    given = json.loads((ROOT / "examples" / "digits" / "samples.json").read_text())
    images = np.array([sample["pixels"] for sample in given["samples"]], np.float32) / 255
    session = ort.InferenceSession(ROOT / "examples" / "digits" / "resnet18_digits.onnx")
    reference = [session.run(None, {"image": image.reshape(given["shape"])})[0].ravel() for image in images]
    open_page(page, digits_site, "bundles.html?whole/bundle")
    if variant == "plain":
        hide_relaxed_simd(page)
    result = page.evaluate(
        """async (images) => {
          const model = await bundle.load({ backend: "wasm" });
          const logits = [];
          for (const pixels of images) {
            const result = await model.run({ image: Float32Array.from(pixels) });
            logits.push([...result.logits]);
          }
          return { logits, info: model.info() };
        }""",
        images.tolist(),
    )
    assert result["info"]["variant"] == variant
    assert result["info"]["backend"] == "wasm"
    logits = np.array(result["logits"])
    assert np.abs(logits - reference).max() <= 1e-4 * max(1, np.abs(reference).max())
    assert logits.argmax(axis=1).tolist() == [sample["label"] for sample in given["samples"]]
