"""The classifier of handwritten digits on GPUs, compiled by the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from compiled import PAGES, ROOT, compile_site
from devices import open_bundle
from playwright.sync_api import Page
from server import Site

EXAMPLE = ROOT / "examples" / "digits"
MODEL = EXAMPLE / "resnet18_digits.onnx"
OPTIONS = {"whole": (), "gpus": ("--targets", "webgpu,webgl")}
"""By name of the bundle; the second has no target wasm."""

HELPERS = """(all) => {
  globalThis.images = all.map((pixels) => Float32Array.from(pixels));
  globalThis.logits = async (model, i) => [...(await model.run({ image: images[i] })).logits];
}"""


def compile_digits(folder: Path) -> Path:
    """`folder` with the pages, and each bundle below its name."""
    shutil.copytree(PAGES, folder, dirs_exist_ok=True)
    for name, options in OPTIONS.items():
        compile_site(MODEL, folder / name, *options)
    return folder


def images() -> list[list[float]]:
    given = json.loads((EXAMPLE / "samples.json").read_text())
    return [[p / 255 for p in sample["pixels"]] for sample in given["samples"]]


def reference() -> list[list[float]]:
    """The logits of each image, by onnxruntime."""
    ort = pytest.importorskip("onnxruntime")
    session = ort.InferenceSession(MODEL)
    return [session.run(None, {"image": np.float32(i).reshape(1, 1, 32, 32)})[0].ravel().tolist() for i in images()]


def open_digits(page: Page, site: Site, backend: str, bundle: str = "whole") -> None:
    """Open the test page, where `logits(model, i)` are those of an image; skips where the browser lacks the backend."""
    open_bundle(page, site, f"{bundle}/bundle", backend)
    page.evaluate(HELPERS, images())


def agrees(found: list[float], expected: list[float]) -> bool:
    scale = max(1, max(map(abs, expected)))
    return max(abs(a - b) for a, b in zip(found, expected, strict=True)) <= 5e-4 * scale
