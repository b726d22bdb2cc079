"""Each operator of TensorFlow computes what TensorFlow did when its results were recorded, in
tests/tensorflow_results.npz; where TensorFlow is installed, they are compared with it. Run as a script, this file
records them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import webnn_compile
from tensorflow_graphs import Operand, Row
from tensorflow_rows import ROWS
from webnn_compile.frontends.tensorflow.operators import OPERATORS

RESULTS = Path(__file__).resolve().parent.parent / "tensorflow_results.npz"


@pytest.fixture(scope="module")
def recorded() -> dict[str, np.ndarray]:
    with np.load(RESULTS) as file:
        return dict(file)


@pytest.mark.parametrize("row", ROWS, ids=[r.id for r in ROWS])
def test_operator(row: Row, recorded: dict[str, np.ndarray], tmp_path: Path) -> None:
    path = tmp_path / "net.pb"
    path.write_bytes(row.writer().bytes())
    sizes = {f"x{i}_0": len(o.data) for i, o in enumerate(row.operands) if o.free}
    results = webnn_compile.compile(path, dims=sizes).run(row.feeds)
    for i in row.results:
        got, want = results[f"out{i}"], recorded[f"{row.id}:{i}"]
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(got, want, rtol=row.tolerance, atol=row.tolerance)


@pytest.mark.parametrize("op", ["LeftShift", "RightShift"])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
def test_shifts_are_by_at_most_all_bits_but_one(op: str, dtype: str, tmp_path: Path) -> None:
    """TensorFlow limits counts so (`left_shift_op` and `right_shift_op` of its cwise_ops.h)."""
    numbers = np.array([100, 255, 7, 1, 3, 90]).astype(dtype) * (1 if dtype == "uint8" else -1)
    counts = np.array([0, 1, 7, 31, 63, 100], dtype)
    bits = 8 * numbers.dtype.itemsize
    path = tmp_path / "net.pb"
    path.write_bytes(Row("shift", op, [Operand(numbers), Operand(counts)]).writer().bytes())
    (got,) = webnn_compile.compile(path).run({"x0": numbers, "x1": counts}).values()
    function = np.left_shift if op == "LeftShift" else np.right_shift
    np.testing.assert_array_equal(got, function(numbers, np.minimum(counts, np.array(bits - 1, dtype))))


@pytest.mark.parametrize("constant", [False, True])
def test_shapes_without_elements_are_broadcast(constant: bool, tmp_path: Path) -> None:
    """A size of 1 beside one of 0 becomes 0."""
    shapes = [np.array(shape, np.int32) for shape in ([1, 1, 3], [0, 1])]
    row = Row("empty", "BroadcastArgs", [Operand(shape, constant) for shape in shapes])
    path = tmp_path / "net.pb"
    path.write_bytes(row.writer().bytes())
    (got,) = webnn_compile.compile(path).run(row.feeds).values()
    np.testing.assert_array_equal(got, [1, 0, 3])


def test_every_operator_has_a_row() -> None:
    """Variables, functions, arrays and lists are in other files of tests; the last ones are of TensorFlow.js."""
    elsewhere = (
        *("Assert", "Const", "If", "NoOp", "PartitionedCall", "PlaceholderWithDefault", "ReadVariableOp"),
        *("ResourceGather", "StatefulPartitionedCall", "StatelessIf", "StatelessWhile", "VarHandleOp", "Variable"),
        *("VariableV2", "While", "BatchMatMul", "BatchMatMulV3", "BiasAddV1", "EnsureShape", "FusedBatchNormV2"),
        *(op for op in OPERATORS if op.startswith(("TensorArray", "TensorList"))),
        *("FusedDepthwiseConv2dNative", "Prelu", "_FusedDepthwiseConv2dNative"),
    )
    assert {row.op for row in ROWS} == OPERATORS.keys() - set(elsewhere)


def computed(row: Row) -> dict[str, np.ndarray]:
    """TensorFlow's results."""
    import tensorflow as tf
    from tensorflow.python.framework import op_def_registry

    graph = tf.compat.v1.GraphDef.FromString(row.writer().bytes())
    types = {n.name: n.attr["dtype"].type for n in graph.node if n.op in ("Const", "Placeholder")}
    for node in graph.node:
        definition = op_def_registry.get(node.op)
        declared = {a.name for a in definition.attr}
        if node.name.startswith("out"):
            continue
        at = 0
        for argument in definition.input_arg:
            if argument.type_attr and argument.type_attr not in node.attr:
                node.attr[argument.type_attr].type = types[node.input[at]]
            if argument.name == "args" and "TArgs" in declared:
                node.attr["TArgs"].list.type.extend(types[name] for name in node.input[at:])
            at += node.attr[argument.number_attr].i if argument.number_attr else 1
        assert declared >= set(node.attr), set(node.attr) - declared
    made = tf.Graph()
    with made.as_default():
        plain = tf.compat.v1.GraphDef(node=[n for n in graph.node if not n.name.startswith("out")])
        plain.versions.producer = tf.version.GRAPH_DEF_VERSION
        tf.import_graph_def(plain, name="")
        with tf.compat.v1.Session() as session:
            refs = {f"{row.id}:{i}": f"y:{i}" for i in row.results}
            found = session.run(refs, {f"{name}:0": data for name, data in row.feeds.items()})
            return {key: np.asarray(data) for key, data in found.items()}


@pytest.mark.parametrize("row", ROWS, ids=[r.id for r in ROWS])
def test_results_are_those_of_tensorflow(row: Row, recorded: dict[str, np.ndarray]) -> None:
    pytest.importorskip("tensorflow", reason="tensorflow is not installed: pip install tensorflow")
    for key, want in computed(row).items():
        np.testing.assert_allclose(recorded[key], want, rtol=1e-6, atol=1e-6)


if __name__ == "__main__":
    found: dict[str, np.ndarray] = {}
    for each in ROWS:
        found |= computed(each)
    np.savez_compressed(RESULTS, **found)  # type: ignore[arg-type]
