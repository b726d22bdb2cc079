"""The option of activations decides in place of a model's accuracy_level."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import webnn_compile
from onnx import helper, numpy_helper
from onnx_models import Array, random
from webnn_compile.errors import InputError
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.set_activations import activations_in_bytes, activations_in_floats

K, N, SIZE = 64, 24, 32


def product(level: int) -> onnx.ModelProto:
    packed = np.random.default_rng(0).integers(0, 256, (N, K // SIZE, SIZE // 2)).astype(np.uint8)
    scales = np.abs(random((N, K // SIZE), 1)) * 0.1
    attributes = {"K": K, "N": N, "bits": 4, "block_size": SIZE, "accuracy_level": level}
    graph = helper.make_graph(
        [helper.make_node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", **attributes)],
        "few bits",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, K])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, N])],
        [numpy_helper.from_array(packed, "w"), numpy_helper.from_array(scales.astype(np.float32), "s")],
    )
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def run(level: int, activations: str) -> Array:
    compiled = webnn_compile.compile(product(level), activations=activations)
    return compiled.run({"x": random((1, K), 3)})["y"]


def test_results() -> None:
    floats, quanta = run(0, "model"), run(4, "model")
    assert not np.array_equal(floats, quanta)
    np.testing.assert_array_equal(run(4, "f32"), floats)
    np.testing.assert_array_equal(run(0, "int8"), quanta)
    np.testing.assert_allclose(quanta, floats, atol=0.02 * np.abs(floats).max())


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_is_in_the_result(value: float) -> None:
    x = random((1, K), 3)
    x[0, 40] = value
    assert not np.isfinite(webnn_compile.compile(product(4)).run({"x": x})["y"]).any()


@pytest.mark.parametrize(("level", "change"), [(4, activations_in_bytes), (0, activations_in_floats)])
def test_a_graph_that_has_the_level_stays(level: int, change: object) -> None:
    assert callable(change)
    graph = import_model(product(level))
    assert change(graph) is graph
    other = import_model(product(4 - level))
    assert [n.attributes["accuracy_level"] for n in change(other).nodes] == [level]


def test_other_names_are_refused() -> None:
    with pytest.raises(InputError, match="choose one of model, f32, int8"):
        webnn_compile.compile(product(0), activations="int4")
