"""Infinities, NaN, halves and the ends of the range, in browsers' own implementations of every backend."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import extremes
import numpy as np
import onnx
import pytest
from compiled import PAGES, compile_site
from devices import DEVICES, open_bundle, value
from playwright.sync_api import Page
from server import Site, serve


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("extremes")
    path = folder / "extremes.onnx"
    onnx.save(extremes.model(), path)
    shutil.copytree(PAGES, folder, dirs_exist_ok=True)
    for backend in (*DEVICES, "wasm"):
        compile_site(path, folder / backend, "--targets", backend)
    with serve(folder) as served:
        yield served


@pytest.mark.parametrize("backend", [*DEVICES, "wasm"])
def test_extremes(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, f"{backend}/bundle", backend if backend in DEVICES else "")
    feeds = extremes.inputs()
    script = """
      const model = await bundle.load();
      const floats = (bits) => new Float32Array(Uint32Array.from(bits).buffer);
      const outputs = await model.run({ x: floats(argument.x), y: floats(argument.y) });
      const bytes = (array) => [...new Uint8Array(array.buffer, array.byteOffset, array.byteLength)];
      return { backend: model.info().backend, outputs: Object.entries(outputs).map(([k, v]) => [k, bytes(v)]) };
    """
    found = value(page, script, {name: a.view(np.uint32).tolist() for name, a in feeds.items()})
    assert found["backend"] == backend
    want = extremes.expected(**feeds)
    got = {name: np.asarray(data, np.uint8).view(want[name].dtype) for name, data in found["outputs"]}
    assert extremes.differences(got) == []
