"""Products of four bytes on WebGPU: by the language's own function where it has one, else by the runtime's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
import webnn_compile
from compiled import compile_site
from devices import need_backend, value
from harness import COLLECT_SHADERS, open_page
from onnx_models import random
from playwright.sync_api import Page
from prepared_models import blocks
from server import Site, serve

SPY = (
    "(hidden) => {"
    + COLLECT_SHADERS
    + """  // With `hidden` the language lacks all that is optional.
  if (hidden) Object.defineProperty(navigator.gpu, 'wgslLanguageFeatures', { value: new Set() });
}"""
)

RUN = """
  const model = await bundle.load({ backend: 'webgpu', worker: false });
  const { y } = await model.run({ x: Float32Array.from(argument) });
  await model.dispose();
  const has = navigator.gpu.wgslLanguageFeatures?.has('packed_4x8_integer_dot_product');
  return { y: [...y], shaders: shaders.filter((code) => code.includes('dot4I8Packed')), has: !!has };
"""


def quantised() -> onnx.ModelProto:
    """A product by weights of four bits that quantises its other operand."""
    proto = blocks()
    proto.graph.node[0].attribute.append(onnx.helper.make_attribute("accuracy_level", 4))
    return proto


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder: Path = tmp_path_factory.mktemp("bytes")
    onnx.save(quantised(), folder / "bytes.onnx")
    with serve(compile_site(folder / "bytes.onnx", folder / "site", "--targets", "webgpu")) as served:
        yield served


@pytest.mark.parametrize("hidden", [False, True])
def test_with_the_function_and_without(page: Page, site: Site, *, hidden: bool) -> None:
    open_page(page, site)
    need_backend(page, "webgpu")
    page.evaluate(SPY, hidden)
    x = random((3, 256), 5)
    answer = value(page, RUN, x.ravel().tolist())
    want = webnn_compile.compile(quantised()).run({"x": x})["y"]
    np.testing.assert_allclose(np.reshape(answer["y"], want.shape), want, rtol=1e-5, atol=1e-5)
    assert answer["shaders"]
    assert all(("fn dot4I8Packed" in code) != answer["has"] for code in answer["shaders"])
    assert not (hidden and answer["has"])
