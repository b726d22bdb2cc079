"""Bundles in browsers whose constants are computed at load: weights that ship as int8, on every backend."""

from __future__ import annotations

from collections.abc import Iterator

import onnx
import pytest
from bundle_runs import RUN, as_arrays, as_data
from compiled import compile_site
from devices import open_bundle, value
from onnx_models import assert_close, onnxruntime_results
from playwright.sync_api import Page
from prepared_models import convolution, feeds_of
from server import Site, serve


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("prepared")
    onnx.save(convolution(), folder / "prepared.onnx")
    with serve(compile_site(folder / "prepared.onnx", folder)) as served:
        yield served


@pytest.mark.parametrize("backend", ["webgpu", "webgl", "wasm"])
def test_weights_are_widened_at_load(page: Page, site: Site, backend: str) -> None:
    """Runs leave them as they are: three give the same."""
    proto = convolution()
    feeds = feeds_of(proto)
    want = onnxruntime_results(proto, feeds)
    open_bundle(page, site, "bundle", backend)
    answer = value(page, RUN, {"backend": backend, "runs": [as_data(feeds)] * 3})
    assert answer["backend"] == backend
    for found in answer["found"]:
        assert_close(as_arrays(found, want), want, 1e-4)
