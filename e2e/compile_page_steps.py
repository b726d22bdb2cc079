"""Steps that tests of the page that compiles models take on it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper
from page_compiler import CSP
from playwright.sync_api import Page
from server import Site, serve

START = 120_000
"""Milliseconds in which the compiler starts, or a model."""


@contextmanager
def serve_page(folder: Path) -> Iterator[Site]:
    """Below a sub-path, without the headers that would isolate it: its service worker adds them."""
    policy = f"{CSP}; img-src 'self' blob: data:"
    with serve(folder, prefix="a/site", headers={"Content-Security-Policy": policy}) as served:
        yield served


def open_site(page: Page, site: Site) -> Page:
    """The page with its compiler, which the tests of a module share."""
    if not page.url.startswith(site.url) or page.get_attribute("body", "data-state") in ("loading", "error"):
        page.goto(site.url)
        wait(page, "ready")
    return page


def wait(page: Page, *states: str) -> None:
    """Waits for one of the states; fails with the page's problem as soon as it shows one in another state."""
    reached = ", ".join(f"body[data-state={s}]" for s in states)
    page.wait_for_selector(f"{reached}, #problem:not([hidden])", timeout=START)
    assert page.get_attribute("body", "data-state") in states, page.inner_text("#problem")


def drop(page: Page, *files: Path, state: str = "running") -> None:
    """Chooses files, and waits for what comes of them."""
    page.set_input_files("#files", [str(f) for f in files])
    page.wait_for_selector(f"#card-name:text-is('{files[0].name}')", timeout=START)
    wait(page, state)
    page.wait_for_selector("body[data-busy='']", timeout=START)


def dense_model(path: Path, first: object = 1) -> Path:
    weights = np.random.default_rng(1).standard_normal((6, 4)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], "dense")],
        "dense",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [first, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [first, 4])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def enter(page: Page, field: str, number: str) -> None:
    """Types, since `fill` appends to a field of numbers in Firefox."""
    page.click(field)
    page.keyboard.press("Control+A")
    page.keyboard.type(number)


def numbers(shown: str, name: str) -> list[float]:
    """The numbers behind a name in the text of an output."""
    found = re.search(rf"^{name}\s+(.*)", shown, re.MULTILINE)
    assert found, shown
    return [float(n) for n in re.findall(r"-?[\d.]+(?:e-?\d+)?", found[1])]


def run_on_file(page: Page, values: np.ndarray, path: Path, name: str) -> None:
    """Runs the model on a file of NumPy's as the input of that name."""
    np.save(path, values)
    page.check("#how-tensors")
    page.select_option(f"select[data-input='{name}']", "file")
    page.set_input_files(f"input[data-input='{name}']", str(path))
    runs = int(page.get_attribute("#results", "data-runs") or 0)
    page.click("#run")
    page.wait_for_selector(f"#results[data-runs='{runs + 1}']", timeout=START)
