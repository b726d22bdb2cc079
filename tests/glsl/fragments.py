"""Small kernels of the constructs that fragment shaders are made of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import onnx
from convolutions import Case, always
from onnx import TensorProto
from onnx_models import model, node, random
from webnn_compile.frontends.onnx import import_model
from webnn_compile.glsl.backend import WebGl
from webnn_compile.glsl.textures import place_flat, place_image
from webnn_compile.graph.lower_graph import lower_graph
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.nodes import Kernel
from webnn_compile.passes.narrow_types import narrow_types
from webnn_compile.pipeline.lower_model import lower_tensors
from webnn_compile.program.device_program import Placement
from webnn_compile.schedule.rules.fragment_constants import order_constants

Array = np.ndarray[Any, np.dtype[Any]]


def convolution(channels: int, size: int, **attributes: Any) -> onnx.ModelProto:
    """A convolution between two others, so that it reads and writes images; with bias and ReLU."""
    group = attributes.pop("group", 1)
    kernel = attributes.pop("kernel", 3)
    nodes = [
        node("Conv", ["x", "one"], ["a"]),
        node("Conv", ["a", "w", "b"], ["c"], group=group, **attributes),
        node("Relu", ["c"], ["d"]),
        node("Conv", ["d", "one"], ["y"]),
    ]
    weights = {
        "one": random((channels, channels, 1, 1), 1),
        "w": random((channels, channels // group, kernel, kernel), 2),
        "b": random((channels,), 3),
    }
    return model(nodes, {"x": (1, channels, size, size)}, ["y"], weights)


def one(
    op: str, shapes: Sequence[tuple[int, ...]], dtype: int = TensorProto.FLOAT, **attributes: Any
) -> onnx.ModelProto:
    names = [f"x{i}" for i in range(len(shapes))]
    return model([node(op, names, ["y"], **attributes)], dict(zip(names, shapes, strict=True)), ["y"], dtype=dtype)


MODELS = {
    "convolution": lambda: convolution(6, 5, pads=[1, 1, 1, 1]),
    "convolution_in_steps_of_two": lambda: convolution(5, 7, pads=[1, 1, 1, 1], strides=[2, 2]),
    "convolution_in_groups": lambda: convolution(6, 5, pads=[1, 1, 1, 1], group=3),
    "depthwise": lambda: convolution(6, 5, pads=[1, 1, 1, 1], group=6),
    "matrix_product": lambda: one("MatMul", [(2, 9, 10), (2, 10, 7)]),
    "product_with_a_constant": lambda: model(
        [node("MatMul", ["x", "w"], ["a"]), node("Tanh", ["a"], ["b"]), node("MatMul", ["b", "w"], ["y"])],
        {"x": (3, 6, 6)},
        ["y"],
        {"w": random((6, 6))},
    ),
    "product_of_one_row_of_images": lambda: model(
        [node("MatMul", ["x", "w"], ["a"]), node("Relu", ["a"], ["b"]), node("MatMul", ["b", "w"], ["y"])],
        {"x": (1, 6, 32)},
        ["y"],
        {"w": random((32, 32))},
    ),
    "max_pool": lambda: model(
        [
            node("Conv", ["x", "w"], ["a"]),
            node("MaxPool", ["a"], ["b"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
            node("Conv", ["b", "w"], ["y"]),
        ],
        {"x": (1, 4, 7, 7)},
        ["y"],
        {"w": random((4, 4, 1, 1))},
    ),
    "softmax": lambda: one("Softmax", [(3, 10)], axis=-1),
    "line_of_elements": lambda: one("Mul", [(3, 5), (5,)]),
    "many_rows": lambda: one("Neg", [(2100, 5)]),
    "gather": lambda: model(
        [node("Gather", ["w", "x"], ["y"])], {"x": (3,)}, ["y"], {"w": random((6, 8))}, dtype=TensorProto.INT32
    ),
    "integers": lambda: one("Mod", [(2, 6), (2, 6)], TensorProto.INT32),
    "bools": lambda: model(
        [node("Less", ["x", "x1"], ["a"]), node("Not", ["a"], ["b"]), node("Where", ["b", "x", "x1"], ["y"])],
        {"x": (3, 5), "x1": (3, 5)},
        ["y"],
    ),
    "transpose": lambda: one("Transpose", [(3, 4, 9)], perm=[2, 0, 1]),
    "transform_of_windows": lambda: Case((1, 12, 5, 5), 4, tail="relu again").proto,
    "transform_of_results": lambda: Case((1, 2, 5, 5), 24).proto,
    "functions": lambda: one("Erf", [(7,)]),
    "nothing": lambda: model(
        [node("Slice", ["x", "zero", "zero"], ["y"])], {"x": (2, 3)}, ["y"], {"zero": np.zeros(1, np.int64)}
    ),
}


TRANSFORMS = {"transform_of_windows": "WinogradInput", "transform_of_results": "Conv"}
"""The operators of their kernels."""

TILES = {"transform_of_windows": (4, 4), "transform_of_results": (4, 4)}
"""Tiles of models that Winograd's algorithm computes."""


@cache
def kernels(name: str) -> list[Kernel]:
    """Kernels of one of MODELS."""
    return kernels_of(MODELS[name](), TILES.get(name))


def kernels_of(proto: onnx.ModelProto, tile: tuple[int, int] | None = None) -> list[Kernel]:
    """The naive kernels of a model, in types of 32 bits; constants lie as fragments want them."""
    graph = run_graph_passes(import_model(proto))
    choose = always(tile) if tile else None
    lowered = lower_tensors(graph.name, lower_graph(graph), policy=WebGl().layouts, choose=choose)
    return [order_constants(narrow_types(k, {}).kernel) for k in lowered.kernels]


def biggest(name: str) -> Kernel:
    """The kernel of a model that stands for its construct: a transform, or else the one of most operations."""
    from kernel_checks import operations

    wanted = TRANSFORMS.get(name)
    return max((k for k in kernels(name) if wanted in (None, *k.origin.ops)), key=lambda k: operations(k.body))


def places_of(kernel: Kernel, *, images: bool) -> list[Placement]:
    """Images where that is possible and wanted, lines elsewhere."""
    return [
        (place_image(b.shape, drawn=not b.constant) if images else None) or place_flat(b.size) for b in kernel.params
    ]
