"""The self-test of a bundle's own page: results that the compiler computed, beside those of each backend."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np
import onnx
import pytest
from compiled import compile_site
from decoders.tiny import tiny_decoder
from digits import MODEL
from onnx import TensorProto, helper, numpy_helper
from onnx_models import random
from playwright.sync_api import Locator, Page, expect
from server import STRICT_CSP, Site, serve

START = 60_000
"""Milliseconds in which models start, in software too."""


def lookup() -> onnx.ModelProto:
    """Rows of a table of 100, by as many indices as a run decides: their sum with floats, and integers."""
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["rows"], "lookup"),
        helper.make_node("Add", ["rows", "x"], ["sum"], "add"),
        helper.make_node("ArgMax", ["rows"], ["best"], "argmax", axis=-1, keepdims=0),
    ]
    graph = helper.make_graph(
        nodes,
        "lookup",
        [
            helper.make_tensor_value_info("ids", TensorProto.INT64, ["n"]),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8]),
        ],
        [helper.make_empty_tensor_value_info(name) for name in ("sum", "best")],
        [numpy_helper.from_array(random((100, 8)), "table")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def tamper(bundle: Path) -> None:
    """Changes a weight, and the names and hashes that would tell."""
    (shard,) = bundle.glob("weights-*.bin")
    before = shard.read_bytes()
    weights = np.frombuffer(before, np.float32).copy()
    weights[: weights.size // 2] *= 1.01
    after = weights.tobytes()
    old, new = (sha256(data).hexdigest() for data in (before, after))
    shard.unlink()
    (bundle / f"weights-{new[:12]}.bin").write_bytes(after)
    entry = (bundle / "model.js").read_text().replace(old, new).replace(f"weights-{old[:12]}", f"weights-{new[:12]}")
    (bundle / "model.js").write_text(entry)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("golden")
    onnx.save(lookup(), folder / "lookup.onnx")
    compile_site(MODEL, folder / "digits", "--golden=on")
    compile_site(folder / "lookup.onnx", folder / "lookup", "--dim", "n=1..50", "--golden=on")
    compile_site(folder / "lookup.onnx", folder / "without", "--dim", "n=1..50", "--golden=off", "--targets", "wasm")
    compile_site(folder / "lookup.onnx", folder / "tampered", "--dim", "n=1..50", "--golden=on", "--targets", "wasm")
    tamper(folder / "tampered" / "bundle")
    onnx.save(tiny_decoder(), folder / "decoder.onnx")
    sizes = ("--dim", "batch=1", "--dim", "past=0..59", "--dim", "seq=1..5")
    compile_site(folder / "decoder.onnx", folder / "decoder", *sizes, "--golden=on")
    with serve(folder, headers={"Content-Security-Policy": STRICT_CSP}) as served:
        yield served


def opened(page: Page, site: Site, name: str) -> Locator:
    """The page of a bundle, and the rows of its backends."""
    page.goto(f"{site.url}{name}/bundle/index.html")
    expect(page.get_by_role("status")).to_have_text(re.compile("^Ready"), timeout=START)
    return page.locator("#measured tr")


@pytest.mark.parametrize("name", ["digits", "lookup", "decoder"])
def test_each_backend_passes(page: Page, site: Site, name: str) -> None:
    """By keyboard; the file is fetched for the test alone."""
    site.requests.clear()
    rows = opened(page, site, name)
    assert not [path for path in site.requests if "golden-" in path]
    page.get_by_role("button", name="Self-test").press("Enter")
    status = page.get_by_role("status")
    expect(status).to_have_text(re.compile(r"^The self-test passed"), timeout=START)
    assert len([path for path in site.requests if "golden-" in path]) == 1
    ran = 0
    for backend in ("wasm", "webgl", "webgpu"):
        row = rows.filter(has=page.get_by_role("rowheader", name=backend, exact=True))
        if backend in status.inner_text():
            expect(row.locator(".error")).to_be_visible()
            continue
        ran += 1
        expect(row).to_contain_text(re.compile(r"self-test passed: largest error [\d.e-]+ in \w+, "))
        expect(row).to_contain_text(re.compile(r"[\d.e-]+ of the largest value, [\d.e-]+ allowed"))
    assert ran >= 2
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.goto("about:blank")


def test_other_weights_fail(page: Page, site: Site) -> None:
    rows = opened(page, site, "tampered")
    page.get_by_role("button", name="Self-test").click()
    status = page.get_by_role("status")
    expect(status).to_have_text("The self-test failed on wasm.", timeout=START)
    expect(status).to_have_class("error")
    expect(rows.locator("strong.error")).to_contain_text("self-test FAILED: largest error")
    page.goto("about:blank")


@pytest.mark.parametrize(("button", "said"), [("Self-test", "tested"), ("Measure", "measured")])
def test_where_no_backend_loads_nothing_was_tested(page: Page, site: Site, button: str, said: str) -> None:
    """Neither has passed what was not there to fail."""
    rows = opened(page, site, "lookup")
    page.evaluate(
        "() => { globalThis.Worker = undefined; Object.defineProperty(navigator, 'gpu', { value: undefined }); }"
    )
    page.get_by_label("Backend").select_option("webgpu")
    page.get_by_role("button", name=button).click()
    status = page.get_by_role("status")
    expect(status).to_have_text(f"Nothing was {said}; not possible here: webgpu.", timeout=START)
    expect(status).to_have_class("error")
    expect(rows.locator("div.error")).to_contain_text("UnsupportedError: ")
    page.goto("about:blank")


def test_a_bundle_without_results_has_no_test(page: Page, site: Site) -> None:
    opened(page, site, "without")
    expect(page.get_by_role("button", name="Self-test")).to_have_count(0)
    expect(page.get_by_role("button", name="Measure")).to_be_visible()
    page.goto("about:blank")
