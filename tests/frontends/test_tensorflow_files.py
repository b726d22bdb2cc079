"""TensorFlow's files as a whole: SavedModels with variables and functions, frozen graphs, names, layouts, and damage.
Graphs are written without TensorFlow."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from damaged_files import damaged
from tensorflow_graphs import (
    Func,
    Sizes,
    Writer,
    varint,
    write_checkpoint,
    write_saved_model,
    write_table,
)
from tensorflow_models import BIAS, REAL, RNG, WEIGHTS, branches, dense, mobile, real
from webnn_compile.driver.build import build
from webnn_compile.driver.options import Options
from webnn_compile.errors import InputError, UnsupportedError
from webnn_compile.frontends.importers import describe_model, find_importer, import_model
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.frontends.tensorflow import read_model
from webnn_compile.frontends.tensorflow.read_model import read_json_graph
from webnn_compile.frontends.tensorflow.read_table import read_table, unsnappy


@pytest.mark.parametrize("restored", [True, False])
def test_a_saved_model_by_its_folder_or_file(restored: bool, tmp_path: Path) -> None:
    folder = dense(tmp_path / "net", restored)
    data = real(2, 3)
    (tmp_path / "link.pb").symlink_to(folder / "saved_model.pb")
    for given in (folder, str(folder), folder / "saved_model.pb", tmp_path / "link.pb"):
        assert find_importer(given).name == "TensorFlow"
        got = webnn_compile.compile(given, dims={"x_0": 2}).run({"x": data})
        np.testing.assert_allclose(got["scores"], data @ WEIGHTS + BIAS, atol=1e-6)
    card = describe_model(folder)
    assert (card.name, card.producer, card.parameters) == ("net", "TensorFlow 2.21.0", 16)
    assert card.operators == {"MatMul": 1, "AddV2": 1}
    assert [(p.name, p.dtype, p.shape) for p in card.inputs] == [("x", "float32", ("x_0", 3))]
    assert [p.name for p in card.outputs] == ["scores"]


def test_any_number_of_rows(tmp_path: Path) -> None:
    model = webnn_compile.compile(dense(tmp_path / "net"), dims={"x_0": (1, 9)})
    for rows in (1, 5, 9):
        data = real(rows, 3)
        np.testing.assert_allclose(model.run({"x": data})["scores"], data @ WEIGHTS + BIAS, atol=1e-6)


def test_variables_of_tensorflow_1(tmp_path: Path) -> None:
    """Restored by nodes of the main graph, or of the name that they have."""
    graph = Writer()
    x = graph.placeholder("x", "float32", [2, 3])
    graph.node("VariableV2", [], "kernel", dtype=REAL, shape=Sizes([3, 4]))
    graph.node("VariableV2", [], "offset", dtype=REAL, shape=Sizes([4]))
    graph.node("Identity", ["kernel"], "kernel/read", T=REAL)
    graph.node("MatMul", [x, "kernel/read"], "product", T=REAL)
    graph.node("BiasAdd", ["product", "offset"], "sum", T=REAL)
    names = graph.nodes.add(op="Const", name="save/names")
    names.attr["value"].tensor.dtype = 7
    names.attr["value"].tensor.string_val.append(b"moving/kernel")
    graph.node("RestoreV2", ["save/Const", "save/names", "save/names"], "save/RestoreV2")
    graph.node("Assign", ["kernel", "save/RestoreV2"], "save/Assign", T=REAL)
    folder = tmp_path / "net"
    write_saved_model(folder, graph, {"rows": ("x:0", "float32", (2, 3))}, {"y": ("sum:0", "float32")}, "predict")
    write_checkpoint(folder / "variables", {"moving/kernel": WEIGHTS, "offset": BIAS})
    data = real(2, 3)
    got = webnn_compile.compile(folder).run({"rows": data})["y"]
    np.testing.assert_allclose(got, data @ WEIGHTS + BIAS, atol=1e-6)


def test_what_a_folder_may_lack(tmp_path: Path) -> None:
    folder = dense(tmp_path / "net")
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match=r"none is a folder without saved_model\.pb"):
        read_model(tmp_path / "none")
    (folder / "variables" / "variables.data-00000-of-00001").unlink()
    with pytest.raises(InputError, match=r"net: there is no variables/variables\.data-00000-of-00001"):
        import_model(folder)
    (folder / "variables" / "variables.index").unlink()
    with pytest.raises(InputError, match=r"its variable 'var1' has no value in variables/variables\.index"):
        import_model(folder)
    with pytest.raises(InputError, match=r"its variable 'var1' has no value"):
        import_model((folder / "saved_model.pb").read_bytes())


def test_it_is_verified_by_onnxruntime(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    folder = dense(tmp_path / "net")
    options = Options(model_inputs(dims={"x_0": 2}), targets=("wasm",), verify=True)
    report = build(folder, tmp_path / "bundle", options, lambda _: None, lambda _: None)
    assert {c.backend for c in report.comparisons} >= {"native"}
    assert all(c.ok for c in report.comparisons)


def test_rows_of_a_variable(tmp_path: Path) -> None:
    graph = Writer()
    ids = graph.placeholder("ids", "int32", [2, 3])
    graph.node("VarHandleOp", [], "table", shared_name="table")
    graph.node("ResourceGather", ["table", ids], "rows", batch_dims=0)
    graph.node("PlaceholderWithDefault", [graph.constant(2.0, "two")], "factor", dtype=REAL)
    graph.node("Mul", ["rows", "factor"], "y", T=REAL)
    folder = tmp_path / "net"
    write_saved_model(folder, graph, {"ids": ("ids:0", "int32", (2, 3))}, {"y": ("y:0", "float32")})
    table = real(7, 4)
    write_checkpoint(folder / "variables", {"table": table})
    data = RNG.integers(0, 7, (2, 3)).astype(np.int32)
    np.testing.assert_allclose(webnn_compile.compile(folder).run({"ids": data})["y"], 2 * table[data], atol=1e-6)


def test_what_is_not_supported_is_said_at_once(tmp_path: Path) -> None:
    graph = Writer()
    at = graph.placeholder("x", "float32", [2, 3])
    for i, op in enumerate(("RandomUniform", "StringJoin", "MyOwn", "MyOwn", "Switch", "AssignVariableOp")):
        at = graph.node(op, [at], f"t{i}")
    (tmp_path / "net.pb").write_bytes(graph.bytes())
    with pytest.raises(UnsupportedError) as raised:
        import_model(tmp_path / "net.pb")
    assert str(raised.value).splitlines() == [
        "net.pb needs what is not supported, 5 in all:",
        "  MyOwn: 2 operators 't3', 't2'",
        "  AssignVariableOp: 1 operator 't5'; it keeps values from one run to the next: save a function that takes and "
        "returns them",
        "  RandomUniform: 1 operator 't0'; its results are random: save the model for inference (training=False)",
        "  StringJoin: 1 operator 't1'; it works on text or files: save the part of the model behind it, which takes "
        "numbers",
        "  Switch: 1 operator 't4'; it is control flow of TensorFlow 1: save the model with "
        "tf.compat.v1.enable_control_flow_v2(), for TensorFlow.js with tensorflowjs_converter --control_flow_v2=True, "
        "or give the SavedModel in place of a frozen graph",
        "Replace or remove these in the model, or save the part of it without them.",
    ]
    assert describe_model(tmp_path / "net.pb").unsupported == (
        "AssignVariableOp",
        "Switch",
        "MyOwn",
        "StringJoin",
        "RandomUniform",
    )


def test_what_nodes_need_is_said_at_once(tmp_path: Path) -> None:
    graph = Writer()
    x = graph.placeholder("x", "float32", [2, 3, 4, 5])
    numbers = [graph.constant(real(5), f"n{i}") for i in range(4)]
    graph.node("FusedBatchNormV3", [x, *numbers], "norm", is_training=True, epsilon=0.01)
    graph.node("ArgMax", ["norm", "norm:1"], "best", T=REAL)
    graph.node("ReverseV2", [x, graph.node("ArgMax", [x, graph.constant(1, "one", "int32")], "at")], "y", T=REAL)
    (tmp_path / "net.pb").write_bytes(graph.bytes())
    with pytest.raises(UnsupportedError, match="2 in all") as raised:
        import_model(tmp_path / "net.pb")
    assert "FusedBatchNormV3 ('norm'): it normalises by the batch" in str(raised.value)
    assert "ReverseV2 ('y'): the axes must be constant, and 'at' is computed" in str(raised.value)


def _loop_of_nodes() -> bytes:
    graph = Writer()
    graph.placeholder("x", "float32", [2])
    graph.node("AddV2", ["x", "b"], "a", T=REAL)
    graph.node("Neg", ["a"], "b", T=REAL)
    graph.node("Neg", ["b"], "y", T=REAL)
    return graph.bytes()


def _recursion() -> bytes:
    graph = Writer()
    graph.placeholder("x", "float32", [2])
    graph.node("PartitionedCall", ["x"], "y", f=Func("f"))
    inner = graph.function("f", {"x": "float32"}, {"y": ("float32", "again:output:0")})
    inner.node("PartitionedCall", ["x"], "again", f=Func("f"))
    return graph.bytes()


def _many_calls() -> bytes:
    """2 to the power of 20 nodes, once functions are inlined."""
    graph = Writer()
    graph.placeholder("x", "float32", [2])
    graph.node("PartitionedCall", ["x"], "y", f=Func("f0"))
    for i in range(20):
        inner = graph.function(f"f{i}", {"x": "float32"}, {"y": ("float32", "b:output:0")})
        inner.node("PartitionedCall", ["x"], "a", f=Func(f"f{i + 1}"))
        inner.node("PartitionedCall", ["a:output:0"], "b", f=Func(f"f{i + 1}"))
    graph.function("f20", {"x": "float32"}, {"y": ("float32", "x")})
    return graph.bytes()


def _large_constant() -> bytes:
    graph = Writer()
    graph.placeholder("x", "float32", [1])
    constant = graph.nodes.add(op="Const", name="c")
    constant.attr["value"].tensor.dtype = 1
    for _ in range(3):
        constant.attr["value"].tensor.tensor_shape.dim.add(size=2000)
    graph.node("AddV2", ["x", "c"], "y", T=REAL)
    return graph.bytes()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"net\.pb is empty; save or download the model again"),
        (b"some words that are no model", r"net\.pb is truncated or damaged: its 28 bytes"),
        (branches()[:-3], r"net\.pb is truncated or damaged: its \d+ bytes are not a whole TensorFlow graph"),
        (_loop_of_nodes(), r"net\.pb is not a valid TensorFlow graph: \w+ \('[ab]'\) depends on itself"),
        (_recursion(), r"not a valid TensorFlow graph: .*the function 'f' calls itself"),
        (_large_constant(), r"8000000000 elements, and a tensor may have"),
    ],
    ids=["empty", "words", "cut", "loop", "recursion", "large"],
)
def test_files_that_are_none(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "net.pb"
    path.write_bytes(data)
    with pytest.raises(InputError, match=message):
        import_model(path)
    with pytest.raises(InputError, match=r"there is no such file"):
        import_model(tmp_path / "none.pb")


def test_calls_of_calls_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["webnn_compile.frontends.tensorflow.convert"], "NODES", 500)
    (tmp_path / "net.pb").write_bytes(_many_calls())
    with pytest.raises(InputError, match=r"net\.pb has more than 500 nodes, with its functions inlined"):
        import_model(tmp_path / "net.pb")


def test_a_signature_is_chosen(tmp_path: Path) -> None:
    graph, folder = Writer(), tmp_path / "net"
    graph.placeholder("x", "float32", [2, 3])
    graph.placeholder("z", "float32", [4])
    graph.node("Neg", ["x"], "y", T=REAL)
    graph.node("Abs", ["z"], "size", T=REAL)
    other = {"z": ("z:0", "float32", (4,))}, {"size": ("size:0", "float32")}
    inputs, outputs = {"x": ("x:0", "float32", (2, 3))}, {"y": ("y:0", "float32")}
    write_saved_model(folder, graph, inputs, outputs, others={"sizes": other})
    z = np.array([-1, 2, -3, 0.5], np.float32)
    np.testing.assert_array_equal(webnn_compile.compile(folder, signature="sizes").run({"z": z})["size"], np.abs(z))
    assert [v.name for v in import_model(folder).inputs] == ["x"]
    card = describe_model(folder, model_inputs(signature="sizes"))
    assert (card.signatures, [p.name for p in card.inputs]) == (("sizes", "serving_default"), ["z"])
    with pytest.raises(InputError, match=r"net has no signature 'size': it has 'serving_default', 'sizes'; give one"):
        import_model(folder, model_inputs(signature="size"))


def test_a_saved_model_without_a_signature(tmp_path: Path) -> None:
    write_saved_model(tmp_path / "net", Writer(), {}, {})
    with pytest.raises(InputError, match=r"net has no signature: save the model with one, by tf\.saved_model\.save"):
        import_model(tmp_path / "net")


def literal(block: bytes) -> bytes:
    """As Snappy writes what repeats nothing."""
    return varint(len(block)) + bytes([61 << 2]) + (len(block) - 1).to_bytes(2, "little") + block


def test_tables_are_read() -> None:
    entries = {f"layers/{i}/kernel".encode(): bytes([i]) * i for i in range(30)}
    assert read_table(write_table(entries)) == entries
    assert read_table(write_table(entries, literal)) == entries
    with pytest.raises(ValueError, match="does not end as a table"):
        read_table(b"text" * 20)


def test_snappy() -> None:
    """Literals, copies of all three kinds, and one that repeats itself."""
    data = bytes([30, 3 << 2]) + b"abcd" + bytes([0b00_000_01, 4]) + bytes([9 << 2 | 2, 2, 0])
    data += bytes([11 << 2 | 3, 4, 0, 0, 0])
    assert unsnappy(data) == b"abcdabcd" + b"cd" * 5 + b"cdcdcdcdcdcd"
    for wrong in (bytes([5, 9 << 2]) + b"ab", bytes([5, 1, 9]), bytes([9, 0]) + b"a"):
        with pytest.raises(ValueError, match=r"literal|copy|in place of"):
            unsnappy(wrong)


def test_a_graph_as_json(tmp_path: Path) -> None:
    """As TensorFlow.js has it: names of fields in other letters, bytes in base64, weights beside it."""
    matrix, vector = ({"dim": [{"size": str(n)} for n in shape]} for shape in ((3, 4), (4,)))
    rows = {"dim": [{"size": "2"}, {"size": "3"}]}
    kinds: dict[str, Any] = {"dtype": {"type": "DT_FLOAT"}}

    def constant(name: str, shape: Any) -> dict[str, Any]:
        return {"name": name, "op": "Const", "attr": {"value": {"tensor": {"dtype": "DT_FLOAT", "tensorShape": shape}}}}

    fused = {"fused_ops": {"list": {"s": ["Qmlhc0FkZA==", "UmVsdQ=="]}}, "transpose_a": {"b": False}}
    topology = {
        "node": [
            {"name": "x", "op": "Placeholder", "attr": {**kinds, "shape": {"shape": rows}}},
            constant("w", matrix),
            constant("b", vector),
            {"name": "y", "op": "_FusedMatMul", "input": ["x", "w", "b"], "attr": fused},
        ],
        "library": {},
        "versions": {"producer": 1882},
    }
    inputs = {"rows": {"name": "x:0", "dtype": "DT_FLOAT", "tensorShape": rows}}
    signature = {"inputs": inputs, "outputs": {"Identity:0": {"name": "y:0"}}}
    weights = [{"name": n, "shape": list(a.shape), "dtype": "float32"} for n, a in (("w", WEIGHTS), ("b", BIAS))]
    manifest = [{"paths": ["group1-shard1of1.bin"], "weights": weights}]
    whole = {"format": "graph-model", "modelTopology": topology, "signature": signature, "weightsManifest": manifest}
    path = tmp_path / "model.json"
    path.write_text(json.dumps(whole))
    (tmp_path / "group1-shard1of1.bin").write_bytes(WEIGHTS.tobytes() + BIAS.tobytes())
    data = real(2, 3)
    got = webnn_compile.compile(path).run({"rows": data})["Identity"]
    np.testing.assert_allclose(got, (data @ WEIGHTS + BIAS).clip(0), atol=1e-6)
    card = describe_model(path)
    assert (card.parameters, card.operators, card.inputs[0].name) == (16, {"_FusedMatMul": 1}, "rows")
    plain = read_json_graph({"modelTopology": topology}, {"w": WEIGHTS, "b": BIAS}, "net")
    assert [p.name for p in (*plain.inputs, *plain.outputs)] == ["x", "y"]
    for wrong in ({}, {"modelTopology": 7}, {"modelTopology": {"node": [{"name": 7}]}}):
        with pytest.raises(InputError, match="net is damaged: its modelTopology is not a graph"):
            read_json_graph(wrong, {}, "net")


def test_an_onnx_model_of_any_name_stays_one(tmp_path: Path) -> None:
    graph = onnx.helper.make_graph([], "g", [], [])
    (tmp_path / "net.pb").write_bytes(onnx.helper.make_model(graph, ir_version=8).SerializeToString())
    assert find_importer(tmp_path / "net.pb").name == "ONNX"


@pytest.mark.parametrize("make", [mobile, branches], ids=["mobile", "branches"])
def test_damaged_graphs_are_imported_or_refused_by_one_error(
    make: Callable[[], bytes], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Cut off, and with bytes that are others."""
    path = tmp_path / "net.pb"
    for data in damaged(make(), request):
        path.write_bytes(data)
        with suppress(InputError, UnsupportedError):
            import_model(path)


@pytest.mark.parametrize(
    "name", ["saved_model.pb", "variables/variables.index", "variables/variables.data-00000-of-00001"]
)
def test_damaged_saved_models(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    folder = dense(tmp_path / "net", restored=name.startswith("saved"))
    for data in damaged((folder / name).read_bytes(), request):
        (folder / name).write_bytes(data)
        for read in (import_model, describe_model):
            with suppress(InputError, UnsupportedError):
                read(folder)
