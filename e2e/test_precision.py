"""`--precision f16` and `f16-fast` in the page: on WebGPU with shader-f16 in halves, elsewhere in float32."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from compiled import compile_site
from devices import has_backend, has_halves, need_backend, pretend, value
from digits import HELPERS, MODEL, images, reference
from harness import open_page
from playwright.sync_api import Page
from server import Site, serve

NEAR = 2e-2
"""Tolerance, relative to the largest logit."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serve(compile_site(MODEL, tmp_path_factory.mktemp("halves"), "--precision", "f16")) as served:
        yield served


@pytest.fixture(scope="module")
def fast_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serve(
        compile_site(MODEL, tmp_path_factory.mktemp("fast"), "--precision", "f16-fast", "--canaries=on")
    ) as served:
        yield served


def run(page: Page, backend: str) -> dict[str, object]:
    """Info, and the logits of three images."""
    page.evaluate(HELPERS, images()[:3])
    script = """
      const model = await bundle.load({ backend: argument });
      const found = [];
      for (let i = 0; i < 3; i++) found.push(await logits(model, i));
      const info = model.info();
      await model.dispose();
      return { info, found };
    """
    return value(page, script, backend)


def check(found: object) -> None:
    assert isinstance(found, list)
    for got, want in zip(found, reference()[:3], strict=True):
        scale = max(1, *map(abs, want))
        assert max(abs(a - b) for a, b in zip(got, want, strict=True)) <= NEAR * scale


@pytest.mark.parametrize("served", ["site", "fast_site"])
def test_the_first_that_can(page: Page, served: str, request: pytest.FixtureRequest) -> None:
    """WebGPU where it has halves; else it is passed over for that reason, and the next one runs."""
    open_page(page, request.getfixturevalue(served))
    pretend(page)
    result = run(page, "auto")
    check(result["found"])
    info = result["info"]
    assert isinstance(info, dict)
    if has_halves(page):
        assert (info["backend"], info["precision"], info["passedOver"]) == ("webgpu", "f16", [])
        return
    assert info["backend"] in ("webgl", "wasm")
    assert info["precision"] == "f32"
    first = info["passedOver"][0]
    assert first["backend"] == "webgpu"
    if has_backend(page, "webgpu"):
        assert first["reason"] == "the model needs the feature shader-f16, which this WebGPU adapter lacks"


def test_arithmetic_that_a_gpu_gets_wrong_is_float32(page: Page, fast_site: Site) -> None:
    """ReLU against 1 in place of 0, in the kernels that compute in float16."""
    open_page(page, fast_site)
    if not has_halves(page):
        pytest.skip("this browser's WebGPU has no shader-f16 on this machine")
    pretend(page)
    page.evaluate("""() => {
      const { createShaderModule } = GPUDevice.prototype;
      GPUDevice.prototype.createShaderModule = function (given) {
        return createShaderModule.call(this, { ...given, code: given.code.replaceAll(/\\b0.0h/g, '1.0h') });
      };
    }""")
    page.evaluate(HELPERS, images()[:3])
    script = """
      const model = await bundle.load({ backend: 'webgpu', worker: false, canaries: 'all' });
      const found = [];
      for (let i = 0; i < 3; i++) found.push(await logits(model, i));
      const info = model.info();
      await model.dispose();
      return { info, found };
    """
    result = value(page, script)
    failed = result["info"]["canaries"]["failed"]
    assert len(failed) > 3
    assert {fault["action"] for fault in failed} == {"without-f16"}
    check(result["found"])
    assert result["info"]["precision"] == "f16"


@pytest.mark.parametrize("backend", ["webgl", "wasm"])
def test_others_widen_the_weights(page: Page, site: Site, backend: str) -> None:
    open_page(page, site)
    need_backend(page, backend)
    result = run(page, backend)
    check(result["found"])
    info = result["info"]
    assert isinstance(info, dict)
    assert (info["backend"], info["precision"]) == (backend, "f32")
    assert info["weightBytes"] < 0.6 * MODEL.stat().st_size
