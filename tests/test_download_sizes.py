"""Sizes of what a page downloads besides weights, compressed as servers do it, of bundles for one backend."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from webnn_compile.answers.formats import parse_answer
from webnn_compile.bundle import BundleFile
from webnn_compile.driver.build import build_files
from webnn_compile.driver.options import Options
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.pictures.formats import PICTURES

ROOT = Path(__file__).parents[1]
SHARED = Path(os.environ.get("WEBNN_SHARED", ROOT.parent / "shared")) / "models" / "resnet18_imagenet.onnx"
DIGITS = ROOT / "examples" / "digits" / "resnet18_digits.onnx"

BYTES = {
    ("digits", "wasm"): 31_500,
    ("digits", "webgl"): 32_000,
    ("digits", "webgpu"): 29_200,
    ("imagenet", "wasm"): 42_300,
    ("imagenet", "webgl"): 45_300,
    ("imagenet", "webgpu"): 45_000,
}
"""Bytes at most; resnet18 of ImageNet takes pictures and answers with classes."""

WHOLE = 80_000
"""Bytes at most of all files but weights, for pages, types and browsers with plain SIMD, too."""


def compressed(files: list[BundleFile]) -> int:
    return sum(len(gzip.compress(file.data, 9)) for file in files)


def downloaded(files: tuple[BundleFile, ...]) -> list[BundleFile]:
    """The files of `load` and a run in Chromium, but weights: threads have theirs when they are wanted."""
    stems = ("model.js", "load-", "runtime-", "worker-", "relaxed-", "steps-", "host-", "webgl-", "webgpu-")
    return [file for file in files if file.name.startswith(stems)]


@pytest.mark.parametrize(("model", "backend"), BYTES)
def test_downloads_are_small(model: str, backend: str) -> None:
    path, options = DIGITS, Options(targets=(backend,))
    if model == "imagenet":
        path = SHARED
        if not path.exists():
            pytest.skip(f"{path.name} is not in the folder of shared models (WEBNN_SHARED)")
        inputs = model_inputs(dims={"N": 1})
        pictures, answers = {"input": PICTURES.parse("imagenet")}, (parse_answer("classify,top=5"),)
        options = Options(inputs, targets=(backend,), pictures=pictures, answers=answers)
    files = build_files(path, options, lambda _: None).files
    assert compressed(downloaded(files)) <= BYTES[model, backend]
    assert compressed([file for file in files if file.kind != "weights"]) <= WHOLE
