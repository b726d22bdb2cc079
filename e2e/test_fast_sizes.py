"""Kernels of a fast size, in browsers: which launches ran, and with which results."""

from __future__ import annotations

from pathlib import Path

import onnx
from bundle_runs import RUN, TO_ARRAY, as_arrays, as_data
from compiled import compile_site
from devices import open_bundle, value
from fast_products import products
from onnx_models import assert_close, onnxruntime_results, random
from playwright.sync_api import Page
from server import serve

LAUNCHES = (
    TO_ARRAY
    + """
  const model = await bundle.load({ backend: argument.backend });
  const counts = [];
  for (const run of argument.runs)
    counts.push((await model.profile(toInputs(run), { repeat: 1 })).map(({ count }) => count));
  await model.dispose();
  return counts;
"""
)


def test_runs_of_the_fast_size_have_launches_of_their_own(page: Page, tmp_path: Path) -> None:
    """On a processor, where `run` is compiled, and on a GPU, where the page carries out the steps."""
    made = products()
    onnx.save(made, tmp_path / "products.onnx")
    given = [{"x": random((1, n, 96), n), "past": random((2, 96))} for n in (5, 1, 9, 1)]
    expected = [onnxruntime_results(made, feeds) for feeds in given]
    sizes = ("--dim=batch=1", "--dim=n=1..9,fast=1", "--dim=m=0..3")
    with serve(compile_site(tmp_path / "products.onnx", tmp_path, "--targets", "wasm,webgl", *sizes)) as site:
        for backend in ("wasm", "webgl"):
            open_bundle(page, site, "bundle", backend)
            runs = {"backend": backend, "runs": [as_data(feeds) for feeds in given]}
            answer = value(page, RUN, runs)
            assert answer["backend"] == backend
            for found, results in zip(answer["found"], expected, strict=True):
                assert_close(as_arrays(found, results), results, 1e-4)
            general, fast, *others = value(page, LAUNCHES, runs)
            assert others == [general, fast]
            assert [*map(bool, fast)] == [not n for n in general]
            assert any(fast)
            assert any(general)
