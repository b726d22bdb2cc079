"""Products of bytes in browsers, by the module whose relaxed dots are exact on this processor."""

from __future__ import annotations

import platform
from collections.abc import Iterator

import numpy as np
import onnx
import pytest
from bundle_runs import RUN, as_arrays, as_data
from compiled import compile_site
from devices import open_bundle, value
from harness import hide_relaxed_simd
from onnx_models import onnxruntime_results
from playwright.sync_api import Page
from server import Site, serve
from seven_bits import seven_bits

OF_PROCESSORS = {"x86_64": {"unsigned", "narrow"}, "aarch64": {"signed"}}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("bytes")
    onnx.save(seven_bits(), folder / "bytes.onnx")
    with serve(compile_site(folder / "bytes.onnx", folder, "--targets", "wasm", "--dim", "n=1..9")) as served:
        yield served


@pytest.mark.parametrize("relaxed", [True, False], ids=["relaxed", "plain"])
def test_sums_are_exact(page: Page, site: Site, relaxed: bool) -> None:
    """Among them sums that 16 bits just hold; of sizes that vary, which each program has in a place of its own."""
    feeds = [{"x": np.random.default_rng(n).standard_normal((n, 8, 6, 5)).astype(np.float32)} for n in (9, 1, 4)]
    feeds[1]["x"] = np.where(feeds[1]["x"] < 0, np.float32(-1), np.float32(1))
    open_bundle(page, site, "bundle", "wasm")
    if not relaxed:
        hide_relaxed_simd(page)
    answer = value(page, RUN, {"backend": "wasm", "runs": [as_data(one) for one in feeds]})
    allowed = OF_PROCESSORS.get(platform.machine(), {"signed", "unsigned", "narrow", "relaxed"})
    assert answer["variant"] in (allowed if relaxed else {"plain"})
    for one, found in zip(feeds, answer["found"], strict=True):
        want = onnxruntime_results(seven_bits(), one)
        np.testing.assert_array_equal(as_arrays(found, want)["y"], want["y"])
