"""`python e2e/soak`: models of all kinds in both browsers for hours; exit code 1 at a failure. `make soak` calls it."""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:1] = [str(ROOT), *(str(ROOT / folder) for folder in ("tests", "tests/bundle", "e2e"))]

import click  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402
from server import serve  # noqa: E402
from webnn_compile.rpc.browsers import BrowserMissing, launch  # noqa: E402

from soak.models import MODELS  # noqa: E402
from soak.play import Row, compile_models, play  # noqa: E402

BROWSERS = ("chromium", "firefox")
BACKENDS = (("wasm", False), ("wasm", True), ("webgl", False), ("webgpu", False))
"""Each with whether it is in a worker."""
LINE = "{:12} {:9} {:7} {:6} {:>7} {:>9} {:>7} {:>6} {:>6} {:>8} {:>8} {:>15} {:>15} {:>15}"
TITLES = ("model", "browser", "backend", "worker", "seconds", "runs", "aborted", "losses", "loads", "canaries", "error")
MEMORY = ("heap MB", "device MB", "wasm MB")


@click.command(context_settings={"show_default": True})
@click.option("--hours", type=float, default=1.0, help="How long in all.")
@click.option("--model", "models", type=click.Choice(list(MODELS)), multiple=True, default=tuple(MODELS))
@click.option("--browser", "browsers", type=click.Choice(BROWSERS), multiple=True, default=BROWSERS)
def main(hours: float, models: tuple[str, ...], browsers: tuple[str, ...]) -> None:
    """Runs, aborts, loses devices, loads anew, in the foreground and behind, and watches results and memory."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        given = compile_models(models, Path(folder))
        start = time.monotonic()
        grid = list(itertools.product(browsers, BACKENDS, models))
        click.echo(LINE.format(*TITLES, *MEMORY))
        failed = False
        with serve(Path(folder)) as site:
            for browser in browsers:
                try:
                    with launch(playwright, browser) as running:
                        page = running.new_context().new_page()
                        for i, (name, (backend, worker), model) in enumerate(grid):
                            if name != browser:
                                continue
                            share = (start + 3600 * hours - time.monotonic()) / (len(grid) - i)
                            row = play(page, site, Row(model, browser, backend, worker), given[model], share)
                            if row is None:
                                click.echo(f"{model:12} {browser:9} {backend:7} is not in this browser on this machine")
                                continue
                            click.echo(describe(row))
                            failed |= bool(row.failure)
                            if failed:
                                sys.exit(1)
                except BrowserMissing as error:
                    click.echo(f"{browser}: {error}")


def describe(row: Row) -> str:
    """The line of a row, and its failure."""
    counts = row.counts or {}
    numbers = [counts.get(name, "") for name in ("runs", "aborted", "losses", "loads", "canaries")]
    error = f"{counts['error']:.1e}" if counts else ""
    grown = [f"{a / 1e6:.2f} -> {b / 1e6:.2f}" for a, b in (row.heap, row.device, row.memory)]
    where = (row.model, row.browser, row.backend, "yes" if row.worker else "no", f"{row.seconds:.0f}")
    line = LINE.format(*where, *numbers, error, *grown)
    return f"{line}\n  FAILED: {row.failure}" if row.failure else line


if __name__ == "__main__":
    main()
