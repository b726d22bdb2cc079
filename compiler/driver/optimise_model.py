"""The steps common to all targets: import, graph passes, operators as tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..frontends.importers import import_model
from ..graph.ir import Graph
from ..graph.lower_graph import lower_graph
from ..graph.passes import run_graph_passes
from ..pictures.take_pictures import picture_inputs, take_pictures
from ..sounds.take_sounds import sound_inputs, take_sounds
from ..system.limits import CompileMemory
from ..system.recursion import deep_recursion
from ..tensor.program import TensorProgram
from .options import graph_passes
from .work import Work

if TYPE_CHECKING:
    from ..frontends.importers import Model


@dataclass(frozen=True, slots=True)
class Optimised:
    """A model after the graph passes, and its operators as tensors."""

    graph: Graph
    tensors: TensorProgram


def import_graph(model: Model, work: Work) -> Graph:
    """Imports the model, with nodes for the options' pictures and sounds. Raises InputError and UnsupportedError."""
    graph = import_model(model, work.options.inputs, CompileMemory(work.options.compile_memory))
    if work.options.pictures:
        work.pictures[:] = picture_inputs(graph, work.options.pictures)
        graph = take_pictures(graph, work.pictures)
    if work.options.sounds:
        work.sounds[:] = sound_inputs(graph, work.options.sounds)
        graph = take_sounds(graph, work.sounds)
    work.dump("import", graph)
    return graph


def optimise_model(graph: Graph, work: Work) -> Optimised:
    """Runs the graph passes of the options."""
    passes = graph_passes(work.options.opt_level, work.options.precision, work.options.activations)
    graph = run_graph_passes(graph, passes, work.dump)
    with deep_recursion():
        return Optimised(graph, lower_graph(graph))
