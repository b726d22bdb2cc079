"""Models of every kind that quantisers make, on every target: results within a step of onnxruntime's without
optimisations, and those of integer operators the same bits everywhere."""

from __future__ import annotations

import functools
import itertools
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from effort import effort_of
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx_models import Array, model, node, onnxruntime_results, random, random_integers
from onnxruntime import quantization
from test_models import SHARED
from test_photographs import preprocess
from webnn_compile.driver.targets import TARGETS
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.evaluate import evaluate_graph

MICROSOFT = "com.microsoft"
STEPS = 255
"""A step is such a part of the range of a result that nothing rounds."""
MOST = 1e-3
"""Share of elements that may be more than a step off: noise in float32 decides what lies between two quanta."""

BYTES = quantization.QuantType
KINDS: Mapping[str, Mapping[str, Any]] = {
    "qdq-u8s8": {"quant_format": quantization.QuantFormat.QDQ, "activation_type": BYTES.QUInt8, "per_channel": True},
    "qdq-s8s8": {"quant_format": quantization.QuantFormat.QDQ, "activation_type": BYTES.QInt8, "per_channel": True},
    "qoperator": {"quant_format": quantization.QuantFormat.QOperator, "activation_type": BYTES.QUInt8},
    "dynamic": {},
}


def floats() -> onnx.ModelProto:
    """Convolutions, of groups, too, an odd number of channels, residuals, pooling; and attention."""
    shapes = {"w1": (9, 3, 3, 3), "w2": (9, 1, 3, 3), "w3": (9, 9, 1, 1), "w4": (10, 9), "v1": (16, 16), "v2": (16, 16)}
    weights: dict[str, Array] = {
        n: random(s, i) * 0.8 / np.prod(s[1:]) ** 0.5 for i, (n, s) in enumerate(shapes.items())
    }
    weights |= {"b": random((9,), 7) * 0.1, "c": random((10,), 8) * 0.1, "six": np.asarray(6.0), "low": np.asarray(0.0)}
    weights |= {"g": np.abs(random((16,), 9)), "h": random((16,), 10) * 0.1}
    nodes = [
        node("Conv", ["image", "w1", "b"], ["c1"], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Clip", ["c1", "low", "six"], ["r1"]),
        node("Conv", ["r1", "w2", "b"], ["c2"], pads=[1, 1, 1, 1], group=9),
        node("Relu", ["c2"], ["r2"]),
        node("Conv", ["r2", "w3"], ["c3"]),
        node("Add", ["c3", "r1"], ["sum"]),
        node("MaxPool", ["sum"], ["pooled"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("GlobalAveragePool", ["pooled"], ["mean"]),
        node("Flatten", ["mean"], ["flat"]),
        node("Gemm", ["flat", "w4", "c"], ["classes"], transB=1),
        node("MatMul", ["tokens", "v1"], ["q"]),
        node("Add", ["q", "h"], ["p"]),
        node("Transpose", ["p"], ["k"], perm=[0, 2, 1]),
        node("MatMul", ["p", "k"], ["scores"]),
        node("Softmax", ["scores"], ["shares"]),
        node("MatMul", ["shares", "p"], ["mixed"]),
        node("MatMul", ["mixed", "v2"], ["out"]),
        node("Add", ["out", "tokens"], ["z"]),
        node("LayerNormalization", ["z", "g", "h"], ["hidden"]),
    ]
    typed = {n: a.astype(np.float32) for n, a in weights.items()}
    made = model(nodes, {"image": [1, 3, 15, 15], "tokens": [2, 5, 16]}, ["classes", "hidden"], typed)
    return onnx.shape_inference.infer_shapes(made)


def feeds(seed: int) -> dict[str, Array]:
    return {"image": random((1, 3, 15, 15), seed), "tokens": random((2, 5, 16), seed + 1)}


class Samples(quantization.CalibrationDataReader):  # type: ignore[misc]
    def __init__(self) -> None:
        self._samples: Iterator[dict[str, Array]] = iter([feeds(s) for s in (100, 200, 300)])

    def get_next(self) -> dict[str, Array] | None:
        return next(self._samples, None)


@functools.cache
def quantised(kind: str) -> onnx.ModelProto:
    """By onnxruntime's quantiser, which works on files."""
    logging.disable(logging.WARNING)  # that the model was not preprocessed
    try:
        with TemporaryDirectory() as folder:
            source, target = Path(folder, "float.onnx"), Path(folder, "quantised.onnx")
            onnx.save(floats(), source)
            if kind == "dynamic":
                quantization.quantize_dynamic(source, target, weight_type=BYTES.QUInt8)
            else:
                quantization.quantize_static(source, target, Samples(), weight_type=BYTES.QInt8, **KINDS[kind])
            return onnx.load(target)
    finally:
        logging.disable(logging.NOTSET)


OPERATORS = {
    "qdq-u8s8": {"QuantizeLinear", "DequantizeLinear"},
    "qdq-s8s8": {"QuantizeLinear", "DequantizeLinear"},
    "qoperator": {"QLinearConv", "QLinearMatMul", "QLinearAdd", "QLinearGlobalAveragePool"},
    "dynamic": {"DynamicQuantizeLinear", "MatMulInteger", "ConvInteger"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_is_of_its_kind(kind: str) -> None:
    assert {n.op_type for n in quantised(kind).graph.node} >= OPERATORS[kind]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """CUDA is emulated here, which takes half a minute for these models; integers are compared there, too."""
    if metafunc.function is test_results_are_within_a_step:
        targets = [t for t in TARGETS if t != "cuda" or effort_of(metafunc.config) == "all"]
        metafunc.parametrize(("kind", "target"), [*itertools.product(KINDS, targets)])


def test_results_are_within_a_step(kind: str, target: str) -> None:
    need_driver(target)
    proto = quantised(kind)
    compiled = webnn_compile.compile(proto, target)
    assert compiled.backend == target
    for seed in (1, 2, 3):
        assert_within_a_step(proto, compiled.run(feeds(seed)), onnxruntime_results(proto, feeds(seed)))


def assert_within_a_step(proto: onnx.ModelProto, got: Mapping[str, Array], want: Mapping[str, Array]) -> None:
    off = total = 0
    for name, expected in want.items():
        difference = np.abs(got[name].astype(np.float64) - expected)
        off, total = off + int((difference > 1.001 * step_of(proto, name, expected)).sum()), total + expected.size
    assert off <= MOST * total, f"{off} of {total}"


def step_of(proto: onnx.ModelProto, name: str, a: Array) -> float:
    """1 for quanta, the scale for what they mean, a part of the range for others."""
    if a.dtype.kind != "f":
        return 1
    (made,) = (n for n in proto.graph.node if name in n.output)
    scales = {t.name: numpy_helper.to_array(t) for t in proto.graph.initializer}
    if made.op_type == "DequantizeLinear" and made.input[1] in scales:
        return float(scales[made.input[1]].max())
    return float(np.ptp(a)) / STEPS + 1e-6 * float(np.abs(a).max(initial=0))


KEYWORDS = SHARED / "wild"


@pytest.mark.skipif(not KEYWORDS.is_dir(), reason=f"there is no folder {KEYWORDS}")
@pytest.mark.parametrize("target", [t for t in TARGETS if t != "cuda"])
@pytest.mark.parametrize("file", ["micro_kws_m_qdq", "micro_kws_m_static_qoperator"])
def test_keyword_spotting(file: str, target: str) -> None:
    need_driver(target)
    proto = onnx.load(KEYWORDS / f"{file}.onnx")
    (given,) = proto.graph.input
    shape = tuple(d.dim_value or 1 for d in given.type.tensor_type.shape.dim)
    compiled = webnn_compile.compile(proto, target, shapes={given.name: shape})
    assert compiled.backend == target
    dtype = helper.tensor_dtype_to_np_dtype(given.type.tensor_type.elem_type)
    for seed in range(4):
        x = random(shape, seed) if dtype == np.float32 else random_integers(np.random.default_rng(seed), shape, dtype)
        assert_within_a_step(proto, compiled.run({given.name: x}), onnxruntime_results(proto, {given.name: x}))


PHOTOS, MOBILENET = SHARED / "photos", SHARED / "models" / "mobilenetv2_imagenet_int8_qdq.onnx"
with_photographs = pytest.mark.skipif(not (PHOTOS.is_dir() and MOBILENET.is_file()), reason=f"{SHARED} lacks them")


@with_photographs
def test_photographs_are_classified_as_onnxruntime_does() -> None:
    proto = onnx.load(MOBILENET)
    compiled = webnn_compile.compile(proto, dims={"batch_size": 1})
    photographs = sorted(p for p in PHOTOS.iterdir() if p.suffix != ".json")
    assert len(photographs) == 12
    for photograph in photographs:
        images = {"input": preprocess(photograph)}
        (want,), (got,) = onnxruntime_results(proto, images).values(), compiled.run(images).values()
        assert got.argmax() == want.argmax(), photograph.name


@with_photographs
def test_layers_alone_are_within_a_step() -> None:
    """In a deep network noise of float32 changes some quanta, and those many of the next layer, in onnxruntime, too:
    each layer has the operands here that it has there."""
    proto, cut = onnx.load(MOBILENET), onnx.load(MOBILENET)
    quanta = [n.output[0] for n in proto.graph.node if n.op_type == "QuantizeLinear"]
    proto.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in quanta)
    images = {"input": preprocess(PHOTOS / "goldfish.jpg")}
    values = onnxruntime_results(proto, images)
    for node_ in cut.graph.node:
        for i, name in enumerate(node_.input):
            if name in quanta:
                node_.input[i] = f"{name} given"
    given = {f"{name} given": values[name] for name in quanta}
    for name, a in given.items():
        kind = helper.np_dtype_to_tensor_dtype(a.dtype)
        cut.graph.input.append(helper.make_tensor_value_info(name, kind, a.shape))
    cut.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in quanta)
    got = webnn_compile.compile(cut, dims={"batch_size": 1}).run(images | given)
    off = sum(int((got[name] != values[name]).sum()) for name in quanta)
    assert off <= 1e-5 * sum(values[name].size for name in quanta)
    assert all((np.abs(got[name].astype(int) - values[name]) <= 1).all() for name in quanta)


def integer_operators() -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Every operator of ai.onnx whose results are integers, with weights and zero points of the whole range."""
    r = np.random.default_rng(11)
    signed = {"w": (10, 7, 3, 3), "each": (14, 1, 3, 3), "m": (19, 13), "groups": (20, 13)}
    weights: dict[str, Array] = {n: random_integers(r, s, np.int8) for n, s in signed.items()}
    weights |= {"u": random_integers(r, (10, 7, 3, 3), np.uint8), "n": random_integers(r, (19, 13), np.uint8)}
    weights |= {"zeros": random_integers(r, (13,), np.uint8), "z": np.asarray(113, np.uint8)}
    weights |= {"y": np.asarray(77, np.uint8), "s": np.asarray(0.02, np.float32), "t": np.asarray(4.7, np.float32)}
    weights |= {"none": np.asarray(0, np.int8), "bias": random_integers(r, (10,), np.int16).astype(np.int32)}
    weights |= {"nones": np.zeros(10, np.int8), "scales": (r.random(10) * 0.02 + 0.001).astype(np.float32)}
    nodes = [
        node("ConvInteger", ["x", "w", "z"], ["conv"], pads=[1, 0, 1, 1], strides=[2, 1]),
        node("ConvInteger", ["x", "u", "z", "y"], ["odd"], pads=[1, 1, 1, 1]),
        node("ConvInteger", ["x", "each", "z"], ["depthwise"], group=7),
        node("MatMulInteger", ["a", "m", "z"], ["product"]),
        node("MatMulInteger", ["a", "n", "z", "zeros"], ["columns"]),
        node("MatMulInteger", ["a", "c", "z", "y"], ["activations"]),
        node("Transpose", ["d"], ["rows"], perm=[0, 2, 1]),
        node("MatMulInteger", ["rows", "groups", "z"], ["transposed"]),
        node("QLinearConv", ["x", "s", "z", "w", "scales", "nones", "t", "y", "bias"], ["qconv"]),
        node("QLinearMatMul", ["a", "s", "z", "m", "s", "none", "t", "y"], ["qproduct"]),
        node("DynamicQuantizeLinear", ["f"], ["dynamic", "scale", "zero"]),
        node("QuantizeLinear", ["f", "s", "z"], ["quanta"]),
    ]
    results = [n for one in nodes if one.op_type != "Transpose" for n in one.output]
    proto = model(nodes, {}, results, weights, 13)
    inputs = {"x": (2, 7, 6, 5), "a": (3, 5, 19), "c": (3, 19, 4), "d": (3, 20, 5)}
    arrays = {n: random_integers(r, s, np.uint8) for n, s in inputs.items()} | {"f": random((4, 33), 5)}
    for name, a in arrays.items():
        kind = helper.np_dtype_to_tensor_dtype(a.dtype)
        proto.graph.input.append(helper.make_tensor_value_info(name, kind, a.shape))
    return proto, arrays


def operators_of_microsoft() -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Weights are small: without instructions for bytes, onnxruntime adds pairs of products in 16 bits."""
    r = np.random.default_rng(12)
    weights: dict[str, Array] = {"w": r.integers(-64, 64, (19, 13)).astype(np.int8), "none": np.asarray(0, np.int8)}
    weights |= {"s": np.asarray(0.02, np.float32), "t": np.asarray(0.11, np.float32), "z": np.asarray(113, np.uint8)}
    weights |= {"y": np.asarray(77, np.uint8), "bias": r.integers(-900, 900, 13).astype(np.int32)}
    x, y = ["x", "s", "z"], ["y1", "t", "y"]
    nodes = [
        node("QGemm", [*x, "w", "s", "none", "bias", "t", "y"], ["gemm"], domain=MICROSOFT),
        node("QLinearAdd", [*x, *y, "t", "z"], ["sum"], domain=MICROSOFT),
        node("QLinearMul", [*x, *y, "t", "z"], ["product"], domain=MICROSOFT),
        node("QLinearConcat", ["t", "z", *x, *y], ["both"], domain=MICROSOFT, axis=1),
        node("MatMulIntegerToFloat", ["x", "w", "s", "s", "z", "none"], ["floats"], domain=MICROSOFT),
    ]
    imports = [helper.make_opsetid(MICROSOFT, 1)]
    results = [one.output[0] for one in nodes]
    shapes = {"x": [6, 19], "y1": [6, 19]}
    proto = model(nodes, shapes, results, weights, 13, TensorProto.UINT8, imports=imports)
    return proto, {n: random_integers(r, s, np.uint8) for n, s in shapes.items()}


def check_bits(target: str, proto: onnx.ModelProto, arrays: Mapping[str, Array], want: Mapping[str, Array]) -> None:
    need_driver(target)
    compiled = webnn_compile.compile(proto, target)
    assert compiled.backend == target
    got = compiled.run(arrays)
    assert got.keys() == want.keys()
    for name, expected in want.items():
        np.testing.assert_array_equal(got[name], expected, name, strict=True)


@pytest.mark.parametrize("target", TARGETS)
def test_integers_are_the_same_bits_on_every_target(target: str) -> None:
    """All equal the one reference."""
    proto, arrays = integer_operators()
    results = ReferenceEvaluator(proto).run(None, arrays)
    check_bits(target, proto, arrays, dict(zip((o.name for o in proto.graph.output), results, strict=True)))


@pytest.mark.parametrize("target", TARGETS)
def test_operators_of_microsoft_are_the_same_bits_on_every_target(target: str) -> None:
    proto, arrays = operators_of_microsoft()
    check_bits(target, proto, arrays, onnxruntime_results(proto, arrays))


def pairs(seed: int) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Every pair of quanta, added and multiplied by arbitrary scales: some results lie between two quanta but for the
    last bit of a product."""
    r = np.random.default_rng(seed)
    a, b = np.meshgrid(np.arange(256, dtype=np.uint8), np.arange(256, dtype=np.uint8))
    scales = (r.random(2) * 0.05 + 0.002).astype(np.float32)
    weights = {"s": scales[0], "t": scales[1], "sum": scales.sum(), "product": scales.prod() * 100}
    weights |= {n: np.uint8(z) for n, z in zip("zyx", r.integers(0, 256, 3), strict=True)}
    inputs = ["a", "s", "z", "b", "t", "y"]
    nodes = [
        node("QLinearAdd", [*inputs, "sum", "x"], ["added"], domain=MICROSOFT),
        node("QLinearMul", [*inputs, "product", "x"], ["multiplied"], domain=MICROSOFT),
    ]
    constants = {n: np.asarray(value) for n, value in weights.items()}
    shapes, imports = {"a": [256, 256], "b": [256, 256]}, [helper.make_opsetid(MICROSOFT, 1)]
    proto = model(nodes, shapes, ["added", "multiplied"], constants, 13, TensorProto.UINT8, imports=imports)
    return proto, {"a": a, "b": b}


@pytest.mark.parametrize("target", TARGETS)
def test_no_target_fuses_products_of_quanta_with_sums(target: str) -> None:
    """onnxruntime does on some processors, and rounds these few differently."""
    need_driver(target)
    for seed in range(3):
        proto, arrays = pairs(seed)
        got, want = webnn_compile.compile(proto, target).run(arrays), evaluate_graph(import_model(proto), arrays)
        for name, reference in onnxruntime_results(proto, arrays).items():
            np.testing.assert_array_equal(got[name], want[name], name, strict=True)
            assert (got[name] != reference).mean() < 1e-4


@pytest.mark.parametrize("target", ["native", "wasm"])
def test_sums_that_lie_between_two_quanta(target: str) -> None:
    """One plus the error function, as in a quantised Gelu: every other sum is a half but for some 1e-6."""
    weights = {"s": np.float32(0.00784313), "z": np.uint8(128), "one": np.uint8(255), "t": np.float32(0.00392157)}
    weights |= {"none": np.uint8(0), "u": np.float32(0.00784314)}
    add = node("QLinearAdd", ["x", "s", "z", "one", "t", "none", "u", "none"], ["y"], domain=MICROSOFT)
    constants, imports = {n: np.asarray(a) for n, a in weights.items()}, [helper.make_opsetid(MICROSOFT, 1)]
    proto = model([add], {"x": [256]}, ["y"], constants, 13, TensorProto.UINT8, imports=imports)
    arrays = {"x": np.arange(256, dtype=np.uint8)}
    want = onnxruntime_results(proto, arrays)["y"]
    np.testing.assert_array_equal(webnn_compile.compile(proto, target).run(arrays)["y"], want)
