"""Small ONNX models for tests, and what onnxruntime computes with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

Array = np.ndarray[Any, np.dtype[Any]]
Shape = Sequence[int | str | None]
node = helper.make_node


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Shape | None],
    outputs: Sequence[str],
    weights: Mapping[str, Array] | None = None,
    opset: int = 17,
    dtype: int = TensorProto.FLOAT,
    **changes: Any,
) -> onnx.ModelProto:
    """A model whose inputs are all of `dtype`; its outputs have no declared type."""
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info(name, dtype, shape) for name, shape in inputs.items()],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(np.asarray(data), name) for name, data in (weights or {}).items()],
    )
    imports = [helper.make_opsetid("", opset), *changes.pop("imports", [])]
    return helper.make_model(graph, opset_imports=imports, ir_version=10, **changes)


def from_text(text: str, opset: int = 21) -> onnx.ModelProto:
    """A model whose graph is `(inputs) => (outputs) {nodes}` in ONNX's textual syntax."""
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]> g {text}')


def random(shape: Sequence[int], seed: int = 0, dtype: Any = np.float32) -> Array:
    """Normally distributed elements."""
    return np.random.default_rng(seed).standard_normal(tuple(shape)).astype(dtype)


def random_integers(generator: np.random.Generator, shape: Sequence[int], dtype: Any) -> Array:
    """Elements of the whole range of an integer type."""
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, tuple(shape), dtype, endpoint=True)


def integer_product(
    op: str, shape: Sequence[int], w: Array, zeros: tuple[int, int], dtype: Any = np.uint8, **attributes: Any
) -> onnx.ModelProto:
    """MatMulInteger or ConvInteger of x, of `shape`, and of w, less these zero points."""
    constants = {"w": w, "x_zero": np.asarray(zeros[0], dtype), "w_zero": np.asarray(zeros[1], w.dtype)}
    product = node(op, ["x", "w", "x_zero", "w_zero"], ["y"], **attributes)
    return model([product], {"x": shape}, ["y"], constants, dtype=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def onnxruntime_results(proto: onnx.ModelProto, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """Outputs by name, unoptimised."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(None, dict(feeds)), strict=True))


def assert_close(got: Mapping[str, Array], want: Mapping[str, Array], tolerance: float = 1e-5) -> None:
    """Same names, dtypes and shapes; values within `tolerance` of max(1, max |reference|)."""
    assert list(got) == list(want)
    for name, expected in want.items():
        actual = got[name]
        assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
        if expected.dtype.kind == "f":
            scale = max(1.0, float(np.abs(expected).max(initial=0)))
            np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)
        else:
            np.testing.assert_array_equal(actual, expected)
