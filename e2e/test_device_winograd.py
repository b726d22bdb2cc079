"""Winograd's algorithm on GPUs in the page: weights transformed at load, and again on the device after a lost one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
import pytest
from compiled import compile_site
from convolutions import Case
from devices import DEVICES, open_bundle, value
from onnx_models import onnxruntime_results, random
from playwright.sync_api import Page
from server import Site, serve

CASE = Case((1, 64, 56, 56), 64, first=3)

SCRIPT = """
  const model = await bundle.load({ backend: argument.backend, worker: false });
  const x = Float32Array.from(argument.x);
  const run = async () => [...(await model.run({ x })).r];
  const first = await run();
  lose(model);
  const second = await run();
  const profile = await model.profile({ x });
  await model.dispose();
  return { first, second, names: profile.map(({ name }) => name) };
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("winograd")
    onnx.save(CASE.proto, folder / "model.onnx")
    with serve(compile_site(folder / "model.onnx", folder / "site", "--targets", "webgpu,webgl")) as served:
        yield served


@pytest.mark.parametrize("backend", DEVICES)
def test_weights_are_transformed_again_after_a_loss(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, "bundle", backend)
    x = random(CASE.shape, 5)
    found = value(page, SCRIPT, {"backend": backend, "x": x.ravel().tolist()})
    assert {"winogradinput", "winogradproducts"} <= set(found["names"])
    want = onnxruntime_results(CASE.proto, {"x": x})["r"].ravel()
    scale = max(1.0, float(np.abs(want).max()))
    assert np.abs(np.array(found["first"]) - want).max() <= 1e-4 * scale
    assert found["first"] == found["second"]
