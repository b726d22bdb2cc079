"""The compiler in a page: `python -m benchmarks.in_page FOLDER MODEL...`, FOLDER as webnn-compile-page makes it.

For each browser and model, in a browser of its own: seconds until the compiler is ready, until the model is compiled,
bytes of its heap; for a second visit, seconds until it is ready without a network.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from typing import Any

import onnx
from playwright.sync_api import Page, sync_playwright
from webnn_compile.rpc.browsers import BrowserName, launch

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 3
SIDE = 224
BROWSERS: tuple[BrowserName, ...] = ("chromium", "firefox")
COMPILE = """async (shapes) => {
  const { openCompiler } = await import('./compiler.js');
  const files = [...document.querySelector('input').files];
  const compiler = await openCompiler();
  await compiler.describe(files);
  const start = performance.now();
  const made = await compiler.compile(files, { shapes });
  return [(performance.now() - start) / 1000, made.report.heapBytes / 2 ** 20];
}"""


def shapes_of(model: Path) -> dict[str, list[int]]:
    """Shapes of inputs with free dimensions: batch 1, and images of 224 x 224 unless the model says otherwise."""
    graph = onnx.load(model, load_external_data=False).graph
    weights = {t.name for t in graph.initializer}
    shapes = {}
    for value in graph.input:
        dims = [d.dim_value for d in value.type.tensor_type.shape.dim]
        if value.name not in weights and 0 in dims:
            shapes[value.name] = [n or (SIDE if i else 1) for i, n in enumerate(dims)]
    return shapes


def visit(page: Page, url: str) -> float:
    """Seconds until the page's compiler is ready."""
    start = time.perf_counter()
    page.goto(url)
    page.wait_for_selector("body[data-state=ready]", timeout=120_000)
    return time.perf_counter() - start


def measure(folder: Path, kind: BrowserName, model: Path) -> tuple[float, float, float, float]:
    sys.path.insert(0, str(ROOT / "e2e"))
    from server import serve

    with serve(folder) as site, sync_playwright() as playwright, launch(playwright, kind) as browser:
        page = browser.new_page()
        first = visit(page, site.url)
        page.goto(f"{site.url}files.json")  # a document in which nothing runs
        page.evaluate("() => document.body.append(Object.assign(document.createElement('input'), { type: 'file' }))")
        page.set_input_files("input", str(model))
        compiled: list[Any] = page.evaluate(COMPILE, shapes_of(model))
        site.faults["*"] = "refuse"
        page.goto("about:blank")
        again = visit(page, site.url)
    return first, compiled[0], compiled[1], again


def main() -> None:
    folder, *models = map(Path, sys.argv[1:])
    for kind in BROWSERS:
        for model in models:
            rounds = [measure(folder, kind, model) for _ in range(ROUNDS)]
            ready, compiled, heap, again = (statistics.median(column) for column in zip(*rounds, strict=True))
            print(
                f"{kind}: ready {ready:.1f} s, {model.name} compiled {compiled:.1f} s, heap {heap:.0f} MB, "
                f"second visit without network {again:.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
