"""Products between DequantizeLinear nodes become products of integers, on the targets on which those are faster, and
mean the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from graph_checks import check_pass, ops
from kernel_checks import WIDE, stages_of
from onnx_models import Array, model, node, onnxruntime_results, random
from webnn_compile.costs import CPU_COSTS
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.integer_products import integer_products
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.forms import Contraction
from webnn_compile.ir.printer import print_kernel
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.target import CPU_LAYOUTS, LayoutPolicy, layouts_for
from webnn_compile.tensor.choose_tile import choose_tile


def quantised(shape: tuple[int, ...], axis: int | None, seed: int, dtype: Any = np.int8) -> tuple[Array, Array, Array]:
    """Weights, with scales and zero points: one, or one for each place along an axis."""
    generator = np.random.default_rng(seed)
    info = np.iinfo(dtype)
    count = () if axis is None else (shape[axis],)
    zero = generator.integers(info.min // 2, info.max // 2, count) if dtype == np.uint8 else np.zeros(count)
    w = generator.integers(info.min, info.max, shape, endpoint=True)
    return w.astype(dtype), generator.uniform(0.002, 0.02, count).astype(np.float32), zero.astype(dtype)


def dequantised(
    op: str,
    w: tuple[Array, Array, Array],
    axis: int | None,
    bias: Array | None = None,
    **attributes: Any,
) -> tuple[list[onnx.NodeProto], dict[str, Array]]:
    """x -> QuantizeLinear -> DequantizeLinear -> op -> y, and constants."""
    along = {} if axis is None else {"axis": axis}
    nodes = [
        node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        node("DequantizeLinear", ["q", "scale", "zero"], ["d"]),
        node("DequantizeLinear", ["w", "w_scale", "w_zero"], ["v"], **along),
    ]
    constants = {"scale": np.float32(0.03), "zero": np.uint8(120)}
    constants |= dict(zip(("w", "w_scale", "w_zero"), w, strict=True))
    inputs = ["d", "v"]
    if bias is not None:
        factor = np.resize((0.03 * w[1].astype(np.float64)).astype(np.float32), bias.shape)
        constants |= {"b": np.round(bias / factor).astype(np.int32), "b_scale": factor}
        nodes.append(node("DequantizeLinear", ["b", "b_scale"], ["c"], axis=0))
        inputs.append("c")
    return [*nodes, node(op, inputs, ["y"], "product", **attributes)], constants


CASES: dict[str, tuple[str, tuple[int, ...], tuple[int, ...], int | None, dict[str, Any]]] = {
    "conv": ("Conv", (1, 5, 7, 6), (8, 5, 3, 3), 0, {"pads": [1, 1, 1, 1], "strides": [2, 1]}),
    "conv of one scale": ("Conv", (2, 4, 5, 5), (6, 4, 1, 1), None, {}),
    "conv of groups": ("Conv", (1, 6, 5, 5), (4, 3, 3, 3), 0, {"group": 2}),
    "conv of large groups": ("Conv", (1, 34, 5, 5), (32, 17, 3, 3), 0, {"group": 2}),
    "depthwise": ("Conv", (1, 6, 5, 5), (6, 1, 3, 3), 0, {"group": 6, "pads": [1, 1, 1, 1]}),
    "conv of one dimension": ("Conv", (1, 4, 9), (5, 4, 3), 0, {}),
    "transposed": ("ConvTranspose", (1, 6, 4, 5), (6, 5, 3, 3), 1, {"strides": [2, 2], "pads": [1, 0, 1, 1]}),
    "transposed, of groups": ("ConvTranspose", (1, 6, 4, 5), (6, 4, 2, 2), 1, {"group": 2, "strides": [2, 1]}),
    "transposed, of one scale": ("ConvTranspose", (1, 3, 7), (3, 4, 3), None, {}),
    "transposed, dilated": ("ConvTranspose", (1, 3, 4, 4), (3, 4, 3, 3), 1, {"strides": [2, 2], "dilations": [2, 2]}),
    "matmul": ("MatMul", (2, 3, 10), (10, 7), 1, {}),
    "matmul of one scale": ("MatMul", (5, 10), (10, 7), None, {}),
    "gemm": ("Gemm", (5, 10), (10, 7), 1, {}),
    "gemm, transposed": ("Gemm", (5, 10), (7, 10), 0, {"transB": 1}),
    "gemm of rows": ("Gemm", (12, 9), (12, 7), 1, {"transA": 1, "alpha": 0.5, "beta": 3.0}),
    "gemm of rows, transposed": ("Gemm", (10, 9), (7, 10), 0, {"transA": 1, "transB": 1}),
}


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("case", CASES)
def test_products_of_quanta(case: str, dtype: Any) -> None:
    op, shape, kernel, axis, attributes = CASES[case]
    w = quantised(kernel, axis, 1, dtype)
    biased = op != "MatMul" and axis is not None
    bias = (
        random((kernel[axis or 0] * (attributes.get("group", 1) if op == "ConvTranspose" else 1),), 2)
        if biased
        else None
    )
    nodes, constants = dequantised(op, w, axis, bias, **attributes)
    proto = model(nodes, {"x": shape}, ["y"], constants, opset=13)
    graph = check_pass(integer_products, proto, tolerance=1e-5)
    own = f"Dequantized{op}" if "Conv" in op else "DequantizedMatMul"
    assert own in ops(graph)
    assert op not in ops(graph)
    x = {"x": random(shape, 3) * 2}
    want = onnxruntime_results(proto, x)["y"]
    for target in ("native", "opencl"):
        need_driver(target)
        got = webnn_compile.compile(proto, target).run(x)["y"]
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * np.abs(want).max())


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize(
    "case",
    ["conv", "conv of one scale", "conv of groups", "transposed", "matmul", "matmul of one scale", "gemm, transposed"],
)
def test_what_scales_and_shifts_channels_is_part_of_factor_and_bias(case: str, biased: bool) -> None:
    op, shape, kernel, axis, attributes = CASES[case]
    channels = kernel[1] if op in ("MatMul", "ConvTranspose") else kernel[0]
    bias = random((channels,), 2) if biased and op != "MatMul" and axis is not None else None
    nodes, constants = dequantised(op, quantised(kernel, axis, 1), axis, bias, **attributes)
    nodes[-1].output[0] = "product"
    names = ["gamma", "beta", "mean"]
    each = {n: random((channels,), i) for i, n in enumerate(names)} | {"var": np.abs(random((channels,), 9)) + 0.1}
    if "Conv" in op:
        nodes.append(node("BatchNormalization", ["product", *names, "var"], ["normal"]))
    else:
        nodes += [node("Mul", ["product", "gamma"], ["scaled"]), node("Add", ["beta", "scaled"], ["normal"])]
    nodes.append(node("Relu", ["normal"], ["y"]))
    read = {n for one in nodes for n in one.input}
    proto = model(nodes, {"x": shape}, ["y"], {n: a for n, a in (constants | each).items() if n in read}, opset=15)
    graph = check_pass(run_graph_passes, proto, tolerance=1e-5)
    own = f"Dequantized{op}" if "Conv" in op else "DequantizedMatMul"
    assert ops(graph) == ["Mul", "CentredQuantize", own, "Relu"]


@pytest.mark.parametrize("axis", [None, 0])
def test_weights_that_are_transposed(axis: int | None) -> None:
    nodes, constants = dequantised("MatMul", quantised((70, 100), axis, 1), axis)
    nodes[-1:] = [node("Transpose", ["v"], ["u"], perm=[1, 0]), node("MatMul", ["d", "u"], ["y"])]
    proto = model(nodes, {"x": (5, 100)}, ["y"], constants, opset=13)
    assert ops(check_pass(run_graph_passes, proto)) == ["Mul", "CentredQuantize", "DequantizedMatMul"]


Order = tuple[int, ...] | None

ACTIVATIONS: dict[str, tuple[tuple[Any, ...], tuple[Any, ...], Order, Order, dict[str, Any]]] = {
    "matrices": ((12, 20), (20, 9), None, None, {}),
    "keys of heads": ((1, 9, 2, 8), (1, 11, 2, 8), (0, 2, 1, 3), (0, 2, 3, 1), {}),
    "broadcast batches": ((2, 1, 9, 13), (3, 13, 10), None, None, {}),
    "few rows": ((2, 16), (16, 9), None, None, {}),
    "a vector": ((8, 16), (16,), None, None, {}),
    "a vector first": ((16,), (3, 16, 7), None, None, {}),
    "gemm": ((9, 14), (14, 10), None, None, {"alpha": 0.5}),
    "gemm, transposed": ((14, 9), (10, 14), None, None, {"transA": 1, "transB": 1}),
}


def of_activations(case: str, dtypes: tuple[Any, Any], *, per_column: bool = False) -> onnx.ModelProto:
    """Both operands are quantised, and may be transposed, before the product."""
    *shapes, orders_a, orders_b, attributes = ACTIVATIONS[case]
    nodes, operands, weights = [], [], {}
    for n, dtype, order, shape in zip("ab", dtypes, (orders_a, orders_b), shapes, strict=True):
        along = {"axis": len(shape) - 1} if per_column and n == "b" else {}
        count = (shape[-1],) if along else ()
        weights[f"{n}_scale"] = np.full(count, 0.05 if n == "a" else 0.0625, np.float32)
        weights[f"{n}_zero"] = np.full(count, 9 if dtype == np.int8 else 130, dtype)
        given = [f"{n}_scale", f"{n}_zero"]
        nodes += [node("QuantizeLinear", [n, *given], [f"{n}q"], **along)]
        nodes += [node("DequantizeLinear", [f"{n}q", *given], [f"{n}d"], **along)]
        if order:
            nodes.append(node("Transpose", [f"{n}d"], [f"{n}t"], perm=order))
        operands.append(f"{n}t" if order else f"{n}d")
    nodes.append(node("Gemm" if "gemm" in case else "MatMul", operands, ["y"], **attributes))
    return model(nodes, {"a": shapes[0], "b": shapes[1]}, ["y"], weights, opset=13)


@pytest.mark.parametrize("dtypes", [(np.uint8, np.int8), (np.int8, np.uint8)], ids=["unsigned", "signed"])
@pytest.mark.parametrize("case", ACTIVATIONS)
def test_products_of_activations(case: str, dtypes: tuple[Any, Any]) -> None:
    """Attention's: both operands are computed, and less their zero points."""
    proto = of_activations(case, dtypes)
    graph = run_graph_passes(import_model(proto))
    assert "DequantizedMatMul" in ops(graph)
    assert ops(graph).count("CentredQuantize") == 2
    feeds = {n: random(shape, i) * 4 for i, (n, shape) in enumerate(zip("ab", ACTIVATIONS[case], strict=False))}
    want = onnxruntime_results(proto, feeds)["y"]
    for target in ("native", "wasm", "c", "opencl"):
        need_driver(target)
        got = webnn_compile.compile(proto, target).run(feeds)["y"]
        assert (np.abs(got - want) <= 1e-5 * np.abs(want).max()).mean() > 0.98  # others are beside a tie
        np.testing.assert_allclose(got, want, atol=1)


def test_activations_of_a_scale_for_each_column() -> None:
    proto = of_activations("matrices", (np.uint8, np.int8), per_column=True)
    assert "DequantizedMatMul" in ops(check_pass(integer_products, proto, tolerance=1e-5))


def test_keys_are_transposed_in_words() -> None:
    """Words of two int16, which a product has stored as neighbours."""
    proto = of_activations("keys of heads", (np.uint8, np.int8))
    proto.graph.node.insert(0, node("ReduceMax", ["c"], ["b"], axes=[0], keepdims=0))
    proto.graph.input[1].CopyFrom(onnx.helper.make_tensor_value_info("c", onnx.TensorProto.FLOAT, (3, 1, 11, 2, 8)))
    target = replace(WIDE, dots=("dot_pairs",))
    lowered = lower_model(run_graph_passes(import_model(proto)), policy=layouts_for(target))
    texts = [print_kernel(dict(stages)["schedule_cpu"]) for _, stages in stages_of(lowered, target)]
    assert "dot_pairs" in texts[-1]
    assert not any("<< 16" in text for text in texts)


def test_products_of_activations_are_of_integers_where_there_are_pairs() -> None:
    proto = of_activations("matrices", (np.uint8, np.int8))
    assert sums(proto, replace(CPU_LAYOUTS, dots=("dot_pairs",))) == {"int32"}
    assert sums(proto, CPU_LAYOUTS) == {"float32"}
    assert sums(of_activations("few rows", (np.uint8, np.int8)), replace(CPU_LAYOUTS, dots=("dot_pairs",))) == {
        "float32"
    }


def test_what_stays_a_product_of_floats() -> None:
    shape = {"x": [1, 4, 5, 5]}
    nodes, constants = dequantised("Conv", quantised((8, 4, 3, 3), 1, 1), 1)
    along_depth = model(nodes, shape, ["y"], constants, opset=13)
    nodes, constants = dequantised("Conv", quantised((8, 4, 3, 3), 0, 1), 0)
    weights = {name: a for name, a in constants.items() if name.startswith("w")}
    weights_alone = model(nodes[2:], {"d": [1, 4, 5, 5]}, ["y"], weights, opset=13)
    nodes[2] = node("Identity", ["u"], ["v"])
    one_alone = model(nodes, shape, ["y"], {**constants, "u": random((8, 4, 3, 3))}, opset=13)
    for proto in (along_depth, weights_alone, one_alone):
        assert "Conv" in ops(run_graph_passes(import_model(proto)))


def sums(proto: onnx.ModelProto, policy: LayoutPolicy) -> set[str]:
    """Types of sums of products, on the way to a family of targets."""
    graph = run_graph_passes(import_model(proto))
    lowered = lower_model(graph, policy=policy, choose=choose_tile(CPU_COSTS))
    return {f.sum.name for k in lowered.kernels for f in k.forms if isinstance(f, Contraction)}


def test_where_sums_are_of_integers() -> None:
    """On processors, but where Winograd's algorithm gains more, or few channels are convolved by themselves."""

    def convolution(
        shape: tuple[int, ...], kernel: tuple[int, ...], op: str = "Conv", axis: int = 0, **attributes: Any
    ) -> onnx.ModelProto:
        nodes, constants = dequantised(op, quantised(kernel, axis, 1), axis, **attributes)
        return model(nodes, {"x": shape}, ["y"], constants, opset=13)

    strided = convolution((1, 32, 14, 14), (32, 32, 3, 3), strides=[2, 2])
    assert sums(strided, CPU_LAYOUTS) == {"int32"}
    assert sums(strided, replace(CPU_LAYOUTS, integers=False)) == {"float32"}
    assert sums(convolution((1, 32, 7, 7), (32, 16, 3, 3), "ConvTranspose", 1, strides=[2, 2]), CPU_LAYOUTS) == {
        "int32"
    }
    assert sums(convolution((1, 64, 56, 56), (64, 64, 3, 3)), CPU_LAYOUTS) == {"float32"}
    assert sums(convolution((1, 32, 14, 14), (32, 1, 3, 3), group=32), CPU_LAYOUTS) <= {"float32"}
    assert sums(convolution((1, 64, 14, 14), (64, 8, 3, 3), group=8), CPU_LAYOUTS) == {"float32"}
    assert sums(convolution((1, 64, 14, 14), (64, 32, 3, 3), group=2), CPU_LAYOUTS) == {"int32"}


def test_sums_are_a_choice() -> None:
    nodes, constants = dequantised("MatMul", quantised((32, 16), 1, 1), 1)
    proto = model(nodes, {"x": [8, 32]}, ["y"], constants, opset=13)
    lowered = lower_model(run_graph_passes(import_model(proto)))
    (decision,) = (d for d in lowered.decisions if d.name == "sums")
    assert decision.decision.options == ("int32", "float32")


def test_constants_ship_as_quanta() -> None:
    w = quantised((64, 64), 1, 1)
    nodes, constants = dequantised("MatMul", w, 1)
    compiled = webnn_compile.compile(model(nodes, {"x": [8, 64]}, ["y"], constants, opset=13))
    assert len(compiled.program.weights) < w[0].nbytes + 2048


def test_sums_of_quanta_stay_float32() -> None:
    """They are beyond float16 before they are scaled, by Winograd's algorithm too."""
    nodes, constants = dequantised("Conv", quantised((16, 16, 3, 3), 0, 1), 0, pads=[1, 1, 1, 1])
    proto = model(nodes, {"x": [1, 16, 12, 12]}, ["y"], constants, opset=13)
    graph = run_graph_passes(import_model(proto))
    lowered = lower_model(graph, policy=replace(CPU_LAYOUTS, integers=False), choose=lambda *_: [(2, 2)])
    (by_tiles,) = lowered.rewritten
    assert all(t.exact for t in by_tiles.tensors)
    assert all(t.exact for t in lowered.tensors.tensors if t.name.endswith((".windows", ".products", ".filters")))
