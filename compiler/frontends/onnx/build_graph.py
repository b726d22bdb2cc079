"""The Graph of a checked model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import onnx

from ...custom.table import CustomOperators
from ...errors import InputError
from ...graph.ir import Graph
from .fix_shapes import InputShapes
from .handlers import HANDLERS
from .import_nodes import Import
from .problems import Problems
from .read_model import Source
from .separate_weights import Weights


def build_graph(
    model: onnx.ModelProto,
    shapes: InputShapes,
    types: Mapping[str, onnx.TypeProto],
    weights: Weights,
    source: Source,
    problems: Problems,
    custom: CustomOperators,
) -> Graph:
    """The Graph of `model`, whose inputs have `shapes` and whose functions are inlined.

    `types` are what ONNX infers: they let importing continue after a node that is not supported. `custom` are the
    operators that the user defines.
    """
    build = Import(model, shapes, types, weights, source, problems, HANDLERS, custom)
    build.nodes(model.graph.node, build.main)
    outputs = [value for v in model.graph.output for value in build.outputs(v.name)]
    problems.raise_if_any()
    if not outputs:
        names = ", ".join(repr(v.name) for v in model.graph.output)
        raise InputError(
            f"{source.name} computes nothing: of its outputs {names} each is an empty sequence, or an optional without "
            "a value"
        )
    graph = build.main.builder.build(outputs, shapes.dimensions, build.main.refusals or ())
    return replace(graph, labels=source.labels)
