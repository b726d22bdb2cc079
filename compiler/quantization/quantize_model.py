"""A model of float32 in, an ONNX model in fewer bits out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..frontends.importers import import_model
from ..frontends.model_inputs import Dim, ModelInputs
from ..graph.ir import Graph
from ..graph.passes import ONNX_PASSES, run_graph_passes
from ..program.program import TensorSpec
from ..system.cache import Cache
from ..system.limits import CompileMemory
from ..system.need_llvm import has_llvm, need_llvm
from ..values.draw_inputs import draw_inputs, largest_sizes
from .expected import Expected, read_expected
from .quantize_static import quantize_static
from .quantize_weights import quantize_weights
from .result import Quantization
from .samples import Sample, make_samples, read_samples
from .settings import QuantizeOptions, Static

if TYPE_CHECKING:
    import onnx

    from ..frontends.importers import Model

_STATIC_OPSET = 13
"""The first with scales for each channel."""


def quantize_model(
    model: Model,
    inputs: ModelInputs,
    options: QuantizeOptions,
    cache: Cache | None = None,
    memory: int | None = None,
) -> tuple[onnx.ModelProto, Quantization]:
    """The model with inputs as `inputs` say, and the report. `memory` is what compiling may take, in bytes.

    Raises InputError and UnsupportedError.
    """
    from ..frontends.onnx.export_model import export_model

    options.check()
    if options.runs:
        need_llvm("quantising by calibration data")
    graph = _import(model, inputs, options, CompileMemory(memory))
    samples = _samples(graph, options)
    how = options.how
    if isinstance(how, Static):
        quantized = quantize_static(graph, samples, how, options.keep, _expected(options, samples), cache)
    else:
        quantized = quantize_weights(graph, samples, how, options.keep, cache)
    return export_model(quantized.graph, quantized.stored), quantized.report


def inputs_left(model: onnx.ModelProto, inputs: ModelInputs) -> ModelInputs:
    """The part of `inputs` that a quantised model leaves open: its sizes that vary, its states, and the operators."""
    names = {d.dim_param for v in model.graph.input for d in v.type.tensor_type.shape.dim if d.dim_param}
    ports = {v.name for v in model.graph.input}
    dims: dict[str, Dim] = {name: dim for name, dim in inputs.dims.items() if name in names or name in ports}
    operators = inputs.operators.optional()
    return ModelInputs(dims=dims, operators=operators, states=inputs.states, given=inputs.given, window=inputs.window)


def _import(model: Model, inputs: ModelInputs, options: QuantizeOptions, memory: CompileMemory) -> Graph:
    """The graph after the graph's passes, of an opset that has the form of the weights."""
    from ..frontends.onnx.export_model import NEWEST_OPSET, check_flat, export_model, raise_opset

    graph = run_graph_passes(import_model(model, inputs, memory), ONNX_PASSES)
    check_flat(graph)
    opset = max((n.opset for n in graph.nodes if not n.domain), default=NEWEST_OPSET)
    if opset >= (_STATIC_OPSET if isinstance(options.how, Static) or options.how.block is None else NEWEST_OPSET):
        return graph
    raised = raise_opset(export_model(graph))
    return run_graph_passes(import_model(raised, inputs_left(raised, inputs), memory), ONNX_PASSES)


def _samples(graph: Graph, options: QuantizeOptions) -> list[Sample]:
    calibration = options.calibration
    if isinstance(calibration, Path):
        return read_samples(calibration, graph.inputs, options.picture, options.sound)
    if calibration is not None:
        return make_samples(calibration, graph.inputs)
    if not has_llvm():
        return []
    specs = [TensorSpec(v.name, v.dtype, v.shape, 0) for v in graph.inputs]
    generator = np.random.default_rng(0)
    return [Sample((), draw_inputs(specs, graph.dimensions, largest_sizes(graph.dimensions), generator))]


def _expected(options: QuantizeOptions, samples: Sequence[Sample]) -> Expected | None:
    return None if options.expected is None else read_expected(options.expected, samples)
