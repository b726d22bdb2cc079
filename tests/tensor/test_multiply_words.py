"""Products of integers that a run computes: sums over words mean the same integers, on every target."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from kernel_checks import NARROW, WIDE, check_model, stages_of
from onnx import helper
from onnx_models import Array, model, node, onnxruntime_results, random, random_integers
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.lower_graph import lower_graph
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.printer import print_kernel
from webnn_compile.ir.scalar_ops import DOTS, SIGNED_QUADS, UNSIGNED_QUADS, Dot
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.target import WASM_BYTES, WASM_RELAXED, Target, layouts_for
from webnn_compile.tensor.evaluate import evaluate
from webnn_compile.tensor.multiply_bytes import multiply_bytes
from webnn_compile.tensor.multiply_words import multiply_words

Order = tuple[int, ...] | None

PAIRED = [*(replace(t, dots=("dot_pairs",)) for t in (NARROW, WIDE)), WASM_RELAXED]
PAIRS = layouts_for(PAIRED[0])
QUADS = [
    *(
        replace(t, dots=("dot_pairs", op))
        for t in (NARROW, WIDE)
        for op in ("vnni_dot_unsigned_quads", "neon_dot_signed_quads")
    ),
    WASM_BYTES["unsigned"],
    WASM_BYTES["signed"],
]

CASES: dict[str, tuple[tuple[Any, ...], tuple[Any, ...], Order, Order]] = {
    "matrices": ((12, 40), (40, 32), None, None),
    "of an odd depth": ((9, 13), (13, 11), None, None),
    "batches": ((2, 3, 8, 12), (2, 3, 12, 7), None, None),
    "broadcast batches": ((2, 1, 9, 8), (3, 8, 10), None, None),
    "a matrix for each of a batch": ((3, 2, 8, 6), (6, 9), None, None),
    "keys": ((2, 9, 16), (2, 10, 16), None, (0, 2, 1)),
    "keys of heads": ((1, 9, 2, 8), (1, 11, 2, 8), (0, 2, 1, 3), (0, 2, 3, 1)),
    "transposed": ((2, 8, 10), (2, 8, 12), (0, 2, 1), None),
    "both transposed, of an odd depth": ((7, 9), (10, 7), (1, 0), (1, 0)),
    "few rows": ((2, 16), (16, 9), None, None),
}


def products(case: str, of_a: Any, of_b: Any, zeros: tuple[int, int], op: str = "MatMulInteger") -> onnx.ModelProto:
    """A product of inputs a and b, either of which may be transposed."""
    a, b, *orders = CASES[case]
    nodes, names = [], []
    for name, order in zip("ab", orders, strict=True):
        names.append(f"{name}.moved" if order else name)
        if order:
            nodes.append(node("Transpose", [name], [names[-1]], perm=order))
    weights: dict[str, Array] = {"a_zero": np.asarray(zeros[0], of_a), "b_zero": np.asarray(zeros[1], of_b)}
    operands = [*names, *weights]
    if op == "QLinearMatMul":
        weights |= {"s": np.float32(0.02), "t": np.float32(0.03), "r": np.float32(2), "zero": np.asarray(100, of_a)}
        operands = [names[0], "s", "a_zero", names[1], "t", "b_zero", "r", "zero"]
    nodes.append(node(op, operands, ["y"]))
    proto = model(nodes, {"a": a, "b": b}, ["y"], weights, opset=13)
    for i, dtype in zip(proto.graph.input, (of_a, of_b), strict=True):
        i.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return proto


def feeds_of(case: str, of_a: Any, of_b: Any, seed: int = 1) -> dict[str, Array]:
    generator = np.random.default_rng(seed)
    return {n: random_integers(generator, CASES[case][i], d) for i, (n, d) in enumerate((("a", of_a), ("b", of_b)))}


def product_of(case: str, feeds: dict[str, Array], zeros: tuple[int, int]) -> Array:
    a, b = (
        np.transpose(feeds[n].astype(np.int64) - zero, order or range(feeds[n].ndim))
        for n, order, zero in zip("ab", CASES[case][2:], zeros, strict=True)
    )
    return np.asarray(a @ b)


def texts(proto: onnx.ModelProto, target: Target) -> list[str]:
    """The scheduled kernels."""
    lowered = lower_model(run_graph_passes(import_model(proto)), policy=layouts_for(target))
    return [print_kernel(dict(stages)["schedule_cpu"]) for _, stages in stages_of(lowered, target)]


@pytest.mark.parametrize("targets", [PAIRED, QUADS], ids=["pairs", "quads"])
@pytest.mark.parametrize("case", CASES)
def test_all_stages(case: str, targets: list[Target]) -> None:
    n = list(CASES).index(case)
    of_a, of_b, zeros = [(np.int8, np.uint8, (3, 1)), (np.uint8, np.int8, (200, 0)), (np.uint8, np.uint8, (0, 7))][
        n % 3
    ]
    check_model(products(case, of_a, of_b, zeros), [targets[n % len(targets)]], work=60_000)


@pytest.mark.parametrize("target", ["native", "wasm", "wasm-relaxed", "c", "opencl", "webgl"])
@pytest.mark.parametrize("case", CASES)
def test_products_of_inputs(target: str, case: str) -> None:
    """The whole ranges of both types, with zero points at their ends."""
    need_driver(target)
    of_a, of_b, zeros = [(np.uint8, np.int8, (255, -128)), (np.int8, np.uint8, (0, 7))][len(case) % 2]
    feeds = feeds_of(case, of_a, of_b)
    y = webnn_compile.compile(products(case, of_a, of_b, zeros), target).run(feeds)["y"]
    np.testing.assert_array_equal(y, product_of(case, feeds, zeros))


@pytest.mark.parametrize("target", ["native", "wasm", "opencl"])
@pytest.mark.parametrize("case", ["batches", "keys of heads", "of an odd depth"])
def test_requantised(target: str, case: str) -> None:
    """As ONNX defines QLinearMatMul: ties to even, saturated."""
    need_driver(target)
    zeros, feeds = (128, 3), feeds_of(case, np.uint8, np.int8)
    y = webnn_compile.compile(products(case, np.uint8, np.int8, zeros, "QLinearMatMul"), target).run(feeds)["y"]
    scale = np.float32(0.02) * np.float32(0.03) / np.float32(2)
    scaled = product_of(case, feeds, zeros).astype(np.float32) * scale
    np.testing.assert_array_equal(y, np.clip(np.rint(scaled) + 100, 0, 255).astype(np.uint8))


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("target", ["native", "wasm", "opencl"])
def test_extremes(target: str, sign: int) -> None:
    """The largest products, 255 * 255."""
    need_driver(target)
    zeros = (0, 255 if sign < 0 else 0)
    feeds = {"a": np.full((12, 40), 255, np.uint8), "b": np.full((40, 32), 0 if sign < 0 else 255, np.uint8)}
    y = webnn_compile.compile(products("matrices", np.uint8, np.uint8, zeros), target).run(feeds)["y"]
    np.testing.assert_array_equal(y, np.full((12, 32), sign * 40 * 255 * 255))


@pytest.mark.parametrize("target", PAIRED, ids=lambda t: t.name)
@pytest.mark.parametrize("case", ["matrices", "of an odd depth", "broadcast batches", "keys of heads", "transposed"])
def test_pairs_are_multiplied_by_an_instruction(target: Target, case: str) -> None:
    product = texts(products(case, np.uint8, np.int8, (3, 1)), target)[-1]
    assert f" {target.dots[0]} " in product
    assert "<< 16" not in product


@pytest.mark.parametrize("target", QUADS, ids=lambda t: f"{t.name}-{t.dots[-1]}")
@pytest.mark.parametrize("case", ["matrices", "broadcast batches", "keys of heads"])
def test_four_bytes_are_multiplied_by_an_instruction(target: Target, case: str) -> None:
    """And less what zero points add to the sum."""
    product = texts(products(case, np.uint8, np.int8, (3, 1)), target)[-1]
    assert f" {target.dots[1]} " in product
    assert "<< 8" not in product


@pytest.mark.parametrize("dot", [UNSIGNED_QUADS, SIGNED_QUADS], ids=lambda d: str(d.a))
@pytest.mark.parametrize("zeros", [(0, 0), (9, 0), (0, 250), (255, 7)])
def test_the_passes_change_no_sum(dot: Dot, zeros: tuple[int, int]) -> None:
    """Also of quanta that something else reads, and of a matrix by itself."""
    nodes = [
        *(node("QuantizeLinear", [n, "s", f"{n}_zero"], [f"{n}q"]) for n in "ab"),
        node("MatMulInteger", ["aq", "bq", "a_zero", "b_zero"], ["y"]),
        node("DequantizeLinear", ["aq", "s", "a_zero"], ["z"]),
        node("Transpose", ["aq"], ["at"], perm=[1, 0]),
        node("MatMulInteger", ["aq", "at", "a_zero", "a_zero"], ["square"]),
    ]
    weights: dict[str, Array] = {"s": np.float32(0.1)}
    weights |= {f"{n}_zero": np.asarray(zero, np.uint8) for n, zero in zip("ab", zeros, strict=True)}
    proto = model(nodes, {"a": (9, 12), "b": (12, 5)}, ["y", "z", "square"], weights, opset=13)
    before = lower_graph(run_graph_passes(import_model(proto)))
    after = multiply_bytes(before, dot, rows=8)
    op = next(op for op, d in DOTS.items() if d == dot)
    worded = multiply_words(after, ["dot_pairs", op], 8)
    assert worded is not after is not before
    feeds = {"a": 9 * random((9, 12), 1), "b": 9 * random((12, 5), 2)}
    for (_, a), (_, b), (_, c) in zip(before.outputs, after.outputs, worded.outputs, strict=True):
        want = evaluate(a, {t: feeds[name] for name, t in before.inputs})
        np.testing.assert_array_equal(evaluate(b, {t: feeds[name] for name, t in after.inputs}), want)
        np.testing.assert_array_equal(evaluate(c, {t: feeds[name] for name, t in worded.inputs}), want)


def test_few_rows_repay_no_words() -> None:
    assert not any("dot_pairs" in text for text in texts(products("few rows", np.uint8, np.int8, (3, 1)), PAIRED[0]))


VARYING = {
    "queries by keys, weights by values": (
        {"a": (2, "n", 16), "b": (2, "n", 16)},
        [
            node("Transpose", ["b"], ["keys"], perm=(0, 2, 1)),
            node("MatMulInteger", ["a", "keys"], ["p"]),
            node("Cast", ["p"], ["q"], to=onnx.TensorProto.INT8),
            node("MatMulInteger", ["q", "b", "a_zero", "b_zero"], ["y"]),
        ],
    ),
    "a depth of its own": (
        {"a": (12, "n"), "b": ("n", 9)},
        [node("MatMulInteger", ["a", "b", "a_zero", "b_zero"], ["y"])],
    ),
    "transposed": (
        {"a": ("n", 2, 9), "b": (2, 11, "n")},
        [
            node("Transpose", ["a"], ["x"], perm=(1, 2, 0)),
            node("Transpose", ["b"], ["w"], perm=(0, 2, 1)),
            node("MatMulInteger", ["x", "w", "a_zero", "b_zero"], ["y"]),
        ],
    ),
}


def varying(case: str, zeros: tuple[int, int]) -> onnx.ModelProto:
    """A model whose sums are as long as a run decides."""
    inputs, nodes = VARYING[case]
    weights = {f"{n}_zero": np.asarray(zero, np.int8) for n, zero in zip("ab", zeros, strict=True)}
    return model(nodes, inputs, ["y"], weights, opset=13, dtype=onnx.TensorProto.INT8)


@pytest.mark.parametrize("target", ["native", "wasm", "wasm-relaxed", "c", "opencl"])
@pytest.mark.parametrize("case", VARYING)
def test_sizes_that_vary(target: str, case: str) -> None:
    """Whole words and others, and sums of one product and none, less any zero points."""
    need_driver(target)
    runs = [((0, 0), {"n": (0, 21)}), ((3, -128), {"n": (1, 21)}), ((0, 7), {"n": (4, 24, 4)})]
    for zeros, dims in runs if target == "native" else runs[len(target + case) % 3 :][:1]:
        compiled = webnn_compile.compile(varying(case, zeros), target, dims=dims)
        low, high, *multiple = dims["n"]
        for n in [n for n in (0, 1, 2, 3, 8, 13, 21, 24) if low <= n <= high and n % (multiple or [1])[0] == 0]:
            shapes = {k: [n if d == "n" else d for d in shape] for k, shape in VARYING[case][0].items()}
            generator = np.random.default_rng(n)
            feeds = {k: random_integers(generator, shape, np.int8) for k, shape in shapes.items()}
            y = compiled.run(feeds)["y"]
            np.testing.assert_array_equal(y, result_of(case, feeds, zeros), err_msg=f"{n} elements, zeros {zeros}")


def result_of(case: str, feeds: dict[str, Array], zeros: tuple[int, int]) -> Array:
    a, b = (feeds[n].astype(np.int64) for n in "ab")
    if case.startswith("queries"):
        a = (a @ b.swapaxes(1, 2)).astype(np.int8).astype(np.int64)
    elif case == "transposed":
        a, b = np.transpose(a, (1, 2, 0)), np.transpose(b, (0, 2, 1))
    return np.asarray((a - zeros[0]) @ (b - zeros[1]))


@pytest.mark.parametrize("target", [PAIRED[0], *QUADS[:2]], ids=lambda t: f"{t.name}-{t.dots[-1]}")
@pytest.mark.parametrize("case", VARYING)
def test_sums_of_any_length_are_of_words(target: Target, case: str) -> None:
    graph = import_model(varying(case, (3, 1)), model_inputs(dims={"n": (1, 21)}))
    lowered = lower_model(run_graph_passes(graph), policy=layouts_for(target))
    product = [print_kernel(dict(stages)["schedule_cpu"]) for _, stages in stages_of(lowered, target)][-1]
    assert f" {target.dots[-1]} " in product


@pytest.mark.parametrize("target", ["native", "wasm"])
def test_attention_on_quanta_of_any_length(target: str) -> None:
    """Layers between quantisers may be summed in float32, too, as onnxruntime does."""
    scales: dict[str, Array] = {"p": np.float32(1 / 255), "v": np.float32(0.02), "s": np.float32(0.03)}
    scales |= {"zero": np.uint8(0), "middle": np.uint8(128), "signed": np.int8(0)}
    nodes = [
        node("QuantizeLinear", ["a", "p", "zero"], ["aq"]),
        node("DequantizeLinear", ["aq", "p", "zero"], ["ad"]),
        node("QuantizeLinear", ["b", "v", "signed"], ["bq"]),
        node("DequantizeLinear", ["bq", "v", "signed"], ["bd"]),
        node("MatMul", ["ad", "bd"], ["product"]),
        node("QuantizeLinear", ["product", "s", "middle"], ["y"]),
    ]
    proto = model(nodes, {"a": (2, "n", "n"), "b": (2, "n", 16)}, ["y"], scales, opset=13)
    compiled = webnn_compile.compile(proto, target, dims={"n": (8, 41)})
    for n in (8, 9, 30, 41):
        logits = np.exp(3 * random((2, n, n), n))
        feeds = {"a": logits / logits.sum(-1, keepdims=True), "b": random((2, n, 16), n + 1)}
        np.testing.assert_array_equal(compiled.run(feeds)["y"], onnxruntime_results(proto, feeds)["y"], err_msg=str(n))
    lowered = lower_model(run_graph_passes(import_model(proto, model_inputs(dims={"n": (8, 41)}))), policy=PAIRS)
    assert any("dot_pairs" in print_kernel(k) for k in lowered.kernels)
