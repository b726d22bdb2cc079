"""Models that give answers: nodes behind the model make them of its outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import InputError
from ..graph.ir import Graph, Value
from ..graph.tail import Tail
from ..pictures.take_pictures import PictureInput
from ..tokenizers.tokenizer_file import TokenizerFile
from .classify import fit_classes
from .detect import fit_detections
from .embedding import fit_embedding
from .fitted import Fitted
from .formats import Answer, Classify, Decode, Detect, Embed, Locate, Segment
from .keypoints import fit_keypoints
from .labels import Labels
from .mask import fit_mask
from .text import fit_decoded


@dataclass(frozen=True, slots=True)
class Given:
    """An answer of a compiled model: `outputs` are the names of those that it is made of, by their parts in it."""

    fitted: Fitted
    outputs: Mapping[str, str]

    @property
    def name(self) -> str:
        """Its name among the outputs."""
        return self.fitted.takes[0].name


def fit_answers(
    graph: Graph,
    answers: Sequence[Answer],
    labels: Labels | None,
    pictures: Sequence[PictureInput],
    text: TokenizerFile | None = None,
) -> tuple[Fitted, ...]:
    """The answers, with the outputs of the model that they take; `text` is the tokenizer of the model's own text.
    Raises InputError for one that does not fit."""
    fitted = tuple(_fit(graph, answer, labels, pictures, text) for answer in answers)
    if labels is not None and all(one.labels is None for one in fitted):
        raise InputError(f"{labels.source}: labels are of answers: say which, as in --answer classify")
    taken: dict[Value, Answer] = {}
    for answer, one in zip(answers, fitted, strict=True):
        for value in one.takes:
            if value in taken:
                raise InputError(f"{answer}: output {value.name!r} is taken by {taken[value]}; leave one out")
            taken[value] = answer
    return fitted


def _fit(
    graph: Graph,
    answer: Answer,
    labels: Labels | None,
    pictures: Sequence[PictureInput],
    text: TokenizerFile | None,
) -> Fitted:
    match answer.form:
        case Classify() as form:
            return fit_classes(graph, answer, form, labels)
        case Detect() as form:
            return fit_detections(graph, answer, form, labels, pictures)
        case Segment():
            return fit_mask(graph, answer, labels, pictures)
        case Locate() as form:
            return fit_keypoints(graph, answer, form, labels, pictures)
        case Embed() as form:
            return fit_embedding(graph, answer, form)
        case Decode() as form:
            return fit_decoded(graph, answer, form, text)


def give_answers(graph: Graph, fitted: Sequence[Fitted]) -> tuple[Graph, tuple[Given, ...]]:
    """The model with outputs that answers are made of, each where the first one that it takes was."""
    tail, given = Tail(graph), []
    replaced: dict[Value, tuple[Value, ...]] = {}
    for one in fitted:
        parts = one.add(tail)
        replaced |= dict.fromkeys(one.takes, ()) | {one.takes[0]: tuple(parts.values())}
        given.append(Given(one, {part: v.name for part, v in parts.items()}))
    outputs = tuple(new for v in graph.outputs for new in replaced.get(v, (v,)))
    return tail.graph(outputs), tuple(given)
