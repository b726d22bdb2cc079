"""From an ONNX model to a Graph: read, check, inline, fix shapes, build."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import onnx

from ...errors import InputError, WebnnCompileError
from ...graph.ir import Graph
from ...graph.keep_states import usual_states
from ...ir.sizes import Size, capacity, scalars_of
from ...ops.equal_sizes import cut
from ...system.limits import CompileMemory
from ..model_inputs import Dim, ModelInputs
from .build_graph import build_graph
from .check_model import all_nodes, check_model
from .check_names import check_names
from .check_types import check_types
from .convert_old import convert_old
from .derive_sizes import Trial, derive_sizes
from .embed_external import embed_external
from .expand_experimental import expand_experimental
from .fix_inputs import fix_inputs
from .fix_shapes import FreeDimensions, declared_shapes, fix_shapes
from .handlers import is_supported
from .inline_functions import inline_functions
from .list_inputs import list_inputs
from .problems import Differing, Problems
from .read_model import Source, read_model
from .refuse_empty import refuse_empty
from .separate_weights import separate_weights
from .sort_nodes import sort_nodes
from .suggest_sizes import arguments_of, flags_of, may_follow, shape_option, suggest_sizes

CACHED, SEQUENCE = Dim(0, 1023), Dim(1, 64)
"""Rows in the caches of a decoder before a run, and those that a run adds, where nothing is said of them."""


def import_model(
    model: str | Path | bytes | onnx.ModelProto,
    inputs: ModelInputs | None = None,
    memory: CompileMemory | None = None,
) -> Graph:
    """The graph of an ONNX model of any opset, every size known at build or an expression of scalars, and
    everything constant folded.

    `inputs` say how long dimensions are, which inputs are constants, and how operators of the user's are defined;
    `memory` counts the bytes of constants, by default against this machine's. Raises InputError for what is no valid
    model, or does not fit `inputs` or `memory`, and one UnsupportedError that names everything that is not supported.
    """
    proto, source = read_model(model, memory)
    check_names(proto, source)
    chosen = inputs or ModelInputs()
    restore = source.memory.checkpoint()
    try:
        return _import_with_sizes(proto, source, chosen)
    except FreeDimensions as free:
        cached = CACHED if chosen.window is None else Dim(0, chosen.window)
        for sized in _sizes_of_decoder(free, proto, chosen, cached):
            restore()
            trial = _trial_with_sizes(proto, source, sized)
            shorter = _shortened(sized, trial.differing, cached) if trial.graph is None else None
            if shorter is not None:
                restore()
                trial = _trial_with_sizes(proto, source, shorter)
            if trial.graph is not None:  # else: what the user did not say is no explanation
                refuse_empty(trial.graph, proto, chosen, source)
                return trial.graph
        raise InputError(_with_suggestions(free, proto, source, chosen)) from None


def _sizes_of_decoder(
    free: FreeDimensions, proto: onnx.ModelProto, chosen: ModelInputs, cached: Dim
) -> Iterator[ModelInputs]:
    """Sizes for what a decoder leaves open whose caches are states, `cached` rows of these, first without those that
    may follow from others; none for other models."""
    if chosen.states is not None:
        return
    states = usual_states([v.name for v in proto.graph.input], [v.name for v in proto.graph.output])
    shapes = [free.declared.get(s.before) or [] for s in states]
    caches = {n for shape in shapes for n in shape[1:] if isinstance(n, str)}
    batches = {shape[0] for shape in shapes if shape and isinstance(shape[0], str)}
    others = {n for shape in free.declared.values() for n in shape or [] if isinstance(n, str) and n.isidentifier()}
    for left in dict.fromkeys((frozenset(filter(may_follow, others)), frozenset[str]())) if any(shapes) else ():
        dims = dict.fromkeys(caches - left, cached) | dict.fromkeys(others - caches - left, SEQUENCE)
        yield replace(chosen, dims={**dims, **dict.fromkeys(batches, Dim(1, 1)), **chosen.dims})


def _shortened(sized: ModelInputs, differing: Sequence[tuple[Size, Size]], cached: Dim) -> ModelInputs | None:
    """`sized` with caches that end where a table of positions does; None where that is not what fails."""
    for a, b in differing:
        limit = cut(a, b)
        caches = [] if limit is None else [s for s in scalars_of(limit[0]) if sized.dims.get(s.name) == cached]
        if limit is not None and len(caches) == 1:
            most = limit[1] - (capacity(limit[0]) - cached.most)
            if most >= 0:
                return replace(sized, dims={**sized.dims, caches[0].name: Dim(0, most)})
    return None


def suggest_inputs(model: str | Path | bytes | onnx.ModelProto) -> ModelInputs | None:
    """Sizes for all dimensions that a model leaves open, which an import has tried; None where none of those tried
    fit. Raises what importing raises."""
    proto, source = read_model(model)
    try:
        _import_with_sizes(proto, source, ModelInputs())
    except FreeDimensions as free:
        return _suggestions(free, proto, source, ModelInputs())[0]
    return ModelInputs()


def _suggestions(
    free: FreeDimensions, proto: onnx.ModelProto, source: Source, chosen: ModelInputs
) -> tuple[ModelInputs | None, ModelInputs | None]:
    """Sizes for free dimensions, and ranges of sizes: each was tried by an import."""

    def fits(inputs: ModelInputs) -> bool:
        try:
            _import_with_sizes(proto, replace(source, memory=CompileMemory()), inputs)
        except WebnnCompileError:
            return False
        return True

    return suggest_sizes(free, chosen, len(proto.graph.node), fits)


def _with_suggestions(free: FreeDimensions, proto: onnx.ModelProto, source: Source, chosen: ModelInputs) -> str:
    """The error message for free dimensions, with options that set their sizes."""
    fixed, ranges = _suggestions(free, proto, source, chosen)
    lines = [str(free)]
    if fixed is not None:
        lines += [f"Fix them: {flags_of(fixed)}", f"(in Python: {arguments_of(fixed)})"]
    if ranges is not None and any(d.least < d.most for d in ranges.dims.values()):
        line = f"{'Or leave' if fixed is not None else 'Leave'} sizes to each run: {flags_of(ranges)}"
        # Where ranges were chosen for all sizes, those are in the first line.
        lines += [line] if fixed is None or flags_of(fixed) != flags_of(ranges) else []
    if len(lines) == 1:
        known = {name: shape for name in free.names if (shape := free.declared[name]) is not None}
        shapes = " ".join(shape_option(name, shape) for name, shape in known.items())
        lines.append(
            f"Fix them by {shapes or '--shape NAME=1x3x224x224'}, with numbers for what is free, or by --dim "
            "NAME=LEAST..MOST for each name: none of the sizes that were tried fits the model"
        )
    return "\n".join(lines)


def _import_with_sizes(proto: onnx.ModelProto, source: Source, chosen: ModelInputs) -> Graph:
    """The graph for `chosen` inputs, where sizes that these leave open follow from others, too."""
    trial = _trial_with_sizes(proto, source, chosen)
    if trial.graph is None:
        assert trial.error is not None
        raise trial.error
    refuse_empty(trial.graph, proto, chosen, source)
    return trial.graph


def _trial_with_sizes(proto: onnx.ModelProto, source: Source, chosen: ModelInputs) -> Trial:
    """An import as `_import_with_sizes` has it; where it fails, with the pairs of sizes of all that was tried."""
    forget = source.memory.checkpoint()
    trial = _try(proto, source, chosen)
    declared = declared_shapes(proto)
    derived = derive_sizes(trial, declared, chosen, partial(_try, proto, replace(source, memory=CompileMemory())))
    if derived is not None:
        forget()
        again = _try(proto, source, derived)
        if again.graph is not None and (trial.graph is None or not again.differing):
            return again
        return replace(trial, differing=[*again.differing, *trial.differing])
    return trial


def _try(proto: onnx.ModelProto, source: Source, inputs: ModelInputs) -> Trial:
    """An import that may fail."""
    differing: Differing = []
    try:
        return Trial(_import(proto, source, inputs, differing), None, differing)
    except WebnnCompileError as error:
        return Trial(None, error, differing)


def _import(proto: onnx.ModelProto, source: Source, inputs: ModelInputs, differing: Differing) -> Graph:
    skeleton, weights = separate_weights(proto, source)
    expand_experimental(skeleton, source)
    skeleton, weights = convert_old(skeleton, weights, source)
    weights = fix_inputs(skeleton, weights, inputs.constants, source)
    embed_external(skeleton, source)
    sort_nodes(skeleton)
    custom = inputs.operators
    opset, supported = check_model(skeleton, source), partial(is_supported, custom=custom)
    problems = Problems(source.name, opset, supported, custom, differing)
    inputs = list_inputs(skeleton, inputs, source)
    skeleton = inline_functions(skeleton, source, custom)
    try:
        shapes = fix_shapes(skeleton, inputs, weights, source)
    except InputError:
        # Unsupported operators are reported first: no choice of shapes would help.
        for node in skeleton.graph.node:
            problems.check_kind(node)
        problems.raise_if_any()
        raise
    graph = build_graph(skeleton, shapes, check_types(skeleton, weights, source), weights, source, problems, custom)
    # Last: where a name is wrong, the error is first that the model's operator is not supported.
    custom.check_use((n.domain, n.op_type) for n in all_nodes(skeleton.graph.node))
    return graph
