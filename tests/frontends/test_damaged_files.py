"""Damaged ONNX models and files of weights beside a model, and TFLite files that are damaged on purpose: importers make
a model or one plain error of each. The tests of other formats do the same with their files."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import onnx
import pytest
from damaged_files import damaged
from onnx import TensorProto
from onnx_models import model, node, random
from tflite_models import Writer
from webnn_compile.errors import InputError, UnsupportedError
from webnn_compile.frontends.importers import describe_model, import_model
from webnn_compile.frontends.model_inputs import model_inputs


def network() -> bytes:
    nodes = [node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), node("Relu", ["c"], ["r"], "relu")]
    nodes += [node("Shape", ["r"], ["s"]), node("Reshape", ["r", "s"], ["t"]), node("Flatten", ["t"], ["f"])]
    nodes += [node("Gemm", ["f", "g"], ["y"], transB=1)]
    weights = {"w": random((4, 2, 3, 3)), "g": random((3, 64))}
    return model(nodes, {"x": [1, 2, 4, 4]}, ["y"], weights).SerializeToString()


def structured() -> bytes:
    """A loop, a branch and a function."""
    return onnx.parser.parse_model("""
      <ir_version: 10, opset_import: ["" : 18, "own" : 1]>
      net (float[2, 3] x) => (y) <int64 n = {3}, bool go = {1}, float[3] w = {0.5, 1.0, 2.0}> {
        a = own.twice <scale = 2.0> (x)
        b = Loop (n, go, a) <body = step (int64 i, bool c, float[2, 3] v) => (bool d, float[2, 3] u)
                             { d = Identity (c) u = Mul (v, w) }>
        total = ReduceSum <keepdims = 0> (b)
        zero = Constant <value_float = 0.0> ()
        above = Greater (total, zero)
        y = If (above) <then_branch = one () => (float[2, 3] p) { p = Sigmoid (b) },
                        else_branch = other () => (float[2, 3] q) { q = Neg (b) }>
      }
      <domain: "own", opset_import: ["" : 18]>
      twice <scale> (a) => (b) { s = Constant <value_float: float = @scale> () b = Mul (a, s) }
    """).SerializeToString()


def quantised() -> bytes:
    nodes = [node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["d"])]
    nodes += [node("DequantizeLinear", ["w", "t"], ["e"], axis=1), node("MatMul", ["d", "e"], ["y"])]
    weights = {"s": np.float32(0.1), "z": np.uint8(128), "w": np.arange(24, dtype=np.int8).reshape(4, 6)}
    return model(nodes, {"x": [2, 4]}, ["y"], {**weights, "t": random((6,))}).SerializeToString()


@pytest.mark.parametrize("make", [network, structured, quantised])
def test_damaged_onnx_files(make: Callable[[], bytes], request: pytest.FixtureRequest) -> None:
    """Cut off, and with bytes that are others, of which many are those of weights."""
    refused = count = 0
    import_model(make())
    for data in damaged(make(), request):
        count += 1
        with suppress(InputError, UnsupportedError):
            describe_model(data)
        try:
            import_model(data)
        except (InputError, UnsupportedError):
            refused += 1
    assert refused > count // 4


def test_damaged_files_of_safetensors(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    header = json.dumps({"w": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}, "__metadata__": {}}).encode()
    header += b" " * (-len(header) % 8)
    whole = len(header).to_bytes(8, "little") + header + random((4,)).tobytes()
    tensor = TensorProto(name="w", dims=[4], data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="w.safetensors")
    proto = model([node("Add", ["x", "w"], ["y"])], {"x": [4]}, ["y"])
    proto.graph.initializer.append(tensor)
    path = tmp_path / "net.onnx"
    path.write_bytes(proto.SerializeToString())
    (tmp_path / "w.safetensors").write_bytes(whole)
    import_model(path)
    for data in damaged(whole, request):
        (tmp_path / "w.safetensors").write_bytes(data)
        with suppress(InputError, UnsupportedError):
            import_model(path)


@pytest.mark.parametrize("name", ["mobile", "several", "words"])
def test_damaged_shards_of_tensorflow_js(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    folder = Path(__file__).parents[1] / "tfjs_models" / name
    path, shard = tmp_path / "model.json", tmp_path / "model.weights.bin"
    path.write_bytes((folder / path.name).read_bytes())
    whole = (folder / shard.name).read_bytes()
    for data in damaged(whole, request):
        shard.write_bytes(data)
        try:
            import_model(path, model_inputs(dims={"batch": 1}))
        except (InputError, UnsupportedError):
            continue
        assert len(data) == len(whole)


def small() -> bytes:
    """A file of few bytes that has each kind of table: a signature, options, quanta, a loop."""
    writer = Writer()
    x = writer.input("x", "int8", (1, 3), (0.1, 3), signature=(-1, 3))
    weights = writer.tensor("w", "int8", (2, 3), np.arange(6, dtype=np.int8).reshape(2, 3), (0.05, 0))
    y = writer.tensor("y", "int8", (1, 2), quanta=(0.2, -1))
    writer.operator("FULLY_CONNECTED", [x, weights, -1], [y], "FullyConnectedOptions")
    writer.output(y)
    writer.signature("serve", {"x": x}, {"y": y})
    return writer.bytes()


@pytest.mark.parametrize("word", ["itself", "the end", "beyond the end", "before the start"])
def test_offsets_of_a_flatbuffer(word: str) -> None:
    """Each aligned word of the file in turn is an offset to itself, so that tables are parts of themselves, to the end,
    or out of the file."""
    whole = small()
    import_model(whole)
    for at in range(0, len(whole) - 3, 4):
        if 4 <= at < 8:  # the identifier
            continue
        offset = {"itself": 0, "the end": len(whole) - at, "beyond the end": 2**31 - 1, "before the start": 2**32 - 8}
        data = whole[:at] + offset[word].to_bytes(4, "little") + whole[at + 4 :]
        for read in (import_model, describe_model):
            with suppress(InputError, UnsupportedError):
                read(data)


@pytest.mark.parametrize("offset", [0, 4, 2**31 - 1, 2**32 - 1])
def test_the_root_of_a_flatbuffer(offset: int) -> None:
    with pytest.raises(InputError, match="is truncated or damaged"):
        import_model(offset.to_bytes(4, "little") + small()[4:])


def calling(*called: int) -> bytes:
    """A loop around subgraph 1 as its condition and 2 as its body, where each other subgraph is a loop around the ones
    that `called` has for it."""
    writer = Writer()
    for number, body in enumerate((2, *called)):
        if number:
            writer.subgraph(f"graph {number}")
        n = writer.input("n", "int32", ())
        result = writer.tensor("result", "int32", ())
        fields = {"condSubgraphIndex": 1, "bodySubgraphIndex": body}
        writer.operator("WHILE", [n], [result], "WhileOptions", fields)
        writer.output(result)
    return writer.bytes()


@pytest.mark.parametrize("called", [(1, 2), (2, 1), (0, 0), (3, 1, 2)], ids=str)
def test_subgraphs_that_call_themselves(called: tuple[int, ...]) -> None:
    message = r"^the model is not a valid TFLite model: WHILE \('result'\): subgraph \d calls itself; convert it again$"
    with pytest.raises(InputError, match=message):
        import_model(calling(*called))
    describe_model(calling(*called))


def test_a_subgraph_that_is_not_there() -> None:
    writer = Writer()
    go, x = writer.input("go", "bool", ()), writer.input("x", "float32", (2,))
    y = writer.tensor("y", "float32", (2,))
    writer.operator("IF", [go, x], [y], "IfOptions", {"thenSubgraphIndex": 7, "elseSubgraphIndex": -1})
    writer.output(y)
    with pytest.raises(InputError, match=r"IF \('y'\): subgraph 7 does not exist; convert it again$"):
        import_model(writer.bytes())


def test_what_is_not_supported_in_a_subgraph_is_said_once() -> None:
    """A permutation that a run computes, in both branches."""
    writer = Writer()
    go, x = writer.input("go", "bool", ()), writer.input("x", "float32", (2, 3))
    order, y = writer.input("order", "int32", (2,)), writer.tensor("y", "float32", (3, 2))
    writer.operator("IF", [go, x, order], [y], "IfOptions", {"thenSubgraphIndex": 1, "elseSubgraphIndex": 2})
    writer.output(y)
    for name in ("first", "second"):
        writer.subgraph(name)
        a, b = writer.input("a", "float32", (2, 3)), writer.input("b", "int32", (2,))
        c = writer.tensor(f"transposed_{name}", "float32", (3, 2))
        writer.operator("TRANSPOSE", [a, b], [c])
        writer.output(c)
    with pytest.raises(UnsupportedError) as raised:
        import_model(writer.bytes())
    lines = str(raised.value).splitlines()
    assert lines[0] == "the model needs what is not supported, 1 in all:"
    assert lines[1].startswith("  TRANSPOSE ('transposed_first'): ")
    assert len(lines) == 3
