"""Tensors of element types that models store and nothing computes with: read from wherever a model has them, packed in
the graph as they are in the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from control_flow import graph as subgraph
from onnx import TensorProto, helper, numpy_helper
from onnx_models import model, node
from webnn_compile.dtypes import F32, I8, STORAGE_TYPES, StorageType
from webnn_compile.errors import InputError
from webnn_compile.frontends.model_inputs import ModelInputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.frontends.onnx.read_model import Source
from webnn_compile.frontends.onnx.read_tensor import read_tensor
from webnn_compile.graph.define import define, tensor_of
from webnn_compile.graph.evaluate import evaluate_graph
from webnn_compile.tensor.evaluate import evaluate

Array = np.ndarray[Any, np.dtype[Any]]

SHAPE = (3, 7)


def tensor(number: int, shape: tuple[int, ...] = SHAPE, *, raw: bool = True) -> onnx.TensorProto:
    """Every pattern of bits in turn, in raw data or in int32_data."""
    stored = STORAGE_TYPES[number]
    count = -(-int(np.prod(shape)) // stored.per_word)
    step = 257 if stored.bits > 8 else 1
    words = (np.arange(count) * step * 37 % (1 << (8 * stored.word.bytes))).astype(stored.word.numpy)
    made = TensorProto(name="w", data_type=number, dims=shape)
    if raw:
        made.raw_data = words.tobytes()
    else:
        made.int32_data.extend(words.tolist())
    return made


def values(made: onnx.TensorProto) -> Array:
    stored = STORAGE_TYPES[made.data_type]
    return numpy_helper.to_array(made).astype(stored.held.numpy).astype(np.float32)


def use(name: str = "w") -> list[onnx.NodeProto]:
    return [node("Cast", [name], ["c"], to=TensorProto.FLOAT), node("Add", ["x", "c"], ["y"])]


def initialiser(made: onnx.TensorProto) -> onnx.ModelProto:
    proto = model(use(), {"x": list(made.dims)}, ["y"], opset=25)
    proto.graph.initializer.append(made)
    return proto


def constant(made: onnx.TensorProto) -> onnx.ModelProto:
    return model([node("Constant", [], ["w"], value=made), *use()], {"x": list(made.dims)}, ["y"], opset=25)


def branches(made: onnx.TensorProto) -> onnx.ModelProto:
    """An initialiser of a branch."""
    then = subgraph(use(), [], ["y"])
    then.initializer.append(made)
    choice = node("If", ["b"], ["z"], then_branch=then, else_branch=subgraph([node("Neg", ["x"], ["n"])], [], ["n"]))
    proto = model([choice], {"x": list(made.dims)}, ["z"], opset=25)
    proto.graph.initializer.append(helper.make_tensor("b", TensorProto.BOOL, (), [True]))
    return proto


def result(proto: onnx.ModelProto | Path, shape: tuple[int, ...] = SHAPE) -> Array:
    (found,) = evaluate_graph(import_model(proto), {"x": np.zeros(shape, np.float32)}).values()
    return found


@pytest.mark.parametrize("place", [initialiser, constant, branches])
@pytest.mark.parametrize("number", STORAGE_TYPES, ids=lambda n: STORAGE_TYPES[n].name)
def test_values(number: int, place: Callable[[onnx.TensorProto], onnx.ModelProto]) -> None:
    for raw in (True, False):
        made = tensor(number, raw=raw)
        np.testing.assert_array_equal(result(place(made)), values(tensor(number)))


@pytest.mark.parametrize("place", [initialiser, constant])
@pytest.mark.parametrize("number", [TensorProto.BFLOAT16, TensorProto.INT4])
def test_external_data(number: int, place: Callable[[onnx.TensorProto], onnx.ModelProto], tmp_path: Path) -> None:
    made = tensor(number)
    (tmp_path / "w.bin").write_bytes(b"--" + made.raw_data)
    outside = TensorProto(name="w", data_type=number, dims=SHAPE, data_location=TensorProto.EXTERNAL)
    for key, value in {"location": "w.bin", "offset": "2", "length": str(len(made.raw_data))}.items():
        outside.external_data.add(key=key, value=value)
    path = tmp_path / "net.onnx"
    path.write_bytes(place(outside).SerializeToString())
    np.testing.assert_array_equal(result(path), values(made))


@pytest.mark.parametrize("raw", [True, False])
def test_damaged(raw: bool) -> None:
    """ONNX's checker finds the same in small tensors."""
    made = tensor(TensorProto.INT4, raw=raw)
    if raw:
        made.raw_data = made.raw_data[:-1]
    else:
        made.int32_data.pop()
    with pytest.raises(InputError, match=r"tensor 'w' of shape \[3, 7\] is damaged \(it has 10 words"):
        read_tensor(made, Source("net.onnx"))


@pytest.mark.parametrize("number", STORAGE_TYPES, ids=lambda n: STORAGE_TYPES[n].name)
@pytest.mark.parametrize("shape", [(64, 512), (1, 25007)], ids=["rows", "row"])
def test_a_large_one_is_computed_from_its_words(number: int, shape: tuple[int, ...]) -> None:
    made = tensor(number, shape)
    graph = import_model(initialiser(made))
    (v, folded) = next((v, n) for v, n in graph.folded.items() if n.op_type == "Unpack")
    (words,) = folded.reads
    assert graph.constants[words].nbytes == len(made.raw_data)
    (t,) = define(folded, {words: tensor_of(words, graph.constants[words])})
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(evaluate(t), graph.constants[v])


@pytest.mark.parametrize(("number", "held"), [(TensorProto.INT4, I8), (TensorProto.FLOAT8E5M2, F32)])
def test_inputs_and_outputs_are_of_the_type_that_holds_them(number: int, held: object) -> None:
    proto = model([node("Transpose", ["x"], ["y"])], {"x": [2, 3]}, ["y"], opset=21, dtype=number)
    graph = import_model(proto)
    assert [v.dtype for v in (*graph.inputs, *graph.outputs)] == [held, held]


def test_a_fixed_input() -> None:
    proto = initialiser(tensor(TensorProto.INT4))
    proto.graph.initializer.pop()
    proto.graph.input.append(helper.make_tensor_value_info("w", TensorProto.INT4, SHAPE))
    given = np.arange(-8, 13).reshape(SHAPE) % 8
    graph = import_model(proto, ModelInputs(constants={"w": given}))
    (found,) = evaluate_graph(graph, {"x": np.zeros(SHAPE, np.float32)}).values()
    np.testing.assert_array_equal(found, given)
    with pytest.raises(InputError, match="--fix w: 8 is no int4, which this input is"):
        import_model(proto, ModelInputs(constants={"w": np.full(SHAPE, 8)}))


def test_zero_points_say_what_is_quantized() -> None:
    """By their type, where they are constants, made of these, or inputs."""
    scale, zero = np.asarray(1, np.float32), helper.make_tensor("z", TensorProto.INT4, (1,), [3])
    nodes = [node("Squeeze", ["z"], ["zero"]), node("QuantizeLinear", ["x", "s", "zero"], ["q"])]
    proto = model([*nodes, node("Cast", ["q"], ["y"], to=TensorProto.INT8)], {"x": [4]}, ["y"], {"s": scale}, 21)
    proto.graph.initializer.append(zero)
    x = np.asarray([-100, -5.5, 2.5, 100], np.float32)
    for declared in (False, True):
        if declared:
            proto.graph.initializer.pop()
            proto.graph.input.append(helper.make_tensor_value_info("z", TensorProto.INT4, (1,)))
        feeds = {"x": x} | ({"z": np.asarray([3], np.int8)} if declared else {})
        (found,) = evaluate_graph(import_model(proto), feeds).values()
        np.testing.assert_array_equal(found, np.asarray([-8, -3, 5, 7], np.int8))


def test_zero_points_within_a_branch() -> None:
    nodes = [node("Squeeze", ["z"], ["zero"]), node("QuantizeLinear", ["x", "s", "zero"], ["q"])]
    then = subgraph([*nodes, node("Cast", ["q"], ["c"], to=TensorProto.INT8)], [], ["c"])
    other = subgraph([node("Cast", ["x"], ["d"], to=TensorProto.INT8)], [], ["d"])
    proto = model([node("If", ["b"], ["y"], then_branch=then, else_branch=other)], {"x": [2]}, ["y"], opset=21)
    proto.graph.input.append(helper.make_tensor_value_info("b", TensorProto.BOOL, ()))
    proto.graph.initializer.append(helper.make_tensor("z", TensorProto.INT4, (1,), [3]))
    proto.graph.initializer.append(helper.make_tensor("s", TensorProto.FLOAT, (), [1.0]))
    x = np.asarray([-100, 100], np.float32)
    (found,) = webnn_compile.compile(proto).run({"x": x, "b": np.asarray(True)}).values()
    np.testing.assert_array_equal(found, np.asarray([-8, 7], np.int8))


def test_values_are_like() -> None:
    nodes = [node("CastLike", ["x", "w"], ["r"]), node("Cast", ["r"], ["y"], to=TensorProto.FLOAT)]
    proto = model(nodes, {"x": [3]}, ["y"], opset=21)
    proto.graph.initializer.append(tensor(TensorProto.FLOAT8E4M3FN))
    made = webnn_compile.compile(proto)
    x = np.asarray([0.1, 17, 1e6], np.float32)
    np.testing.assert_array_equal(made.run({"x": x})["y"], np.asarray([0.1015625, 16, 448], np.float32))


@pytest.mark.parametrize("stored", STORAGE_TYPES.values(), ids=lambda t: t.name)
def test_names_and_sizes_are_those_of_onnx(stored: StorageType) -> None:
    number = next(n for n, t in STORAGE_TYPES.items() if t is stored)
    assert TensorProto.DataType.Name(number).lower() == stored.name
    dtype = helper.tensor_dtype_to_np_dtype(number)
    if stored.format is not None:
        patterns = np.arange(1 << stored.bits).astype(stored.word.numpy).view(dtype).astype(np.float32)
        np.testing.assert_array_equal(stored.format.values(), patterns)


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_an_embedding_of_four_bits(dtype: str) -> None:
    """Zero points are 0 by default, where elements are not packed by the model."""
    number = TensorProto.INT4 if dtype == "int4" else TensorProto.UINT4
    table, ids = tensor(number, (5, 32)), np.asarray([3, 0, 4])
    scales = np.linspace(0.1, 1, 10, dtype=np.float32).reshape(5, 2)
    attributes = {"block_size": 16, "gather_axis": 0, "quantize_axis": 1}
    chosen = node("GatherBlockQuantized", ["w", "i", "s"], ["e"], domain="com.microsoft", **attributes)
    imports = [helper.make_opsetid("com.microsoft", 1)]
    nodes = [chosen, node("Add", ["x", "e"], ["y"])]
    proto = model(nodes, {"x": [3, 32]}, ["y"], {"i": ids, "s": scales}, 21, imports=imports)
    proto.graph.initializer.append(table)
    expected = (values(table) * np.repeat(scales, 16, 1))[ids]
    np.testing.assert_array_equal(result(proto, (3, 32)), expected)
