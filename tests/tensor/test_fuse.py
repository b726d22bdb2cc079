"""Fusion: each small model becomes just the kernels that it should."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from kernel_checks import check_model
from onnx_models import model, node, random
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.nodes import Load, Unary
from webnn_compile.ir.rewrite import walk
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.pipeline.lowered import Lowered
from webnn_compile.target import CPU_LAYOUTS, LayoutPolicy
from webnn_compile.tensor.fuse.measure import BODY_LIMIT

W33 = random((8, 8, 3, 3))
B8 = random((8,))


def lowered(proto: onnx.ModelProto, policy: LayoutPolicy = CPU_LAYOUTS) -> Lowered:
    return lower_model(run_graph_passes(import_model(proto)), policy=policy)


def ops(proto: onnx.ModelProto, policy: LayoutPolicy = CPU_LAYOUTS) -> list[tuple[str, ...]]:
    """The operators that each kernel computes; copies between layouts left out."""
    return [g.origin.ops for g in lowered(proto, policy).groups if g.origin.ops != ("Layout",)]


def chain(operators: Sequence[str], shape: Sequence[int] = (2, 40)) -> onnx.ModelProto:
    names = ["x", *(f"t{n}" for n in range(1, len(operators))), "y"]
    return model(
        [node(op, [a], [b]) for op, a, b in zip(operators, names, names[1:], strict=False)], {"x": shape}, ["y"]
    )


FEW_LAUNCHES = replace(CPU_LAYOUTS, few_launches=True)
TWICE = [node("Mul", ["x", "c"], ["a"]), node("Div", ["x", "c"], ["b"])]


def of_one_element(*nodes: onnx.NodeProto) -> onnx.ModelProto:
    """`nodes` make c of s, and two tensors of x are computed with it."""
    return model([*nodes, *TWICE], {"x": [4, 5], "s": []}, ["a", "b"], {"half": np.float32(0.5)})


def test_one_element_is_computed_again_where_launches_take_longer() -> None:
    proto = of_one_element(node("Add", ["s", "half"], ["d"]), node("Abs", ["d"], ["c"]))
    assert ops(proto) == [("Add", "Abs"), ("Mul",), ("Div",)]
    assert ops(proto, FEW_LAUNCHES) == [("Add", "Abs", "Mul"), ("Add", "Abs", "Div")]


REPEATS = replace(FEW_LAUNCHES, repeats=12)


def test_two_readers_compute_little_again_where_memory_takes_longer() -> None:
    """The exponentials of a softmax; not of three readers, nor what a product reads many times, nor 64 bits."""
    proto = model([node("Softmax", ["x"], ["y"])], {"x": [3, 40]}, ["y"])
    assert len(ops(proto, FEW_LAUNCHES)) == 4
    assert len(ops(proto, REPEATS)) == 3
    both = [node("Exp", ["x"], ["e"]), node("Neg", ["e"], ["a"])]
    inputs = {"x": [6, 6]}
    for other, kernels in (
        (node("Abs", ["e"], ["b"]), [("Exp", "Neg"), ("Exp", "Abs")]),
        (node("MatMul", ["e", "x"], ["b"]), [("Exp",), ("Neg",), ("MatMul",)]),
    ):
        assert ops(model([*both, other], inputs, ["a", "b"]), REPEATS) == kernels
    three = [*both, node("Abs", ["e"], ["b"]), node("Sqrt", ["e"], ["c"])]
    assert ops(model(three, inputs, ["a", "b", "c"]), REPEATS) == [("Exp",), ("Neg",), ("Abs",), ("Sqrt",)]
    wide = [
        node("Cast", ["x"], ["w"], to=onnx.TensorProto.INT64),
        *(node("Cast", ["w"], [y], to=to) for y, to in (("a", onnx.TensorProto.FLOAT), ("b", onnx.TensorProto.INT32))),
    ]
    proto = model(wide, inputs, ["a", "b"])
    assert ops(proto, REPEATS) == ops(proto, FEW_LAUNCHES)


@pytest.mark.parametrize("last", [[1, 6, 9], [6, 9], [1, 1, 6, 9], [6, 1, 9]], ids=str)
def test_maps_of_a_reshaped_matrix_are_part_of_its_kernel(last: list[int]) -> None:
    """Where launches take longer, if it is still that matrix."""
    nodes = [
        node("MatMul", ["x", "w"], ["m"]),
        node("Reshape", ["m", "three"], ["r"]),
        node("Sigmoid", ["r"], ["s"]),
        node("Mul", ["r", "s"], ["g"]),
        node("Reshape", ["g", "last"], ["b"]),
        node("Add", ["b", "bias"], ["y"]),
    ]
    constants = {"w": random((4, 9)), "bias": random((9,)), "three": np.array([1, 6, 9]), "last": np.array(last)}
    proto = model(nodes, {"x": [6, 4]}, ["y"], constants)
    kernels = [tuple(op for op in of if op != "Reshape") for of in ops(proto, FEW_LAUNCHES)]
    apart = last == [6, 1, 9]
    assert kernels == [("MatMul", "Sigmoid", "Mul"), ("Add",)] if apart else [("MatMul", "Sigmoid", "Mul", "Add")]
    x = random((6, 4))
    expected = webnn_compile.compile(proto).run({"x": x})["y"]
    for target in ("webgl", "opencl"):
        need_driver(target)
        np.testing.assert_allclose(
            webnn_compile.compile(proto, target).run({"x": x})["y"], expected, rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize(
    "maps",
    [
        [node("Exp", ["s"], ["c"])],
        [node("Cast", ["s"], ["l"], to=onnx.TensorProto.DOUBLE), node("Cast", ["l"], ["c"], to=onnx.TensorProto.FLOAT)],
    ],
    ids=["function", "float64"],
)
def test_one_element_that_takes_longer_is_computed_once(maps: list[onnx.NodeProto]) -> None:
    """Functions, and types that devices lack."""
    proto = of_one_element(*maps)
    assert ops(proto, FEW_LAUNCHES) == ops(proto)


def test_a_chain_of_maps_is_one_kernel() -> None:
    proto = chain(["Relu", "Neg", "Exp", "Abs"])
    assert ops(proto) == [("Relu", "Neg", "Exp", "Abs")]
    check_model(proto)


def test_convolution_bias_activation_and_residual_are_one_kernel() -> None:
    nodes = [
        node("Conv", ["x", "w", "b"], ["a"], pads=[1, 1, 1, 1]),
        node("Relu", ["a"], ["r"]),
        node("Conv", ["r", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        node("Add", ["c", "r"], ["s"]),
        node("Relu", ["s"], ["y"]),
    ]
    proto = model(nodes, {"x": [1, 8, 5, 5]}, ["y"], {"w": W33, "b": B8})
    assert ops(proto) == [("Conv", "Relu"), ("Conv", "Add", "Relu")]


@pytest.mark.parametrize("order", [("wide", "short"), ("short", "wide")])
def test_of_two_reductions_that_meet_the_longer_takes_the_sum(order: tuple[str, str]) -> None:
    convolutions = {
        "wide": node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        "short": node("Conv", ["x", "v"], ["b"]),
    }
    nodes = [*(convolutions[name] for name in order), node("Add", ["a", "b"], ["s"]), node("Relu", ["s"], ["y"])]
    proto = model(nodes, {"x": [1, 8, 5, 5]}, ["y"], {"w": W33, "v": random((8, 8, 1, 1))})
    assert ops(proto) == [("Conv",), ("Conv", "Add", "Relu")]
    last = next(g for g in lowered(proto).groups if "Add" in g.origin.ops)
    assert last.reduce is not None
    assert [a.extent for a in last.reduce.axes] == [8, 3, 3]
    check_model(proto, work=100_000)


def test_an_activation_of_several_nodes_joins_its_convolution() -> None:
    nodes = [
        node("Conv", ["x", "w"], ["c"]),
        node("Sigmoid", ["c"], ["s"]),
        node("Mul", ["c", "s"], ["y"]),
    ]
    proto = model(nodes, {"x": [1, 8, 4, 4]}, ["y"], {"w": W33})
    groups = lowered(proto).groups
    kernels = [g.origin.ops for g in groups if g.origin.ops != ("Layout",)]
    assert len(kernels) <= 2
    assert kernels[0][0] == "Conv"
    check_model(proto, work=200_000)


def test_softmax() -> None:
    """Largest, powers, their sum, quotient: each reduction is a kernel, and the powers are computed once."""
    proto = chain(["Softmax"], [3, 17])
    groups = lowered(proto).groups
    assert sum(g.reduce is not None for g in groups) == 2
    assert sum(isinstance(n, Unary) and n.op == "exp" for k in lowered(proto).kernels for n in walk(k.body)) == 1
    assert len(groups) <= 4
    check_model(proto)


def test_a_dear_producer_of_two_readers_is_computed_once() -> None:
    """Two convolutions would each compute the exponential again for every element of their windows."""
    nodes = [
        node("Exp", ["x"], ["e"]),
        node("Conv", ["e", "w"], ["a"], pads=[1, 1, 1, 1]),
        node("Conv", ["e", "v"], ["b"], pads=[1, 1, 1, 1]),
        node("Concat", ["a", "b"], ["y"], axis=1),
    ]
    proto = model(nodes, {"x": [1, 8, 4, 4]}, ["y"], {"w": W33, "v": W33 * 2})
    assert sum("Exp" in group for group in ops(proto)) == 1


def test_a_map_of_two_readers_is_computed_once() -> None:
    nodes = [node("Exp", ["x"], ["e"]), node("Neg", ["e"], ["y"]), node("Abs", ["e"], ["z"])]
    proto = model(nodes, {"x": [2, 40]}, ["y", "z"])
    assert ops(proto) == [("Exp",), ("Neg",), ("Abs",)]


def test_a_producer_that_is_read_along_rows_is_computed_once() -> None:
    """A matrix product reads each element of its operand once per column."""
    nodes = [node("Exp", ["x"], ["e"]), node("MatMul", ["e", "w"], ["y"])]
    assert ops(model(nodes, {"x": [4, 6]}, ["y"], {"w": random((6, 5))})) == [("Exp",), ("MatMul",)]


def test_a_producer_that_is_read_once_joins_the_reduction() -> None:
    proto = model([node("Exp", ["x"], ["e"]), node("ReduceSum", ["e"], ["y"])], {"x": [4, 6]}, ["y"])
    assert ops(proto) == [("Exp", "ReduceSum")]
    check_model(proto)


def test_a_broadcast_producer_is_computed_before() -> None:
    nodes = [node("Exp", ["z"], ["e"]), node("Add", ["x", "e"], ["y"])]
    proto = model(nodes, {"x": [8, 6], "z": [6]}, ["y"])
    assert ops(proto) == [("Exp",), ("Add",)]


def test_an_output_in_the_middle_is_kept() -> None:
    nodes = [node("Conv", ["x", "w"], ["c"]), node("Relu", ["c"], ["y"])]
    proto = model(nodes, {"x": [1, 8, 4, 4]}, ["c", "y"], {"w": W33})
    assert ("Conv",) in ops(proto)
    check_model(proto, work=200_000)


def test_movement_costs_no_kernel_of_its_own() -> None:
    nodes = [
        node("Transpose", ["x"], ["t"], perm=[1, 0]),
        node("Slice", ["t", "starts", "ends"], ["s"]),
        node("Concat", ["s", "z"], ["c"], axis=0),
        node("Relu", ["c"], ["y"]),
    ]
    weights = {"starts": np.asarray([1]), "ends": np.asarray([4])}
    proto = model(nodes, {"x": [3, 5], "z": [2, 3]}, ["y"], weights)
    assert len(ops(proto)) == 1
    check_model(proto)


def tokens_before(after: onnx.NodeProto, channels: int, *moves: onnx.NodeProto) -> onnx.ModelProto:
    """Tokens that `moves` make an image of 6 x 5, i, and what reads its windows."""
    weights = {"shape": np.asarray([1, channels, 6, 5]), "w": random((channels, 1, 3, 3))}
    used = {n for x in (*moves, after) for n in x.input}
    return model([*moves, after], {"x": [1, 30, channels]}, ["y"], {n: a for n, a in weights.items() if n in used})


TOKENS = (node("Transpose", ["x"], ["t"], perm=[0, 2, 1]), node("Reshape", ["t", "shape"], ["i"]))
WINDOWS = [
    node("Conv", ["i", "w"], ["y"], group=8, pads=[1] * 4),
    node("MaxPool", ["i"], ["y"], kernel_shape=[3, 3], pads=[1] * 4),
    node("AveragePool", ["i"], ["y"], kernel_shape=[3, 2]),
]


@pytest.mark.parametrize("after", WINDOWS, ids=lambda n: n.op_type)
def test_what_is_only_moved_is_stored_before_windows_slide_over_it(after: onnx.NodeProto) -> None:
    """In the layout of a convolution's image, so that vectors lie along channels: no kernel reads single elements."""
    proto = tokens_before(after, 8, *TOKENS)
    low = lowered(proto)
    image = next(t for g in low.groups if g.reduce is not None for t in g.reads if not t.is_constant)
    assert low.layouts[image].order == (0, 2, 3, 1)
    check_model(proto, work=200_000)


def test_few_channels_that_are_moved_are_read_in_place() -> None:
    """Their rows are rows of memory already."""
    nodes = [node("Reshape", ["x", "shape"], ["i"]), node("Conv", ["i", "w"], ["y"], group=3)]
    constants = {"shape": np.asarray([1, 3, 6, 5]), "w": random((3, 1, 3, 3))}
    assert ops(model(nodes, {"x": [1, 3, 30]}, ["y"], constants)) == [("Reshape", "Conv")]


def test_slices_before_a_depthwise_convolution_are_read_in_place() -> None:
    """Halves of the channels, as ShuffleNet splits them."""
    nodes = [
        node("Conv", ["x", "u"], ["r"]),
        node("Slice", ["r", "from", "to", "axis"], ["i"]),
        node("Conv", ["i", "w"], ["y"], group=8),
    ]
    constants = {"from": np.asarray([8]), "to": np.asarray([16]), "axis": np.asarray([1])}
    weights = {"u": random((16, 4, 1, 1)), "w": random((8, 1, 3, 3))}
    assert ops(model(nodes, {"x": [1, 4, 6, 5]}, ["y"], constants | weights)) == [("Conv",), ("Slice", "Conv")]


def test_a_pad_before_a_gather_reads_no_index_out_of_range() -> None:
    nodes = [node("Gather", ["x", "i"], ["g"], axis=0), node("Pad", ["g", "p"], ["y"])]
    at = np.asarray([2, 0, 1])
    proto = model(nodes, {"x": [3, 4]}, ["y"], {"p": np.asarray([1, 0, 2, 0]), "i": at})
    check_model(proto)


@pytest.mark.parametrize("length", [60, 600])
def test_a_long_chain_is_cut_into_kernels_of_bounded_size(length: int) -> None:
    found = lowered(chain(["Exp", "Neg"] * (length // 2))).groups
    assert (len(found) == 1) == (length == 60)
    assert sum(len(g.origin.nodes) for g in found) == length
    assert all(sum(1 for _ in walk(g.body)) <= BODY_LIMIT for g in found)


@pytest.mark.parametrize("links", [1, 2, 6])
def test_a_tile_computes_a_short_chain_of_assignments_alone(links: int) -> None:
    """Each register of the product's tile would have the code of a longer one."""
    nodes = [node("MatMul", ["x", "w"], ["m"]), node("Exp", ["v"], ["e"])]
    names = ["start", *(f"s{k}" for k in range(links))]
    for k, (before, after) in enumerate(pairwise(names)):
        nodes.append(node("ScatterElements", [before, f"i{k}", "e"], [after], axis=1))
    nodes.append(node("Mul", ["m", names[-1]], ["y"]))
    constants = {"w": random((24, 32)), "start": random((2, 8, 32))}
    constants |= {f"i{k}": np.full((2, 1, 32), k, np.int64) for k in range(links)}
    proto = model(nodes, {"x": [2, 8, 24], "v": [2, 1, 32]}, ["y"], constants, 18)
    product = next(kernel for kernel in ops(proto) if "MatMul" in kernel)
    assert ("ScatterElements" in product) == (links < 4)
    check_model(proto)


def test_activations_that_read_twice_do_not_grow_without_bound() -> None:
    """x * relu6(x + 3) reads its operand twice: fused without a limit, ten of them would have a thousand nodes."""
    nodes = []
    for n in range(10):
        a = "x" if n == 0 else f"t{n}"
        nodes.append(node("HardSwish", [a], [f"t{n + 1}"]))
    groups = lowered(model(nodes, {"x": [2, 40]}, ["t10"])).groups
    assert 1 < len(groups) < 10
    assert all(sum(1 for _ in walk(g.body)) <= BODY_LIMIT for g in groups)


def test_a_kernel_reads_each_tensor_as_one_parameter() -> None:
    nodes = [node("Neg", ["x"], ["n"]), node("Mul", ["n", "x"], ["m"]), node("Add", ["m", "x"], ["y"])]
    (kernel,) = lowered(model(nodes, {"x": [2, 40]}, ["y"])).kernels
    assert len(kernel.params) == 2
    assert {n.buffer for n in walk(kernel.body) if isinstance(n, Load)} == {kernel.params[0]}
