"""Constants of every form: initialisers, external data, Constant nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_models import assert_close, model, node, onnxruntime_results, random
from webnn_compile.errors import InputError
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.evaluate import evaluate_graph
from webnn_compile.graph.ir import Graph


def known(graph: Graph, name: str) -> Any:
    return next(data for v, data in graph.constants.items() if v.name == name)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"value": numpy_helper.from_array(np.array([[1, 2]], np.int32))}, np.array([[1, 2]], np.int32)),
        ({"value": helper.make_tensor("t", TensorProto.FLOAT16, [2], [0.5, 2])}, np.array([0.5, 2], np.float16)),
        ({"value": helper.make_tensor("t", TensorProto.BOOL, [2], [True, False])}, np.array([True, False])),
        ({"value_float": 0.25}, np.array(0.25, np.float32)),
        ({"value_floats": [0.25, 4.0]}, np.array([0.25, 4], np.float32)),
        ({"value_floats": [1.0]}, np.array([1], np.float32)),
        ({"value_int": -7}, np.array(-7, np.int64)),
        ({"value_ints": [1, 2, 3]}, np.array([1, 2, 3], np.int64)),
        (
            {
                "sparse_value": helper.make_sparse_tensor(
                    helper.make_tensor("v", TensorProto.FLOAT, [2], [5, 6]),
                    helper.make_tensor("i", TensorProto.INT64, [2], [1, 5]),
                    [2, 3],
                )
            },
            np.array([[0, 5, 0], [0, 0, 6]], np.float32),
        ),
        (
            {
                "sparse_value": helper.make_sparse_tensor(
                    helper.make_tensor("v", TensorProto.FLOAT, [2], [5, 6]),
                    helper.make_tensor("i", TensorProto.INT64, [2, 2], [0, 1, 1, 2]),
                    [2, 3],
                )
            },
            np.array([[0, 5, 0], [0, 0, 6]], np.float32),
        ),
    ],
    ids=["tensor", "float16", "bool", "float", "floats", "one-float", "int", "ints", "sparse", "sparse-indices"],
)
def test_constant_node(attributes: dict[str, Any], expected: Any) -> None:
    graph = import_model(model([node("Constant", [], ["c"], **attributes)], {}, ["c"]))
    assert graph.nodes == ()
    data = known(graph, "c")
    assert data.dtype == expected.dtype
    assert data.shape == expected.shape
    np.testing.assert_array_equal(data, expected)


def test_sparse_initialiser() -> None:
    proto = model([node("Add", ["x", "w"], ["y"])], {"x": [4]}, ["y"])
    values = helper.make_tensor("w", TensorProto.FLOAT, [1], [9])
    indices = helper.make_tensor("w_indices", TensorProto.INT64, [1], [2])
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [4]))
    result = evaluate_graph(import_model(proto), {"x": np.zeros(4, np.float32)})
    np.testing.assert_array_equal(result["y"], [0, 0, 9, 0])


@pytest.mark.parametrize("size", [4, 1000])
def test_initialiser_that_is_also_an_input(size: int) -> None:
    weights = random((size,))
    proto = model([node("Mul", ["x", "w"], ["y"])], {"x": [size], "w": [size]}, ["y"], {"w": weights})
    graph = import_model(proto)
    assert [v.name for v in graph.inputs] == ["x"]
    x = random((size,), 1)
    np.testing.assert_allclose(evaluate_graph(graph, {"x": x})["y"], x * weights)


def test_an_unused_initialiser_is_not_read() -> None:
    proto = model([node("Relu", ["x"], ["y"])], {"x": [2]}, ["y"], {"unused": random((5,))})
    assert dict(import_model(proto).constants) == {}


def test_weights_are_not_copied() -> None:
    graph = import_model(model([node("MatMul", ["x", "w"], ["y"])], {"x": [1, 64]}, ["y"], {"w": random((64, 64))}))
    assert known(graph, "w").base is not None


def _save_external(folder: Path) -> tuple[Path, onnx.ModelProto]:
    weights = {"w": random((16, 8)), "b": random((8,), 1), "half": random((8,), 2, np.float16)}
    nodes = [node("MatMul", ["x", "w"], ["m"]), node("Add", ["m", "b"], ["a"])]
    nodes += [node("Cast", ["half"], ["h"], to=1), node("Add", ["a", "h"], ["y"])]
    proto = model(nodes, {"x": [2, 16]}, ["y"], weights)
    path = folder / "model.onnx"
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    onnx.save(copy, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert (folder / "weights.bin").stat().st_size >= sum(w.nbytes for w in weights.values())
    return path, proto


def test_external_data(tmp_path: Path) -> None:
    path, proto = _save_external(tmp_path)
    feeds = {"x": random((2, 16), 3)}
    assert_close(evaluate_graph(import_model(path), feeds), onnxruntime_results(proto, feeds))


def test_missing_external_data(tmp_path: Path) -> None:
    path, _ = _save_external(tmp_path)
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(InputError, match=r"weights\.bin with the data of tensor 'w' is missing; put it beside"):
        import_model(path)


def test_truncated_external_data(tmp_path: Path) -> None:
    path, _ = _save_external(tmp_path)
    file = tmp_path / "weights.bin"
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(InputError, match=r"weights\.bin ends within tensor 'w', which needs 512 bytes at 0"):
        import_model(path)


def test_external_data_that_is_a_folder(tmp_path: Path) -> None:
    path, _ = _save_external(tmp_path)
    (tmp_path / "weights.bin").unlink()
    (tmp_path / "weights.bin").mkdir()
    with pytest.raises(InputError, match=r"weights\.bin, with the data of tensor 'w', cannot be read"):
        import_model(path)


def test_external_data_needs_the_path_of_the_model(tmp_path: Path) -> None:
    path, _ = _save_external(tmp_path)
    with pytest.raises(InputError, match=r"tensor 'w' in the file 'weights\.bin'; give the path of the model"):
        import_model(path.read_bytes())


def _change_external(path: Path, key: str, value: str) -> None:
    proto = onnx.load(path, load_external_data=False)
    for entry in proto.graph.initializer[0].external_data:
        if entry.key == key:
            entry.value = value
    path.write_bytes(proto.SerializeToString())


@pytest.mark.parametrize("location", ["../weights.bin", "/etc/passwd", "a/../../b", "C:\\data\\w", "..\\w", ""])
def test_external_data_outside_the_folder_is_refused(tmp_path: Path, location: str) -> None:
    path, _ = _save_external(tmp_path)
    _change_external(path, "location", location)
    with pytest.raises(InputError, match=r"tensor 'w' refers to the file .* not within the model's folder; this is"):
        import_model(path)


@pytest.mark.parametrize(("key", "value"), [("offset", "-4"), ("length", "8"), ("offset", "soon")])
def test_external_data_with_wrong_places(tmp_path: Path, key: str, value: str) -> None:
    path, _ = _save_external(tmp_path)
    _change_external(path, key, value)
    with pytest.raises(InputError, match=r"tensor 'w' of shape \[16, 8\] needs 512 bytes, and the model refers to"):
        import_model(path)


def test_external_data_behind_a_link(tmp_path: Path) -> None:
    path, proto = _save_external(tmp_path)
    elsewhere = tmp_path / "cache"
    elsewhere.mkdir()
    (tmp_path / "weights.bin").rename(elsewhere / "blob")
    (tmp_path / "weights.bin").symlink_to(elsewhere / "blob")
    feeds = {"x": random((2, 16), 3)}
    assert_close(evaluate_graph(import_model(path), feeds), onnxruntime_results(proto, feeds))


@pytest.mark.parametrize("rows", [4, 64], ids=["small", "large"])
@pytest.mark.parametrize(
    ("columns", "dtype", "message"),
    [
        ([8], np.float16, r"'w' is float16\[(4|64), 8\], and the input of this name is declared as float\[(4|64), 8\]"),
        ([9], np.float32, r"'w' is float\[(4|64), 8\], and the input of this name is declared as float\[(4|64), 9\]"),
        (["n", 9], np.float32, r"and the input of this name is declared as float\[(4|64), 'n', 9\]"),
        ([], np.float32, r"and the input of this name is declared as float\[(4|64)\]"),
    ],
)
def test_initialiser_unlike_the_input_of_its_name(
    columns: list[int | str], dtype: Any, message: str, rows: int
) -> None:
    inputs: dict[str, Any] = {"x": [2, rows], "w": [rows, *columns]}
    weights = {"w": random((rows, 8), 0, dtype)}
    with pytest.raises(InputError, match=rf"is not a valid ONNX model: its initialiser .*{message}; export it again"):
        import_model(model([node("MatMul", ["x", "w"], ["y"])], inputs, ["y"], weights))


def test_an_initialiser_may_fill_what_its_input_leaves_open() -> None:
    proto = model([node("Mul", ["x", "w"], ["y"])], {"x": [4], "w": ["n"]}, ["y"], {"w": random((4,))})
    assert [v.name for v in import_model(proto).inputs] == ["x"]
