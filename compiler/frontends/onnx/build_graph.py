"""The Graph of a checked model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import onnx

from ...custom.table import CustomOperators
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
    outputs = [build.output(v.name) for v in model.graph.output]
    problems.raise_if_any()
    results = [v for v in outputs if v is not None]
    graph = build.main.builder.build(results, shapes.dimensions, build.main.refusals or ())
    return replace(graph, labels=source.labels)
