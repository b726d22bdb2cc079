"""A model loads and runs, in a worker and without one, and says truly how."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page
from server import Site
from tiny_artifact import tiny_weights


def open_page(page: Page, site: Site, path: str = "blank.html") -> None:
    page.goto(site.url + path)
    page.wait_for_selector("html[data-ready]", state="attached")


def run(page: Page, options: dict[str, Any], values: list[float]) -> dict[str, Any]:
    result: dict[str, Any] = page.evaluate(
        """async ([options, values]) => {
          const model = await bundle.load(options);
          const { output } = await model.run({ input: Float32Array.from(values) });
          const result = {
            kind: output.constructor.name, output: [...output], info: model.info(), backend: model.backend,
            inputs: model.inputs, outputs: model.outputs,
          };
          await model.dispose();
          return result;
        }""",
        [options, values],
    )
    return result


@pytest.mark.parametrize("worker", [True, False])
def test_result_is_right_and_info_true(page: Page, site: Site, worker: bool) -> None:
    open_page(page, site)
    values = np.random.default_rng(1).integers(-9, 10, 1024).astype(np.float32)
    result = run(page, {"worker": worker}, values.tolist())
    w, b = tiny_weights(1024)
    assert result["output"] == np.maximum(values * w + b, 0).tolist()
    assert result["kind"] == "Float32Array"
    assert result["backend"] == "wasm"
    assert result["inputs"] == [{"name": "input", "dtype": "float32", "shape": [1, 1024]}]
    assert result["outputs"] == [{"name": "output", "dtype": "float32", "shape": [1, 1024]}]
    assert result["info"] == {
        "name": "tiny",
        "backend": "wasm",
        "variant": "relaxed",
        "threads": 1,
        "threadsReason": "one was asked for",
        "worker": worker,
        "integrity": "sha256",
        "weightBytes": 8192,
        "memoryBytes": 65536,
        "kernels": 1,
        "abi": 1,
    }
