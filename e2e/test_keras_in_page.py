"""Keras models compile in a page, which fetches the modules for them with the first one."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from page_compiler import HEADERS, backends_of, choose, command_line, compile_chosen, module_site
from playwright.sync_api import Page
from server import serve

h5py = pytest.importorskip("h5py", reason="h5py is not installed, which writes the model: pip install h5py")


def test_files_and_results(page: Page, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    rng = np.random.default_rng(4)
    kernel, bias, x = (rng.uniform(-1, 1, shape).astype("f4") for shape in ((3, 5), (5,), (2, 3)))
    dense = {"class_name": "Dense", "config": {"name": "y", "units": 5, "activation": "relu", "trainable": True}}
    start = {"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [2, 3], "dtype": "float32"}}
    weights, path = io.BytesIO(), tmp_path / "net.keras"
    with h5py.File(weights, "w") as file:
        file["layers/dense/vars/0"], file["layers/dense/vars/1"] = kernel, bias
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", json.dumps({"class_name": "Sequential", "config": {"layers": [start, dense]}}))
        archive.writestr("model.weights.h5", weights.getvalue())
    with serve(module_site(tmp_path_factory), headers=HEADERS) as site:
        page.goto(f"{site.url}compile.html")
        page.wait_for_selector("html[data-ready]", state="attached")
        page.evaluate("(x) => { globalThis.given = { x }; }", x.ravel().tolist())
        choose(page, path)
        backends = backends_of(page)
        ended = compile_chosen(page, {}, f"Promise.all([hashes(made.files), runOn(made, {backends}, given)])")
        assert "value" in ended, ended
        files, results = ended["value"]
    assert files == command_line(path, tmp_path / "bundle")
    assert list(results) == backends
    for found in results.values():
        np.testing.assert_allclose(found["y"], (x @ kernel + bias).clip(0).ravel(), atol=1e-5)
