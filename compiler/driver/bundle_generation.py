"""How a bundle gives tokens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..bundle import BundledGeneration
from ..generation.add_sampling import give_logits
from ..generation.ports import BY_COUNT, BY_MASS, COUNTS, DRAWS, OPTIONS
from ..graph.ir import Graph
from ..program.program import TensorSpec
from ..tensor.program import without_output
from .optimise_model import Optimised
from .targets import TARGETS
from .work import Work

_ROLES = {OPTIONS: "options", COUNTS: "counts", DRAWS: "draws", BY_COUNT: "byCount", BY_MASS: "byMass"}
"""Roles of the inputs (runtime-js/generate/sampling.js)."""


def compared_by_logits(graph: Graph, work: Work) -> Graph:
    """The decoder with its logits as one more output, where a bundle has WebAssembly and a GPU: a page compares runs on
    these by them, of which a token says little. Steps read nothing of them back. The same graph where nothing is to be
    compared."""
    if not work.generation or len({TARGETS[name].webassembly for name in work.options.targets}) < 2:
        return graph
    graph, logits = give_logits(graph)
    work.generation[:] = [replace(one, logits=logits) for one in work.generation]
    return graph


def of_devices(model: Optimised, work: Work) -> Optimised:
    """The model as GPUs have it: they compute no output of logits."""
    for logits in _logits(work):
        model = replace(model, tensors=without_output(model.tensors, logits))
    return model


def without_logits(outputs: Iterable[TensorSpec], work: Work) -> tuple[TensorSpec, ...]:
    """The outputs that runs give."""
    hidden = _logits(work)
    return tuple(spec for spec in outputs if spec.name not in hidden)


def bundled_generation(work: Work, outputs: Iterable[TensorSpec]) -> BundledGeneration | None:
    """How the bundle gives tokens; `outputs` are those on a processor."""
    if not work.generation:
        return None
    (made,) = work.generation
    logits = next((spec for spec in outputs if spec.name == made.logits), None)
    return BundledGeneration(made.ids, made.longest, made.vocabulary, made.top, made.end, _ROLES, _chat(work), logits)


def _logits(work: Work) -> list[str]:
    return [one.logits for one in work.generation if one.logits is not None]


def _chat(work: Work) -> dict[str, object]:
    chat = None if work.options.text is None else work.options.text.chat
    return {} if chat is None else {"template": chat.text, "tokens": dict(chat.tokens)}
