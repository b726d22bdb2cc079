"""WebGL in browsers: what several launches write into one texture, a part each, at sizes of real models."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from bundle_runs import RUN, as_arrays, as_data
from compiled import compile_site
from devices import open_bundle, value
from long_results import MODELS
from onnx_models import assert_close, onnxruntime_results
from playwright.sync_api import Page
from server import serve


@pytest.mark.parametrize("name", ["an LSTM both ways", "a scan of rows that vary", "suppression of boxes that vary"])
def test_every_part_is_kept(page: Page, tmp_path: Path, name: str) -> None:
    case = MODELS[name]()
    path = tmp_path / "long.onnx"
    onnx.save(case.proto, path)
    dims = [f"--dim={n}={least}..{most}" for n, (least, most) in case.dims.items()]
    with serve(compile_site(path, tmp_path, "--targets", "webgl", *dims)) as site:
        open_bundle(page, site, "bundle", "webgl")
        answer = value(page, RUN, {"backend": "webgl", "runs": [as_data(run) for run in case.feeds]})
    assert answer["backend"] == "webgl"
    for run, found in zip(case.feeds, answer["found"], strict=True):
        want = onnxruntime_results(case.proto, run)
        assert_close(as_arrays(found, want), want, 1e-4)
