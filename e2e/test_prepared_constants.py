"""Bundles in browsers whose constants are computed at load: weights that ship in fewer bits, on every backend."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import onnx
import pytest
from bundle_runs import RUN, as_arrays, as_data
from compiled import compile_site
from devices import open_bundle, value
from onnx_models import assert_close, onnxruntime_results
from playwright.sync_api import Page
from prepared_models import MODELS, feeds_of
from server import Site, serve


@dataclass(frozen=True)
class Subject:
    """A model, and its bundle."""

    proto: onnx.ModelProto
    site: Site


@pytest.fixture(scope="module", params=["convolution", "int4-blocks", "floats"])
def subject(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    folder, proto = tmp_path_factory.mktemp("prepared"), MODELS[request.param][0]()
    onnx.save(proto, folder / "prepared.onnx")
    with serve(compile_site(folder / "prepared.onnx", folder)) as served:
        yield Subject(proto, served)


@pytest.mark.parametrize("backend", ["webgpu", "webgl", "wasm"])
def test_weights_are_widened_at_load(page: Page, subject: Subject, backend: str) -> None:
    """Runs leave them as they are: three give the same."""
    feeds = feeds_of(subject.proto)
    want = onnxruntime_results(subject.proto, feeds)
    open_bundle(page, subject.site, "bundle", backend)
    answer = value(page, RUN, {"backend": backend, "runs": [as_data(feeds)] * 3})
    assert answer["backend"] == backend
    for found in answer["found"]:
        assert_close(as_arrays(found, want), want, 1e-4)
