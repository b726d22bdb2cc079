"""Layouts of convolutions' tensors, their halos, and the operators that cost nothing with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from kernel_checks import check_model
from onnx_models import model, node, random
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.layout import Layout
from webnn_compile.ir.nodes import Kernel, Load
from webnn_compile.ir.printer import print_kernel
from webnn_compile.ir.rewrite import walk
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.pipeline.lowered import Lowered
from webnn_compile.target import LayoutPolicy
from webnn_compile.tensor import Tensor


def lowered(proto: onnx.ModelProto, opt_level: int = 2) -> Lowered:
    return lower_model(run_graph_passes(import_model(proto)), opt_level=opt_level)


def made(low: Lowered, op: str) -> Tensor:
    """The output of the first kernel with this operator."""
    return next(g.output for g in low.groups if op in g.origin.ops)


def kernel_of(low: Lowered, op: str) -> Kernel:
    return next(k for g, k in zip(low.groups, low.kernels, strict=True) if op in g.origin.ops)


def guards(kernel: Kernel) -> int:
    return sum(isinstance(n, Load) and n.guard is not None for n in walk(kernel.body))


def two_convolutions(channels: int, **attributes: Any) -> onnx.ModelProto:
    weights = {"w": random((channels, 3, 1, 1)), "v": random((4, channels, 3, 3))}
    nodes = [node("Conv", ["x", "w"], ["a"]), node("Relu", ["a"], ["r"]), node("Conv", ["r", "v"], ["y"], **attributes)]
    return model(nodes, {"x": [1, 3, 6, 5]}, ["y"], weights)


def test_channels_lie_last_and_are_rounded_up() -> None:
    low = lowered(two_convolutions(5))
    assert low.layouts[made(low, "Relu")] == Layout.channels_last((1, 5, 6, 5), align=4)
    assert low.layouts[made(low, "Relu")].physical_shape == (1, 6, 5, 8)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_few_channels_lie_as_in_onnx(channels: int) -> None:
    """Their rows are vectors; the halo is there, too. Where channels fill vectors of every target they are last."""
    weights = {"w": random((channels, 1, 3, 3))}
    nodes = [node("Relu", ["x"], ["r"]), node("Conv", ["r", "w"], ["y"], group=channels, pads=[1, 2, 1, 0])]
    low = lowered(model(nodes, {"x": [1, channels, 6, 5]}, ["y"], weights))
    layout = low.layouts[made(low, "Relu")]
    assert layout.order == ((0, 1, 2, 3) if channels < 4 else (0, 2, 3, 1))
    assert layout.pad == ((0, 0), (0, 0), (1, 1), (2, 0))


def test_few_channels_that_become_many_lie_last() -> None:
    weights = {"w": random((8, 3, 3, 3))}
    nodes = [
        node("Relu", ["x"], ["r"]),
        node("Conv", ["r", "w"], ["y"]),
        node("MaxPool", ["r"], ["z"], kernel_shape=[2, 2]),
    ]
    low = lowered(model(nodes, {"x": [1, 3, 6, 5]}, ["y", "z"], weights))
    assert low.layouts[made(low, "Relu")].order == (0, 2, 3, 1)


def test_few_channels_are_not_copied_where_none_needs_a_halo() -> None:
    pool = node("MaxPool", ["x"], ["y"], kernel_shape=[3, 3], pads=[1] * 4)
    assert len(lowered(model([pool], {"x": [1, 3, 6, 5]}, ["y"])).kernels) == 1


def test_a_padded_convolution_reads_a_halo_of_zeros() -> None:
    proto = two_convolutions(4, pads=[1, 2, 1, 0])
    low = lowered(proto)
    assert low.layouts[made(low, "Relu")].pad == ((0, 0), (0, 0), (1, 1), (2, 0))
    last = [k for g, k in zip(low.groups, low.kernels, strict=True) if g.origin.ops == ("Conv",)][-1]
    assert guards(last) == 0
    check_model(proto, work=100_000)


def test_the_halo_is_as_wide_as_its_widest_reader() -> None:
    weights = {"w": random((4, 4, 3, 3)), "v": random((4, 4, 5, 5))}
    nodes = [
        node("Relu", ["x"], ["r"]),
        node("Conv", ["r", "w"], ["a"], pads=[1] * 4),
        node("Conv", ["r", "v"], ["b"], pads=[2] * 4),
        node("Add", ["a", "b"], ["y"]),
    ]
    proto = model(nodes, {"x": [1, 4, 4, 4]}, ["y"], weights)
    low = lowered(proto)
    assert low.layouts[made(low, "Relu")].pad[2:] == ((2, 2), (2, 2))
    check_model(proto, work=150_000)


def test_halos_of_zeroed_memory_are_equal_so_that_kernels_are() -> None:
    """Two residual blocks, then a convolution of stride 2, which reaches less far."""
    weights = {name: random((8, 8, 3, 3)) for name in ("w0", "w1", "w2", "w3", "w4")} | {"v": random((8, 8, 1, 1))}
    pads = {"pads": [1, 1, 1, 1]}
    nodes = [
        node("Conv", ["x", "v"], ["short"]),
        node("Conv", ["x", "w0"], ["a0"], **pads),
        node("Relu", ["a0"], ["r0"]),
        node("Conv", ["r0", "w1"], ["c0"], **pads),
        node("Add", ["c0", "short"], ["s0"]),
        node("Conv", ["s0", "w2"], ["a1"], **pads),
        node("Relu", ["a1"], ["r1"]),
        node("Conv", ["r1", "w3"], ["c1"], **pads),
        node("Add", ["c1", "s0"], ["s1"]),
        node("Conv", ["s1", "w4"], ["y"], strides=[2, 2], **pads),
    ]
    proto = model(nodes, {"x": [1, 8, 6, 6]}, ["y"], weights)
    low = lower_model(run_graph_passes(import_model(proto)), policy=LayoutPolicy(fill_halos=False))
    halos = {low.layouts[g.output].pad[2:] for g in low.groups if g.output.shape == (1, 8, 6, 6)}
    assert halos == {((1, 1), (1, 1))}
    added = [k for g, k in zip(low.groups, low.kernels, strict=True) if "Add" in g.origin.ops]
    assert len({print_kernel(k, named=False) for k in added}) == 1
    check_model(proto, work=2_000_000)


def test_a_very_wide_halo_where_multiply_adds_pay_for_its_zeros() -> None:
    proto = two_convolutions(4, pads=[9, 0, 0, 0])
    low = lowered(proto)
    assert low.layouts[made(low, "Relu")].pad[2:] == ((9, 0), (0, 0))
    assert not any(guards(k) for k in low.kernels)
    check_model(proto, work=500_000)


def few_multiply_adds() -> onnx.ModelProto:
    weights = {"w": random((2, 4, 1, 1))}
    nodes = [node("Relu", ["x"], ["r"]), node("Conv", ["r", "w"], ["y"], pads=[9, 0, 0, 0])]
    return model(nodes, {"x": [1, 4, 5, 5]}, ["y"], weights)


@pytest.mark.parametrize(
    ("proto", "policy"),
    [
        (few_multiply_adds(), LayoutPolicy()),
        (two_convolutions(4, pads=[9, 0, 0, 0]), LayoutPolicy(fill_halos=False)),
    ],
    ids=["few-multiply-adds", "zeroed-memory"],
)
def test_another_very_wide_halo_stays_a_guard(proto: onnx.ModelProto, policy: LayoutPolicy) -> None:
    low = lower_model(run_graph_passes(import_model(proto)), policy=policy)
    assert low.layouts[made(low, "Relu")].pad == ((0, 0),) * 4
    assert any(guards(k) for k in low.kernels)


def test_graph_inputs_and_outputs_lie_as_onnx_has_them() -> None:
    low = lowered(two_convolutions(5))
    for _, t in (*low.tensors.inputs, *low.tensors.outputs):
        assert low.layouts[t].is_row_major


def test_without_optimisation_everything_lies_row_major() -> None:
    low = lowered(two_convolutions(5), opt_level=1)
    assert all(layout.is_row_major for layout in low.layouts.values())


def test_maps_between_convolutions_keep_channels_last() -> None:
    weights = {"w": random((4, 4, 1, 1)), "v": random((4, 8, 1, 1))}
    nodes = [
        node("Conv", ["x", "w"], ["a"]),
        node("Concat", ["a", "a"], ["c"], axis=1),
        node("MaxPool", ["c"], ["p"], kernel_shape=[2, 2]),
        node("Conv", ["p", "v"], ["y"]),
    ]
    low = lowered(model(nodes, {"x": [1, 4, 4, 4]}, ["y"], weights))
    for op in ("MaxPool", "Conv"):
        assert low.layouts[made(low, op)].order == (0, 2, 3, 1)


def test_a_reshape_shares_memory() -> None:
    weights = {"w": random((12, 5)), "shape": np.asarray([2, 12])}
    nodes = [
        node("MatMul", ["x", "v"], ["m"]),
        node("Reshape", ["m", "shape"], ["r"]),
        node("MatMul", ["r", "w"], ["y"]),
    ]
    proto = model(nodes, {"x": [6, 4]}, ["y"], {**weights, "v": random((4, 4))})
    low = lowered(proto)
    assert [g.origin.ops for g in low.groups] == [("MatMul",), ("MatMul",)]
    check_model(proto)


def test_a_flattened_global_pool_shares_memory() -> None:
    nodes = [
        node("Conv", ["x", "w"], ["c"]),
        node("GlobalAveragePool", ["c"], ["p"]),
        node("Flatten", ["p"], ["f"]),
        node("Gemm", ["f", "v"], ["y"]),
    ]
    proto = model(nodes, {"x": [1, 4, 3, 3]}, ["y"], {"w": random((8, 4, 1, 1)), "v": random((8, 3))})
    low = lowered(proto)
    assert not any(g.origin.ops == ("Flatten",) for g in low.groups)
    check_model(proto, work=100_000)


def test_a_transpose_that_the_layout_cancels_shares_memory() -> None:
    """Channels lie last already: the transposition to (N, H, W, C) has nothing to do."""
    nodes = [
        node("Conv", ["x", "w"], ["c"]),
        node("Transpose", ["c"], ["t"], perm=[0, 2, 3, 1]),
        node("Reshape", ["t", "shape"], ["r"]),
        node("Softmax", ["r"], ["y"], axis=-1),
    ]
    weights = {"w": random((8, 4, 1, 1)), "shape": np.asarray([1, 18, 4])}
    proto = model(nodes, {"x": [1, 4, 3, 3]}, ["y"], weights)
    low = lowered(proto)
    assert not any(set(g.origin.ops) <= {"Transpose", "Reshape"} for g in low.groups)
    check_model(proto, work=100_000)


def test_matrix_products_of_computed_tensors_lie_row_major() -> None:
    """A product of two computed tensors looks like a convolution, but wants its operands as they are."""
    proto = model([node("Relu", ["x"], ["r"]), node("MatMul", ["r", "r"], ["y"])], {"x": [2, 4, 4]}, ["y"])
    low = lowered(proto)
    assert all(layout.is_row_major for layout in low.layouts.values())
    check_model(proto)


def test_kernels_that_differ_in_channels_alone_pack_their_own_weights() -> None:
    """Five and six channels both lie as eight."""
    weights = {
        "v": random((5, 4, 3, 3)),
        "w": random((6, 4, 3, 3), 1),
        "p": random((4, 5, 1, 1)),
        "q": random((4, 6, 1, 1)),
    }
    nodes = [
        node("Relu", ["x"], ["r"]),
        node("Conv", ["r", "v"], ["a"], pads=[1] * 4),
        node("Conv", ["r", "w"], ["b"], pads=[1] * 4),
        node("Conv", ["a", "p"], ["c"]),
        node("Conv", ["b", "q"], ["d"]),
        node("Add", ["c", "d"], ["y"]),
    ]
    check_model(model(nodes, {"x": [1, 4, 4, 4]}, ["y"], weights), work=100_000)


def attention_scores(*, shared: bool = False) -> onnx.ModelProto:
    """q k^T, both projected from x; with `shared`, k is an output as well."""
    weights = {"wq": random((8, 8)), "wk": random((8, 8), 1)}
    nodes = [
        node("MatMul", ["x", "wq"], ["q"]),
        node("MatMul", ["x", "wk"], ["k"]),
        node("Transpose", ["k"], ["t"], perm=[0, 2, 1]),
        node("MatMul", ["q", "t"], ["y"]),
    ]
    return model(nodes, {"x": [2, 6, 8]}, ["y", "k"] if shared else ["y"], weights)


def test_what_a_product_reads_transposed_is_stored_so() -> None:
    proto = attention_scores()
    low = lowered(proto)
    assert [low.layouts[g.output].order for g in low.groups] == [(0, 1, 2), (0, 2, 1), (0, 1, 2)]
    check_model(proto)


def test_a_transposed_operand_that_others_read_stays_as_it_is() -> None:
    proto = attention_scores(shared=True)
    assert all(layout.is_row_major for layout in lowered(proto).layouts.values())
    check_model(proto)
