"""Sizes of what a page downloads besides weights, compressed as servers do it."""

from __future__ import annotations

import gzip
import os
from dataclasses import replace
from pathlib import Path

import onnx
import pytest
from webnn_compile.answers.formats import parse_answer
from webnn_compile.bundle import BundleFile
from webnn_compile.driver.build import build_files
from webnn_compile.driver.options import Options
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.pictures.formats import PICTURES

from benchmarks.cases import GENERATED

ROOT = Path(__file__).parents[1]
SHARED = Path(os.environ.get("WEBNN_SHARED", ROOT.parent / "shared")) / "models" / "resnet18_imagenet.onnx"
DIGITS = ROOT / "examples" / "digits" / "resnet18_digits.onnx"

BYTES = {
    ("digits", "wasm"): 28_960,
    ("digits", "webgl"): 27_620,
    ("digits", "webgpu"): 25_820,
    ("imagenet", "wasm"): 38_880,
    ("imagenet", "webgl"): 37_240,
    ("imagenet", "webgpu"): 36_140,
}
"""Bytes at most; resnet18 of ImageNet takes pictures and answers with classes."""

WHOLE = 70_400
"""Bytes at most of all files but weights, for pages, types and browsers with plain SIMD, too."""

OF_ALL = {"wasm": 41_080, "webgl": 40_370, "webgpu": 39_570}
"""Bytes at most for one backend of a bundle for all, as above."""

WHOLE_OF_ALL = 110_770

BY_DEFAULT = {"wasm": 42_820, "webgl": 43_830, "webgpu": 43_000}
"""Bytes at most for one backend of a bundle for all, with canaries, as the command line makes it: 44 kB or less."""

OF_CANARIES = {"webgl": 3_000, "webgpu": 3_000, "wasm": 1_290}
"""Bytes at most that canaries add to a download, their code and the 20 to 40 of a model."""


def compressed(files: list[BundleFile]) -> int:
    return sum(len(gzip.compress(file.data, 9)) for file in files)


def downloaded(files: tuple[BundleFile, ...], backend: str) -> list[BundleFile]:
    """The files of `load` and a run in Chromium, but weights: threads have theirs when they are wanted."""
    own = ("relaxed-", "steps-") if backend == "wasm" else ("host-", "shared-", f"{backend}-")
    stems = ("model.js", "load-", "runtime-", f"worker_{backend}-", f"backend_{backend}-", *own)
    return [file for file in files if file.name.startswith(stems)]


def shared_resnet() -> Path:
    if not SHARED.exists():
        pytest.skip(f"{SHARED.name} is not in the folder of shared models (WEBNN_SHARED)")
    return SHARED


def imagenet(backends: tuple[str, ...]) -> Options:
    pictures, answers = {"input": PICTURES.parse("imagenet")}, (parse_answer("classify,top=5"),)
    return Options(model_inputs(dims={"N": 1}), targets=backends, pictures=pictures, answers=answers)


@pytest.mark.parametrize(("model", "backend"), BYTES)
def test_downloads_are_small(model: str, backend: str) -> None:
    path, options = DIGITS, Options(targets=(backend,))
    if model == "imagenet":
        path, options = shared_resnet(), imagenet((backend,))
    files = build_files(path, options, lambda _: None).files
    assert compressed(downloaded(files, backend)) <= BYTES[model, backend]
    assert compressed([file for file in files if file.kind != "weights"]) <= WHOLE


@pytest.mark.parametrize("backend", OF_CANARIES)
@pytest.mark.parametrize("model", ["digits", "imagenet", "mobilenetv2", "bert"])
def test_canaries_take_little(model: str, backend: str, tmp_path: Path) -> None:
    path, options = DIGITS, Options(targets=(backend,))
    if model == "imagenet":
        path, options = shared_resnet(), imagenet((backend,))
    elif model in GENERATED:
        path = tmp_path / "model.onnx"
        onnx.save(GENERATED[model](), path)
    both = [build_files(path, replace(options, canaries=on), lambda _: None).files for on in (True, False)]
    tried, untried = (compressed(downloaded(files, backend)) for files in both)
    assert 0 < tried - untried <= OF_CANARIES[backend]


@pytest.mark.parametrize(
    ("canaries", "most"), [(False, OF_ALL), (True, BY_DEFAULT)], ids=["without canaries", "default"]
)
def test_of_a_bundle_for_all_backends_a_page_downloads_one(canaries: bool, most: dict[str, int]) -> None:
    files = build_files(shared_resnet(), replace(imagenet(tuple(most)), canaries=canaries), lambda _: None).files
    for backend, bytes_of_one in most.items():
        assert compressed(downloaded(files, backend)) <= bytes_of_one
    assert canaries or compressed([file for file in files if file.kind != "weights"]) <= WHOLE_OF_ALL
