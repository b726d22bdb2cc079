"""Relaxed instructions and threads that an engine computes wrongly: plain SIMD and one thread take their places."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import ROOT
from harness import BEFORE_WORKERS, open_page
from onnx_models import assert_close, onnxruntime_results
from parallel_model import parallel_model
from parallel_site import X, compile_parallel_site, run
from playwright.sync_api import ConsoleMessage, Page
from server import ISOLATION, Site, serve

RELAXED = 6
"""Instructions that are tried."""

BREAK_ENGINE = f"""(codes) => {{
  {(ROOT / "tests" / "runtime" / "broken_engine.js").read_text()}
  breakEngine(...codes);
}}"""
MADD, NMADD = 0x85, 0x86
MULTIPLY_ADD = {"kernel": "f32x4.relaxed_madd", "nodes": [], "backend": "wasm", "action": "plain-simd"}

BREAK_THREADS = """(fault) => {
  const { Instance } = WebAssembly; // sessions have theirs by instantiate
  WebAssembly.Instance = function (module, imports) {
    const { exports } = new Instance(module, imports);
    const chunk = (body, args, begin, end) => {
      if (fault === 'whole loops alone' && begin === 0) exports.chunk(body, args, begin, end);
    };
    return { exports: { ...exports, ...(exports.chunk && { chunk }) } };
  };
}"""
"""Threads compute nothing, or of a loop the first chunk alone, which is all of it where no other thread takes part."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_parallel_site(tmp_path_factory.mktemp("canaries"), "--canaries", "on")


@pytest.fixture
def site(folder: Path) -> Iterator[Site]:
    with serve(folder, headers=ISOLATION) as served:
        yield served


@pytest.fixture
def warnings(page: Page) -> Iterator[list[str]]:
    found: list[str] = []

    def take(message: ConsoleMessage) -> None:
        if message.type == "warning":
            found.append(message.text)

    page.on("console", take)
    yield found
    page.remove_listener("console", take)


def assert_right(result: dict[str, Any]) -> None:
    want = onnxruntime_results(parallel_model(), {"x": X})["y"]
    assert_close({"y": np.asarray(result["y"], np.float32).reshape(want.shape)}, {"y": want}, 1e-3)


@pytest.mark.parametrize("threads", [1, 3])
def test_an_engine_that_computes_rightly_passes(page: Page, site: Site, warnings: list[str], threads: int) -> None:
    open_page(page, site)
    result = run(page, {"threads": threads})
    assert_right(result)
    checked = RELAXED + (threads > 1)
    assert result["info"]["canaries"] == {"checked": checked, "skipped": 0, "failed": []}
    assert (result["info"]["variant"], result["info"]["threads"], warnings) == ("relaxed", threads, [])


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_plain_simd_takes_the_place_of_a_wrong_instruction(
    page: Page, site: Site, warnings: list[str], worker: bool
) -> None:
    """And so on the next visit; the other module is not fetched."""
    for _ in range(2):
        open_page(page, site)
        page.evaluate(BEFORE_WORKERS % BREAK_ENGINE if worker else BREAK_ENGINE, [MADD, NMADD])
        wrong = run(page, {"worker": worker, "canaries": False})
        assert (wrong["info"]["variant"], "canaries" in wrong["info"]) == ("relaxed", False)
        with pytest.raises(AssertionError):
            assert_right(wrong)
        site.requests.clear()
        warnings.clear()
        result = run(page, {"worker": worker})
        assert result["info"]["variant"] == "plain"
        assert_right(result)
        assert result["info"]["canaries"] == {"checked": RELAXED, "skipped": 0, "failed": [MULTIPLY_ADD]}
        assert not any("relaxed-" in path for path in site.requests)
        (warning,) = warnings
        assert warning.startswith("wasm gives wrong results here, by f32x4.relaxed_madd: ")


@pytest.mark.parametrize("fault", ["nothing", "whole loops alone"])
def test_one_thread_takes_the_place_of_wrong_ones(page: Page, site: Site, warnings: list[str], fault: str) -> None:
    open_page(page, site)
    page.evaluate(BEFORE_WORKERS % BREAK_THREADS, fault)
    unchecked = run(page, {"threads": 3, "canaries": False})
    assert (unchecked["info"]["threads"], "canaries" in unchecked["info"]) == (3, False)
    result = run(page, {"threads": 3})
    assert_right(result)
    info = result["info"]
    assert (info["threads"], info["threadsReason"]) == (1, "several gave wrong results")
    failed = [{"kernel": "threads", "nodes": [], "backend": "wasm", "action": "one-thread"}]
    assert info["canaries"] == {"checked": RELAXED + 1, "skipped": 0, "failed": failed}
    assert warnings == ["wasm gives wrong results here, by several threads: one runs instead"]
