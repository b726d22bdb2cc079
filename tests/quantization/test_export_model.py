"""Graphs as ONNX files, and constants in fewer bits in them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx_models import assert_close, model, node, onnxruntime_results, random
from prepared_models import floats, int4_blocks
from quantization.networks import mixer, pictures, residual
from webnn_compile.errors import UnsupportedError
from webnn_compile.frontends.importers import import_model
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.frontends.onnx.export_model import NEWEST_OPSET, export_model, raise_opset
from webnn_compile.graph.evaluate import evaluate_graph
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.graph.stored import NF4, Codebook, Half, Linear, Stored


def test_a_graph_is_the_model_that_it_was_made_of() -> None:
    proto, (feeds, *_) = residual(), pictures(1)
    exported = export_model(run_graph_passes(import_model(proto)))
    onnx.checker.check_model(exported, full_check=True)
    assert_close(onnxruntime_results(exported, feeds), onnxruntime_results(proto, feeds))


def test_names_of_sizes_stay() -> None:
    proto, tokens = mixer(), np.array([[3, 1, 4, 1, 5]])
    graph = run_graph_passes(import_model(proto, model_inputs(dims={"length": (1, 9)})))
    exported = export_model(graph)
    assert [d.dim_param or d.dim_value for d in exported.graph.input[0].type.tensor_type.shape.dim] == [1, "length"]
    assert_close(onnxruntime_results(exported, {"tokens": tokens}), onnxruntime_results(proto, {"tokens": tokens}))
    again = import_model(exported, model_inputs(dims={"length": (1, 9)}))
    assert_close(evaluate_graph(again, {"tokens": tokens}), onnxruntime_results(proto, {"tokens": tokens}))


def test_constants_that_nodes_compute_stay_as_small_as_they_are() -> None:
    nodes = [node("DequantizeLinear", ["q", "scale"], ["w"], axis=0), node("MatMul", ["x", "w"], ["y"])]
    weights = {"q": integers((64, 64), -127, 128), "scale": scales(64)}
    proto = model(nodes, {"x": [2, 64]}, ["y"], weights)
    exported = export_model(run_graph_passes(import_model(proto)))
    assert exported.ByteSize() < 1.1 * proto.ByteSize()
    feeds = {"x": random((2, 64), 1)}
    assert_close(onnxruntime_results(exported, feeds), onnxruntime_results(proto, feeds))


def test_constants_of_four_bits_stay_as_small_as_they_are() -> None:
    proto = int4_blocks()
    exported = export_model(import_model(proto))
    assert exported.ByteSize() < 1.1 * proto.ByteSize()
    feeds = {"x": random((3, 256), 1)}
    assert_close(onnxruntime_results(exported, feeds), onnxruntime_results(proto, feeds))


def test_values_of_few_bits_are_refused() -> None:
    nodes = [node("Cast", ["x"], ["c"], "narrow", to=onnx.TensorProto.INT4)]
    proto = model([*nodes, node("Cast", ["c"], ["y"], to=onnx.TensorProto.FLOAT)], {"x": [4]}, ["y"], opset=21)
    with pytest.raises(UnsupportedError, match="Cast 'narrow': it has values of few bits"):
        export_model(import_model(proto))
    with pytest.raises(UnsupportedError, match="'DequantizeLinear_0': it has values of few bits"):
        export_model(import_model(floats()))


def integers(shape: tuple[int, ...], low: int, high: int, dtype: type = np.int8) -> np.ndarray:
    return np.random.default_rng(0).integers(low, high, shape).astype(dtype)


def scales(*shape: int) -> np.ndarray:
    return np.abs(random(shape, 1)) + np.float32(0.1)


FORMS: dict[str, Stored] = {
    "half": Half(random((4, 6)).astype(np.float16)),
    "tensor": Linear(integers((4, 6), -127, 128), scales()),
    "channels": Linear(integers((4, 6), -127, 128), scales(4), axis=0),
    "zero points": Linear(integers((4, 6), 0, 256, np.uint8), scales(6), integers((6,), 0, 256, np.uint8), axis=1),
    "int32": Linear(integers((6,), -(2**30), 2**30, np.int32), scales(6), axis=0, bits=32),
    "four bits": Linear(integers((5, 3), -8, 8), scales(5), axis=0, bits=4),
    "blocks": Linear(integers((8, 3), -8, 8), scales(2, 3), axis=0, block=4, bits=4),
    "a last block that is shorter": Linear(integers((3, 9), -8, 8), scales(3, 3), axis=1, block=4, bits=4),
    "codebook": Codebook(integers((4, 6), 0, 16, np.uint8), NF4, scales(6), 1, None),
    "codebook in blocks": Codebook(integers((8, 3), 0, 16, np.uint8), NF4, scales(4, 3), 0, 2),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_stored_constant_is_what_onnxruntime_reads(form: str) -> None:
    stored = FORMS[form]
    decoded = stored.decoded
    proto = model([node("Add", ["x", "w"], ["y"])], {"x": decoded.shape}, ["y"], {"w": decoded}, NEWEST_OPSET)
    graph = import_model(proto)
    (w,) = graph.constants
    exported = export_model(graph, {w: stored})
    onnx.checker.check_model(exported, full_check=True)
    (result,) = onnxruntime_results(exported, {"x": np.zeros(decoded.shape, np.float32)}).values()
    np.testing.assert_array_equal(result, decoded)
    assert stored.bytes == sum(
        len(t.raw_data) for t in exported.graph.initializer if not t.name.endswith(("blocks", "shape"))
    )


def test_opsets_are_raised() -> None:
    proto, (feeds, *_) = residual(opset=12), pictures(1)
    raised = raise_opset(export_model(import_model(proto)))
    assert [i.version for i in raised.opset_import] == [NEWEST_OPSET]
    assert_close(onnxruntime_results(raised, feeds), onnxruntime_results(proto, feeds))


def test_control_flow_is_refused() -> None:
    text = """<ir_version: 10, opset_import: ["" : 18]> g (bool flip, float[2] x) => (float[2] y) {
      y = If(flip) <
        then_branch = a () => (float[2] p) { p = Neg(x) }, else_branch = b () => (float[2] q) { q = Exp(x) }
      >
    }"""
    with pytest.raises(UnsupportedError, match=r"If .* control flow cannot be quantised"):
        export_model(import_model(onnx.parser.parse_model(text)))


def test_one_file_has_one_opset() -> None:
    graph = import_model(residual())
    nodes = [replace(n, opset=11) if n.op == "Softmax" else n for n in graph.nodes]
    with pytest.raises(UnsupportedError, match=r"Softmax .*opset 11 stands beside nodes of opset 17"):
        export_model(replace(graph, nodes=tuple(nodes)))
    nodes = [replace(n, opset=16) if n.op == "Softmax" else n for n in graph.nodes]
    export_model(replace(graph, nodes=tuple(nodes)))
