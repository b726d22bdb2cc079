"""TFLite files as a whole: names, sizes, subgraphs, sparse constants, layouts, and damage."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webnn_compile
from click.testing import CliRunner
from damaged_files import damaged
from onnx import helper
from tflite_detector import detector
from tflite_models import Writer, interpreted, litert, schema, seeded
from webnn_compile.cli import main
from webnn_compile.driver.build import build
from webnn_compile.driver.options import Options
from webnn_compile.errors import InputError, UnsupportedError
from webnn_compile.frontends.importers import describe_model, find_importer, import_model
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.frontends.tflite.read_model import read_model
from webnn_compile.graph.passes import run_graph_passes

Array = np.ndarray
RNG = seeded("files")


def real(*shape: int) -> Array:
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def dense(rows: int | None = None) -> Writer:
    """A product of rows of 3 elements; a number of rows of None is free, and 2 in the file."""
    writer = Writer()
    signature = (-1, 3) if rows is None else None
    x = writer.input("serving_default_x:0", "float32", (rows or 2, 3), signature=signature)
    weights = writer.tensor("weights", "float32", (4, 3), np.arange(12, dtype=np.float32).reshape(4, 3) / 10)
    y = writer.tensor("StatefulPartitionedCall:0", "float32", (rows or 2, 4))
    writer.output(y)
    writer.operator("FULLY_CONNECTED", [x, weights, -1], [y], "FullyConnectedOptions")
    writer.signature("serving_default", {"x": x}, {"scores": y})
    return writer


def test_names_are_those_of_the_signature(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(dense(2).bytes())
    for given in (path, str(path), path.read_bytes()):
        graph = import_model(given)
        assert [v.name for v in graph.inputs] == ["x"]
        assert [v.name for v in graph.outputs] == ["scores"]
    card = describe_model(path)
    assert (card.name, card.description, card.parameters) == ("net.tflite", "made by a test", 12)
    assert card.operators == {"FULLY_CONNECTED": 1}
    assert [(p.name, p.dtype, p.shape) for p in card.inputs] == [("x", "float32", (2, 3))]
    assert [p.name for p in card.outputs] == ["scores"]


def two_signatures() -> bytes:
    """A file of two subgraphs, with inputs of different sizes."""
    writer = dense(2)
    writer.subgraph("other")
    a, b = (writer.input(name, "float32", (5,)) for name in ("a:0", "b:0"))
    y = writer.tensor("y:0", "float32", (5,))
    writer.output(y)
    writer.operator("SUB", [a, b], [y], "SubOptions")
    writer.signature("difference", {"a": a, "b": b}, {"c": y})
    return writer.bytes()


def test_a_signature_is_chosen(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(two_signatures())
    feeds = {"a": real(5), "b": real(5)}
    runner = litert.Interpreter(model_path=str(path)).get_signature_runner("difference")
    got = webnn_compile.compile(path, signature="difference").run(feeds)
    np.testing.assert_array_equal(got["c"], runner(**feeds)["c"])
    assert [v.name for v in import_model(path).inputs] == ["x"]
    with pytest.raises(InputError, match=r"net\.tflite has no signature 'x': it has 'serving_default', 'difference'"):
        webnn_compile.compile(path, signature="x")
    card = CliRunner().invoke(main, [str(path), "--inspect", "--signature", "difference"], catch_exceptions=False)
    lines = " ".join(card.output.split())
    assert "Signatures difference, which is taken, serving_default: --signature NAME takes another" in lines
    assert "Input a: float32[5]" in lines


def test_outputs_that_a_signature_alone_names() -> None:
    """The signature runner of LiteRT has the tensors of the signature. ai-edge-quantizer writes such files: the output
    of the subgraph is another tensor, dequantised."""
    writer = Writer()
    x = writer.input("x", "float32", (7,))
    quanta = ((1 / 64, 3), (1 / 32, -5))
    a, b = (writer.tensor(name, "int8", (7,), quanta=q) for name, q in zip("ab", quanta, strict=True))
    real_b, c = writer.tensor("b_dequant", "float32", (7,)), writer.tensor("c", "float32", (7,))
    for inputs, outputs, kind in ((x, a, "QUANTIZE"), (x, b, "QUANTIZE"), (b, real_b, "DEQUANTIZE"), (x, c, "ABS")):
        writer.operator(kind, [inputs], [outputs])
    for i in (a, real_b, c):
        writer.output(i)
    writer.signature("serving_default", {"x": x}, {"first": a, "second": b, "again": a})
    file, data = writer.bytes(), real(7)
    kind = litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    kept: dict[str, Any] = {"experimental_op_resolver_type": kind, "experimental_preserve_all_tensors": True}
    wanted = litert.Interpreter(model_content=file, **kept).get_signature_runner()(x=data)
    results = webnn_compile.compile(file).run({"x": data})
    assert list(results) == ["first", "second", "again"]
    assert results.keys() == wanted.keys()
    for name, want in wanted.items():
        assert (results[name].dtype, results[name].tolist()) == (want.dtype, want.tolist())
    card = describe_model(file)
    assert [(p.name, p.dtype) for p in card.outputs] == [("first", "int8"), ("second", "int8"), ("again", "int8")]


def test_outputs_that_a_signature_does_not_name() -> None:
    """They keep their own names."""
    writer = Writer()
    x = writer.input("x", "float32", (2, 3))
    y, z = (writer.tensor(name, "float32", (2, 3)) for name in "yz")
    writer.operator("RELU", [x], [y])
    writer.operator("ABS", [x], [z])
    for i in (y, z):
        writer.output(i)
    writer.signature("serving_default", {"x": x}, {"sizes": z})
    assert [v.name for v in import_model(writer.bytes()).outputs] == ["y", "sizes"]


def test_a_signature_of_a_format_without_them(tmp_path: Path) -> None:
    model = helper.make_model(helper.make_graph([], "none", [], []))
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    result = CliRunner().invoke(main, [str(tmp_path / "net.onnx"), "--inspect", "--signature", "x"])
    assert result.exit_code == 2
    assert "the signature 'x' is given for a model of ONNX, which has none; leave it" in " ".join(result.output.split())


def test_first_bytes_that_begin_an_onnx_file_too() -> None:
    """The offset of the root may be 0x28, a tag of protobuf."""
    assert find_importer(b"\x28\0\0\0TFL3" + bytes(60)).name == "TFLite"


def test_without_a_signature_tensors_name_themselves() -> None:
    writer = Writer()
    x = writer.input("x", "float32", (2, 3))
    y = writer.tensor("y", "float32", (2, 3))
    writer.output(y)
    writer.operator("RELU", [x], [y])
    writer.output(x)  # an input that is an output
    model = webnn_compile.compile(writer.bytes())
    data = real(2, 3)
    results = model.run({"x": data})
    np.testing.assert_array_equal(results["y"], data.clip(0))
    assert [array.tolist() for array in results.values()][1] == data.tolist()


def test_free_sizes_are_the_files_unless_given() -> None:
    file = dense().bytes()
    assert import_model(file).inputs[0].shape == (2, 3)
    assert import_model(file, model_inputs({"x": (5, 3)})).inputs[0].shape == (5, 3)
    data = real(7, 3)
    for inputs in ({"dims": {"x_0": 7}}, {"dims": {"x_0": (1, 9)}}, {"shapes": {"x": (7, 3)}}):
        got = webnn_compile.compile(file, **inputs).run({"x": data})["scores"]  # type: ignore[arg-type]
        np.testing.assert_allclose(got, interpreted(file, [data])[0], atol=1e-6)


def test_sizes_that_do_not_fit_are_asked_for() -> None:
    """A window of 5 on a free length of which the file says 1."""
    writer = Writer()
    x = writer.input("x", "float32", (1, 1, 1, 1), signature=(1, -1, 1, 1))
    weights = writer.tensor("w", "float32", (1, 5, 1, 1), real(1, 5, 1, 1))
    bias = writer.tensor("b", "float32", (1,), real(1))
    y = writer.tensor("y", "float32", (1, 1, 1, 1), signature=(1, -1, 1, 1))
    writer.output(y)
    fields = {"padding": 1, "strideH": 1, "strideW": 1}
    writer.operator("CONV_2D", [x, weights, bias], [y], "Conv2DOptions", fields)
    with pytest.raises(InputError, match=r"free dimensions:\n  x: declared \[1, x_1, 1, 1\]"):
        import_model(writer.bytes())
    assert import_model(writer.bytes(), model_inputs(dims={"x_1": 9})).outputs[0].shape == (1, 5, 1, 1)


def branches() -> bytes:
    """Where the sum of x is above y: x + y, else x * y; and a loop that doubles until 100 is reached."""
    writer = Writer()
    x, y = writer.input("x", "float32", (3,)), writer.input("y", "float32", (3,))
    axes = writer.tensor("axes", "int32", (1,), np.zeros(1, np.int32))
    total, least = writer.tensor("total", "float32", ()), writer.tensor("least", "float32", ())
    flag = writer.tensor("flag", "bool", ())
    chosen, steps = writer.tensor("chosen", "float32", (3,)), writer.tensor("steps", "int32", ())
    looped, counted = writer.tensor("looped", "float32", (3,)), writer.tensor("counted", "int32", ())
    zero = writer.tensor("zero", "int32", (), np.zeros((), np.int32))
    writer.operator("SUM", [x, axes], [total], "ReducerOptions")
    writer.operator("REDUCE_MAX", [y, axes], [least], "ReducerOptions")
    writer.operator("GREATER", [total, least], [flag])
    writer.operator("IF", [flag, x, y], [chosen], "IfOptions", {"thenSubgraphIndex": 1, "elseSubgraphIndex": 2})
    fields = {"condSubgraphIndex": 3, "bodySubgraphIndex": 4}
    writer.operator("WHILE", [chosen, zero], [looped, counted], "WhileOptions", fields)
    for i in (chosen, looped, counted):
        writer.output(i)
    assert steps >= 0
    for kind in ("ADD", "MUL"):
        writer.subgraph(kind)
        a, b = writer.input("a", "float32", (3,)), writer.input("b", "float32", (3,))
        c = writer.tensor("c", "float32", (3,))
        writer.operator(kind, [a, b], [c], f"{kind.title()}Options")
        writer.output(c)
    writer.subgraph("condition")
    a, n = writer.input("a", "float32", (3,)), writer.input("n", "int32", ())
    axes = writer.tensor("axes", "int32", (1,), np.zeros(1, np.int32))
    most, limit = writer.tensor("most", "float32", ()), writer.tensor("limit", "float32", (), np.float32(100))
    goes_on = writer.tensor("goes_on", "bool", ())
    writer.operator("REDUCE_MAX", [a, axes], [most], "ReducerOptions")
    writer.operator("LESS", [most, limit], [goes_on])
    writer.output(goes_on)
    writer.subgraph("body")
    a, n = writer.input("a", "float32", (3,)), writer.input("n", "int32", ())
    one = writer.tensor("one", "int32", (), np.ones((), np.int32))
    twice, next_n = writer.tensor("twice", "float32", (3,)), writer.tensor("next", "int32", ())
    writer.operator("ADD", [a, a], [twice], "AddOptions")
    writer.operator("ADD", [n, one], [next_n], "AddOptions")
    writer.output(twice)
    writer.output(next_n)
    assert steps
    return writer.bytes()


@pytest.mark.parametrize("x", [(1, 2, 3), (0.5, -2, 0.25), (500, 1, 1)])
@pytest.mark.parametrize("target", ["native", "wasm", "webgl"])
def test_branches_and_loops(x: Sequence[float], target: str) -> None:
    file = branches()
    feeds = [np.array(x, np.float32), np.array([1, 2, 0.5], np.float32)]
    results = webnn_compile.compile(file, target=target).run(dict(zip("xy", feeds, strict=True)))
    for got, want in zip(results.values(), interpreted(file, feeds), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def mobile() -> bytes:
    """As MobileNet has it: a convolution of a picture, then depthwise ones with residuals, a squeeze, a classifier."""
    writer = Writer()
    at = writer.input("image", "float32", (1, 16, 16, 3))

    def conv(
        x: int, inputs: int, outputs: int, stride: int = 1, deep: bool = False, activation: int = 3, size: int = 16
    ) -> int:
        k = 3 if deep or inputs == 3 else 1
        shape = (1, k, k, outputs) if deep else (outputs, k, k, inputs)
        weights, bias = (
            writer.tensor("w", "float32", shape, real(*shape)),
            writer.tensor("b", "float32", (outputs,), real(outputs)),
        )
        y = writer.tensor("y", "float32", (1, size, size, outputs))
        fields = {"padding": 0, "strideH": stride, "strideW": stride, "fusedActivationFunction": activation}
        fields |= {"depthMultiplier": 1} if deep else {}
        kind, options = ("DEPTHWISE_CONV_2D", "DepthwiseConv2DOptions") if deep else ("CONV_2D", "Conv2DOptions")
        writer.operator(kind, [x, weights, bias], [y], options, fields)
        return y

    at = conv(at, 3, 8, stride=2, size=8)
    for _ in range(2):
        wide = conv(at, 8, 24, size=8)
        narrow = conv(conv(wide, 24, 24, deep=True, size=8), 24, 8, activation=0, size=8)
        y = writer.tensor("sum", "float32", (1, 8, 8, 8))
        writer.operator("ADD", [at, narrow], [y], "AddOptions")
        at = y
    axes = writer.tensor("axes", "int32", (2,), np.array([1, 2], np.int32))
    means, scores = writer.tensor("means", "float32", (1, 8)), writer.tensor("scores", "float32", (1, 5))
    writer.operator("MEAN", [at, axes], [means], "ReducerOptions", {"keepDims": False})
    weights, bias = writer.tensor("w", "float32", (5, 8), real(5, 8)), writer.tensor("b", "float32", (5,), real(5))
    writer.operator("FULLY_CONNECTED", [means, weights, bias], [scores], "FullyConnectedOptions")
    writer.output(scores)
    return writer.bytes()


@pytest.mark.parametrize("target", ["native", "wasm", "webgpu", "webgl"])
def test_no_transpose_is_left_between_convolutions(target: str) -> None:
    """One of the input is left: a part of the kernel that brings it into the order of the first convolution."""
    file = mobile()
    graph = run_graph_passes(import_model(file))
    assert [n.inputs[0] for n in graph.nodes if n.op == "Transpose"] == [graph.inputs[0]]
    data = real(1, 16, 16, 3)
    got = webnn_compile.compile(file, target=target).run({"image": data})["scores"]
    np.testing.assert_allclose(got, interpreted(file, [data])[0], atol=2e-5)


def sparse() -> tuple[bytes, Array]:
    """A matrix of blocks of 2 x 2, of which few are there, made dense by DENSIFY and multiplied."""
    blocks = RNG.uniform(0, 1, (3, 4)) < 0.4
    matrix = real(6, 8) * np.kron(blocks, np.ones((2, 2), np.float32))
    writer = Writer()
    x = writer.input("x", "float32", (2, 8))
    rows, columns = np.nonzero(blocks)
    values = np.concatenate(
        [matrix[2 * r : 2 * r + 2, 2 * c : 2 * c + 2].reshape(-1) for r, c in zip(rows, columns, strict=True)]
    )
    weights = writer.tensor("sparse", "float32", (6, 8), values)
    s = schema.SparsityParametersT()
    s.traversalOrder, s.blockMap = [0, 1, 2, 3], [0, 1]

    def level(size: int = 0, segments: Any = None, indices: Any = None) -> Any:
        d = schema.DimensionMetadataT()
        d.format, d.denseSize = (0, size) if segments is None else (1, 0)
        if segments is not None:
            for name, numbers in (("arraySegments", segments), ("arrayIndices", indices)):
                vector = schema.Uint8VectorT()
                vector.values = np.asarray(numbers, np.uint8)
                setattr(d, name, vector)
                setattr(d, f"{name}Type", schema.SparseIndexVector.Uint8Vector)
        return d

    segments = np.concatenate([[0], np.cumsum(blocks.sum(1))])
    s.dimMetadata = [level(3), level(segments=segments, indices=columns), level(2), level(2)]
    writer.tensors[weights].sparsity = s
    whole, y = writer.tensor("dense", "float32", (6, 8)), writer.tensor("y", "float32", (2, 6))
    writer.operator("DENSIFY", [weights], [whole], "DensifyOptions")
    writer.operator("FULLY_CONNECTED", [x, whole, -1], [y], "FullyConnectedOptions")
    writer.output(y)
    return writer.bytes(), matrix


def test_sparse_constants() -> None:
    file, matrix = sparse()
    np.testing.assert_array_equal(read_model(file).subgraphs[0].tensors[1].data, matrix)
    data = real(2, 8)
    np.testing.assert_allclose(webnn_compile.compile(file).run({"x": data})["y"], data @ matrix.T, atol=1e-6)


def test_what_is_not_supported_is_said_at_once() -> None:
    writer = Writer()
    x = writer.input("x", "float32", (2, 3))
    for i, kind in enumerate(("VAR_HANDLE", "FlexErf", "MyOwn", "MyOwn")):
        writer.operator(kind, [x], [writer.tensor(f"t{i}", "float32", (2, 3))])
    writer.output(3)
    with pytest.raises(UnsupportedError) as raised:
        import_model(writer.bytes())
    assert type(raised.value) is UnsupportedError
    assert str(raised.value).splitlines() == [
        "the model needs what is not supported, 3 in all:",
        "  MyOwn (custom): 2 operators 't2', 't3'",
        "  FlexErf (custom): 1 operator 't1'; it is TensorFlow's own: convert the model without SELECT_TF_OPS",
        "  VAR_HANDLE: 1 operator 't0'; it keeps values from one run to the next: convert the form of the model that "
        "takes and returns them",
        "Replace or remove these in the model, or convert it in another way.",
    ]


@pytest.mark.parametrize("kind", ["READ_VARIABLE", "ASSIGN_VARIABLE"])
def test_what_keeps_values_is_refused(kind: str) -> None:
    writer = Writer()
    x = writer.input("x", "float32", (2, 3))
    writer.operator(kind, [x], [writer.tensor("y", "float32", (2, 3))])
    writer.output(1)
    with pytest.raises(UnsupportedError, match=f"{kind}: 1 operator 'y'; it keeps values from one run to the next"):
        import_model(writer.bytes())


def test_subgraphs_that_nothing_calls_are_left_out() -> None:
    writer = dense(2)
    writer.subgraph("initialisation")
    x = writer.input("x", "float32", (2, 3))
    writer.operator("VAR_HANDLE", [x], [writer.tensor("y", "float32", (2, 3))])
    assert [n.op for n in run_graph_passes(import_model(writer.bytes())).nodes] == ["Gemm"]
    assert describe_model(writer.bytes()).operators == {"FULLY_CONNECTED": 1}


def test_it_is_verified_by_onnxruntime(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = tmp_path / "net.tflite"
    path.write_bytes(mobile())
    options = Options(targets=("wasm",), verify=True)
    report = build(path, tmp_path / "bundle", options, lambda _: None, lambda _: None)
    assert {c.backend for c in report.comparisons} >= {"native"}
    assert all(c.ok for c in report.comparisons)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "net.tflite is empty; convert or download the model again"),
        (b"some words that are no model", "net.tflite is not a TFLite model: its bytes 4 to 7 are not TFL3"),
        (b"\x1c\0\0\0TFL3", "net.tflite is truncated or damaged: its 8 bytes are not a whole TFLite model"),
    ],
)
def test_files_that_are_none(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(data)
    for read in (import_model, describe_model):
        with pytest.raises(InputError, match=message):
            read(path)
    with pytest.raises(InputError, match=r"there is no such file"):
        import_model(tmp_path / "none.tflite")


@pytest.mark.parametrize(
    "make", [mobile, branches, detector, lambda: sparse()[0]], ids=["mobile", "branches", "detector", "sparse"]
)
def test_damaged_files_are_imported_or_refused_by_one_error(make: Any, request: pytest.FixtureRequest) -> None:
    """Cut off, and with bytes that are others, of which the first are those of tables."""
    for data in damaged(make(), request, kept=8):
        with suppress(InputError, UnsupportedError):
            import_model(data)
