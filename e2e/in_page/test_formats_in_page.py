"""Models of formats other than ONNX and TFLite compile in a page, which fetches modules for them with the first."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from caffe_models import write_model
from compiled import ROOT
from coreml_models import Network
from page_compiler import HEADERS, backends_of, choose, command_line, compile_chosen, open_compiler_page
from playwright.sync_api import Page
from server import serve
from tensorflow_graphs import Type, Writer

TFJS = ROOT / "tests" / "tfjs_models" / "several"


@pytest.fixture
def opened(page: Page, site_folder: Path) -> Iterator[Page]:
    """The compiler has taken no file before."""
    with serve(site_folder, headers=HEADERS) as site:
        yield open_compiler_page(page, site)


def compiled(page: Page, files: list[Path], feeds: dict[str, np.ndarray], out: Path, **dims: int) -> list[dict]:
    """The results of each backend by the outputs' names; the bundle is the command line's."""
    page.evaluate("(given) => { globalThis.given = given; }", {k: x.ravel().tolist() for k, x in feeds.items()})
    choose(page, *files)
    backends = backends_of(page)
    ended = compile_chosen(page, {"dims": dims}, f"Promise.all([hashes(made.files), runOn(made, {backends}, given)])")
    assert "value" in ended, ended
    written, results = ended["value"]
    assert written == command_line(files[0], out, *(o for d in dims for o in ("--dim", f"{d}={dims[d]}")))
    assert list(results) == backends
    return list(results.values())


def test_keras(opened: Page, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed, which writes the model: pip install h5py")
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
    for found in compiled(opened, [path], {"x": x}, tmp_path / "bundle"):
        np.testing.assert_allclose(found["y"], (x @ kernel + bias).clip(0).ravel(), atol=1e-5)


def test_tensorflow_js(opened: Page, tmp_path: Path) -> None:
    recorded = json.loads((TFJS / "run.json").read_text())
    feeds = {name: np.asarray(t["data"], "f4") for name, t in zip("ab", recorded["inputs"], strict=True)}
    files = [TFJS / "model.json", TFJS / "model.weights.bin"]
    for found in compiled(opened, files, feeds, tmp_path / "bundle", batch=2):
        for name, want in zip(("merged", "dot"), recorded["outputs"], strict=True):
            np.testing.assert_allclose(found[name], want["data"], atol=1e-5)


def test_others(opened: Page, tmp_path: Path) -> None:
    """A product with the same weights in each format, one after the other in one page."""
    rng = np.random.default_rng(5)
    weight, x = (rng.uniform(-1, 1, shape).astype("f4") for shape in ((5, 3), (1, 3)))
    for name, (files, given) in {
        "caffe": (caffe(tmp_path, weight), x),
        "graph": (frozen_graph(tmp_path, weight), x),
        "coreml": (core_ml(tmp_path, weight), x[0]),
    }.items():
        for found in compiled(opened, files, {"x": given}, tmp_path / name):
            np.testing.assert_allclose(found["y"], (x @ weight.T).ravel(), atol=1e-5, err_msg=name)


def caffe(folder: Path, weight: np.ndarray) -> list[Path]:
    text = """name: "net" input: "x" input_shape { dim: 1 dim: 3 }
      layer { name: "y" type: "InnerProduct" bottom: "x" top: "y"
              inner_product_param { num_output: 5 bias_term: false } }"""
    path = write_model(folder, text, {"y": (weight,)})
    return [path, path.with_suffix(".caffemodel")]


def frozen_graph(folder: Path, weight: np.ndarray) -> list[Path]:
    writer, path = Writer(), folder / "net.pb"
    operands = [writer.placeholder("x", "float32", [1, 3]), writer.constant(weight.T.copy(), "w")]
    writer.node("MatMul", operands, "y", T=Type("float32"))
    path.write_bytes(writer.bytes())
    return [path]


def core_ml(folder: Path, weight: np.ndarray) -> list[Path]:
    network, path = Network(), folder / "net.mlmodel"
    fields = {"inputChannels": 3, "outputChannels": 5, "weights": weight}
    network.layer("innerProduct", [network.input("x", [3])], ["y"], **fields)
    network.output("y", [5])
    path.write_bytes(network.bytes())
    return [path]
