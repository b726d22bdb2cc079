"""A constant that several kernels read is in the file once, whatever their layouts, and every target reads it right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import assert_close, model, node, onnxruntime_results, random
from webnn_compile.driver.targets import TARGETS
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes

TABLE = random((260, 72))
"""Rows of an embedding; panels of the last product have more columns than it has rows."""


def tied(product: str, table: np.ndarray = TABLE) -> onnx.ModelProto:
    """Logits by the embedding itself: the product reads the table transposed, in one of the ways of exporters."""
    weights = {"e": table}
    last = {
        "gemm": [node("Gemm", ["h", "e"], ["y"], transB=1)],
        "transpose": [node("Transpose", ["e"], ["t"], perm=[1, 0]), node("MatMul", ["h", "t"], ["y"])],
        "folded": [node("MatMul", ["h", "t"], ["y"])],
        "einsum": [node("Einsum", ["h", "e"], ["y"], equation="sh,vh->sv")],
    }[product]
    if product == "folded":
        weights["t"] = table.T.copy()
    nodes = [node("Gather", ["e", "i"], ["g"]), node("Tanh", ["g"], ["h"]), *last]
    return model(nodes, {"i": [5]}, ["y"], weights, dtype=onnx.TensorProto.INT64)


IDS = {"i": np.array([3, 259, 0, 77, 128])}


@pytest.mark.parametrize("product", ["gemm", "transpose", "folded", "einsum"])
def test_the_file_has_an_embedding_once(product: str, tmp_path: Path) -> None:
    onnx.save(tied(product), tmp_path / "m.onnx")
    for targets in ("wasm", "webgpu", "webgl", "wasm,webgpu,webgl"):
        files = webnn_compile.build_bundle(tmp_path / "m.onnx", targets.split(",")).files
        size = sum(len(f.data) for f in files if f.name.startswith("weights"))
        assert TABLE.nbytes <= size < 1.05 * TABLE.nbytes, targets


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("product", ["gemm", "folded"])
def test_results(target: str, product: str) -> None:
    need_driver(target)
    proto = tied(product)
    assert_close(webnn_compile.compile(proto, target=target).run(IDS), onnxruntime_results(proto, IDS))


@pytest.mark.parametrize("target", ["native", "webgl"])
def test_integers_and_halves_are_copied_too(target: str) -> None:
    whole = np.random.default_rng(3).integers(-8, 8, TABLE.shape).astype(np.float32)
    proto = tied("gemm", whole)
    assert_close(webnn_compile.compile(proto, target=target).run(IDS), onnxruntime_results(proto, IDS))


@pytest.mark.parametrize(
    ("table", "operand", "shared"),
    [
        (TABLE, TABLE.T.copy(), True),
        (TABLE, np.where(np.arange(260) == 259, 0, TABLE.T).astype(np.float32), False),
        (TABLE[:100, :100], TABLE[:100, :100].T.copy(), False),
    ],
    ids=["transposed", "of-other-elements", "small"],
)
def test_which_constants_are_transposes(table: np.ndarray, operand: np.ndarray, shared: bool) -> None:
    nodes = [node("Gather", ["e", "i"], ["g"]), node("MatMul", ["g", "t"], ["y"])]
    proto = model(nodes, {"i": [5]}, ["y"], {"e": table, "t": operand}, dtype=onnx.TensorProto.INT64)
    graph = run_graph_passes(import_model(proto))
    assert (len(graph.constants) == 1) == shared
    assert [n.op for n in graph.nodes] == (["Transpose"] if shared else []) + ["Gather", "MatMul"]


def test_what_products_alone_read_has_a_layout_of_its_own_for_each() -> None:
    nodes = [node("MatMul", ["x", "a"], ["h"]), node("MatMul", ["h", "b"], ["y"])]
    proto = model(nodes, {"x": [4, 260]}, ["y"], {"a": TABLE, "b": TABLE.T.copy()})
    assert len(run_graph_passes(import_model(proto)).constants) == 2
