"""The steps common to all targets: import, graph passes, operators as tensors."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..answers.give_answers import fit_answers, give_answers
from ..answers.labelled import fit_own
from ..frontends.importers import import_model
from ..generation.decoder import Generation, add_generation
from ..generation.end_tokens import end_tokens
from ..graph.ir import Graph
from ..graph.keep_states import keep_states
from ..graph.lower_graph import lower_graph
from ..graph.passes import run_graph_passes
from ..graph.specialise import specialise
from ..graph.window_states import window_states
from ..pictures.take_pictures import picture_inputs, take_pictures
from ..sounds.take_sounds import sound_inputs, take_sounds
from ..system.limits import CompileMemory
from ..system.recursion import deep_recursion
from ..tensor.program import TensorProgram
from ..tokenizers.take_text import fit_text
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
    """Imports the model, with nodes for the options' pictures, sounds and answers. Raises InputError and
    UnsupportedError."""
    options, inputs = work.options, work.options.inputs
    graph = import_model(model, inputs, CompileMemory(options.compile_memory))
    graph = keep_states(graph, inputs.states, inputs.given)
    if inputs.window is not None:
        graph = window_states(graph, inputs.window)
    if options.generate is not None:
        graph, generation = add_generation(graph, options.generate)
        work.generation[:] = [replace(generation, end=_end_tokens(generation, work))]
    given = _without_states(graph)
    work.pictures[:] = picture_inputs(given, options.pictures)
    text = options.text
    work.text[:] = [] if text is None else [fit_text(given, text.tokenizer, text.input)]
    tokenizer = None if text is None else text.tokenizer
    answers = fit_answers(given, options.answers, options.labels, work.pictures, tokenizer)
    if options.alone is None:
        answers += fit_own(given, {v for one in answers for v in one.takes})
    elif graph.labels:
        warnings.warn(f"outputs are numbers in place of labels: {_described(graph)}", stacklevel=2)
    if answers:
        graph, work.answers[:] = give_answers(graph, answers)
    graph = take_pictures(graph, work.pictures)
    work.sounds[:] = sound_inputs(_without_states(graph), options.sounds)
    graph = take_sounds(graph, work.sounds)
    work.dump("import", graph)
    return graph


def _end_tokens(generation: Generation, work: Work) -> tuple[int, ...]:
    """By the files beside the model, or those beside its tokenizer."""
    file = None if work.options.text is None else work.options.text.tokenizer
    folders = [work.folder, None if file is None else file.folder]
    added = {} if file is None else file.added
    return end_tokens([folder for folder in folders if folder is not None], added, generation.vocabulary)


def _without_states(graph: Graph) -> Graph:
    """The graph with the inputs that a run is given and the outputs that it gives alone."""
    before, after = {s.before for s in graph.states}, {s.after for s in graph.states}
    inputs = tuple(v for v in graph.inputs if v.name not in before)
    return replace(graph, inputs=inputs, outputs=tuple(v for v in graph.outputs if v.name not in after), states=())


def _described(graph: Graph) -> str:
    return "; ".join(f"{one.takes[0].name}: {one.describe()}" for one in fit_own(graph, ()))


def optimise_model(graph: Graph, work: Work) -> Optimised:
    """Runs the graph passes of the options, once more on the graph for fast sizes if there are any."""
    passes = graph_passes(work.options.opt_level, work.options.precision, work.options.activations)
    graph = run_graph_passes(graph, passes, work.dump)
    special = [replace(s, graph=run_graph_passes(s.graph, passes, work.dump)) for s in specialise(graph)]
    with deep_recursion():
        return Optimised(graph, lower_graph(graph, special))
