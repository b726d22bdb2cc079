"""From an ONNX model to a Graph: read, check, inline, fix shapes, build."""

from __future__ import annotations

from pathlib import Path

import onnx

from ...errors import InputError
from ...graph.ir import Graph
from ...system.limits import CompileMemory
from ..model_inputs import ModelInputs
from .build_graph import build_graph
from .check_model import check_model
from .check_names import check_names
from .check_types import check_types
from .convert_old import convert_old
from .embed_external import embed_external
from .fix_inputs import fix_inputs
from .fix_shapes import fix_shapes
from .inline_functions import inline_functions
from .problems import Problems
from .read_model import Source, read_model
from .separate_weights import separate_weights
from .sort_nodes import sort_nodes


def import_model(
    model: str | Path | bytes | onnx.ModelProto,
    inputs: ModelInputs | None = None,
    memory: CompileMemory | None = None,
) -> Graph:
    """The graph of an ONNX model of any opset, every size known at build or an expression of scalars, and
    everything constant folded.

    `inputs` say how long dimensions are, and which inputs are constants; `memory` counts the bytes of constants, by
    default against this machine's. Raises InputError for what is no valid model, or does not fit `inputs` or `memory`,
    and one UnsupportedError that names everything that is not supported.
    """
    proto, source = read_model(model, memory)
    check_names(proto, source)
    return _import(proto, source, inputs or ModelInputs())


def _import(proto: onnx.ModelProto, source: Source, inputs: ModelInputs) -> Graph:
    skeleton, weights = convert_old(*separate_weights(proto, source), source)
    weights = fix_inputs(skeleton, weights, inputs.constants, source)
    embed_external(skeleton, source)
    sort_nodes(skeleton)
    problems = Problems(source.name, check_model(skeleton, source))
    skeleton = inline_functions(skeleton, source)
    try:
        shapes = fix_shapes(skeleton, inputs, weights, source)
    except InputError:
        # Whoever has to choose shapes first learns here that they would not help.
        for node in skeleton.graph.node:
            problems.check_kind(node)
        problems.raise_if_any()
        raise
    return build_graph(skeleton, shapes, check_types(skeleton, weights, source), weights, source, problems)
