"""From an ONNX model to a Graph: read, check, inline, fix shapes, build."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import onnx

from ...errors import InputError
from ...graph.ir import Graph
from ...system.limits import CompileMemory
from .build_graph import build_graph
from .check_model import check_model
from .check_names import check_names
from .check_types import check_types
from .embed_external import embed_external
from .fix_shapes import fix_shapes
from .inline_functions import inline_functions
from .problems import Problems
from .read_model import Source, read_model
from .separate_weights import separate_weights


def import_model(
    model: str | Path | bytes | onnx.ModelProto,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    memory: CompileMemory | None = None,
) -> Graph:
    """The graph of an ONNX model of opset 7 or later, every shape known and everything constant folded.

    `shapes` fixes symbolic or missing dimensions of inputs; `memory` counts the bytes of constants, by default against
    this machine's. Raises InputError for what is no valid model, or does not fit `shapes` or `memory`, and one
    UnsupportedError that names everything that is not supported.
    """
    proto, source = read_model(model, memory)
    check_names(proto, source)
    return _import(proto, source, shapes or {})


def _import(proto: onnx.ModelProto, source: Source, shapes: Mapping[str, tuple[int, ...]]) -> Graph:
    skeleton, weights = separate_weights(proto, source)
    embed_external(skeleton, source)
    problems = Problems(source.name, check_model(skeleton, source))
    skeleton = inline_functions(skeleton, source)
    try:
        fix_shapes(skeleton, shapes, weights, source)
    except InputError:
        # Whoever has to choose shapes first learns here that they would not help.
        for node in skeleton.graph.node:
            problems.check_kind(node)
        problems.raise_if_any()
        raise
    return build_graph(skeleton, check_types(skeleton, weights, source), weights, source, problems)
