"""A page with a model whose loops are worth several threads, and how its results are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from compiled import compile_site
from harness import outcome
from parallel_model import parallel_model
from playwright.sync_api import Page

SIZE = 3 * 64 * 64
X = (np.arange(SIZE) * 7919 % 2003 / 1001 - 1).astype(np.float32).reshape(1, 3, 64, 64)
INPUT = f"""
  const input = {{ x: Float32Array.from({{ length: {SIZE} }}, (_, i) => ((i * 7919) % 2003) / 1001 - 1) }};
"""
"""X, for scripts in the page."""


def compile_parallel_site(folder: Path, *more: str) -> Path:
    """The site, with the files that isolate a page in the bundle and report.json beside it."""
    onnx.save(parallel_model(), folder / "parallel.onnx")
    site = folder / "site"
    options = ("--targets", "wasm", "--coop-coep", "--report", str(site / "report.json"), *more)
    return compile_site(folder / "parallel.onnx", site, *options)


def run(page: Page, options: dict[str, Any], times: int = 1) -> dict[str, Any]:
    """{y, info} of a model loaded with the options, after so many runs with one result."""
    script = (
        INPUT
        + """
      const model = await bundle.load(argument.options);
      const { y } = await model.run(input);
      for (let i = 1; i < argument.times; i++) {
        const again = (await model.run(input)).y;
        if (!again.every((value, at) => Object.is(value, y[at]))) throw new Error(`run ${i} differs`);
      }
      const info = model.info();
      await model.dispose();
      return { y: [...y], info };
    """
    )
    result = outcome(page, script, {"options": options, "times": times})
    assert "value" in result, result
    value: dict[str, Any] = result["value"]
    return value
