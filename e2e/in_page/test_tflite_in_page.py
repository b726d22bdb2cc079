"""TFLite models compile in a page, which fetches the modules for them with the first one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from page_compiler import backends_of, choose, command_line, compile_chosen
from playwright.sync_api import Page
from server import Site

tflite_models = pytest.importorskip("tflite_models")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A quantised convolution of an image of real numbers."""
    rng = np.random.default_rng(5)
    writer = tflite_models.Writer()
    x = writer.input("x", "float32", (1, 7, 9, 3))
    inside, quanta = writer.tensor("q", "int8", (1, 7, 9, 3), quanta=(0.02, -4)), (0.05, 3)
    scales = rng.uniform(0.002, 0.01, 5)
    data = rng.integers(-127, 128, (5, 3, 3, 3)).astype("int8")
    weights = writer.tensor("w", "int8", data.shape, data, (scales, [0] * 5, 0))
    bias = writer.tensor("b", "int32", (5,), rng.integers(-500, 500, 5).astype("int32"), (0.02 * scales, [0] * 5, 0))
    y, z = writer.tensor("y", "int8", (1, 7, 9, 5), quanta=quanta), writer.tensor("z", "float32", (1, 7, 9, 5))
    writer.operator("QUANTIZE", [x], [inside])
    fields = {"padding": 0, "strideH": 1, "strideW": 1, "fusedActivationFunction": 1}
    writer.operator("CONV_2D", [inside, weights, bias], [y], "Conv2DOptions", fields, version=3)
    writer.operator("DEQUANTIZE", [y], [z], version=2)
    writer.output(z)
    made = tmp_path_factory.mktemp("model") / "net.tflite"
    made.write_bytes(writer.bytes())
    return made


def test_files_and_results(opened: Page, site: Site, path: Path, tmp_path: Path) -> None:
    """As the command line makes them, and as LiteRT computes, within a step."""
    data = np.random.default_rng(6).uniform(-1, 1, (1, 7, 9, 3)).astype(np.float32)
    opened.evaluate("(x) => { globalThis.given = { x }; }", data.ravel().tolist())
    choose(opened, path)
    backends = backends_of(opened)
    ended = compile_chosen(opened, {}, f"Promise.all([hashes(made.files), runOn(made, {backends}, given)])")
    assert "value" in ended, ended
    files, results = ended["value"]
    assert files == command_line(path, tmp_path / "bundle")
    (expected,) = tflite_models.interpreted(path.read_bytes(), [data])
    assert expected.any()
    assert list(results) == backends
    for found in results.values():
        np.testing.assert_allclose(found["z"], expected.ravel(), atol=0.0501)


def test_modules_that_do_not_arrive(page: Page, site: Site, path: Path) -> None:
    """They are fetched again with the next model."""
    site.faults["tflite-*.zip"] = "missing"
    try:
        page.goto(f"{site.url}compile.html")
        page.wait_for_selector("html[data-ready]", state="attached")
        choose(page, path)
        ended = compile_chosen(page)
        assert ended["message"].startswith("the modules of TFLite models cannot be had: the server answered 404")
    finally:
        site.faults.clear()
    assert "value" in compile_chosen(page)
