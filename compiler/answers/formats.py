"""Forms of answers, as the command line and Python name them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import InputError
from ..formats.formats import Formats
from ..tokenizers.tokenizer_file import TokenizerFile, read_tokenizer
from .coco import COCO

SCORES = ("found", "logits", "scores")
"""Elements of an output of classes: logits, of which scores are the Softmax, or scores; by default the graph says."""


@dataclass(frozen=True, slots=True)
class Classify:
    """The `top` classes with the highest scores."""

    top: int = 5
    scores: str = SCORES[0]


ARRANGEMENTS = ("rows", "columns", "apart")
CORNERS = ("centre", "corners", "corners-yx")
UNITS = ("pixels", "relative", "cells")
ACTIVATIONS = ("none", "sigmoid", "softmax")


@dataclass(frozen=True, slots=True)
class Detector:
    """Outputs of a detector, of so many boxes. `arrangement`: "rows", an output [1, boxes, 4 + classes]; "columns",
    [1, 4 + classes, boxes]; "apart", [1, boxes, 4] and [1, boxes, classes], which are found by these shapes or are
    named by `boxes_output` and `scores_output`.

    `boxes` are "centre", x and y of the middle, width and height; "corners", x and y of one and of the opposite one, or
    "corners-yx". `unit`: "pixels" of the input, "relative" to its sides, or "cells": x and y from a box's own cell, in
    cells, width and height as logarithms. Where there are `strides`, a box is of a cell of so many pixels, row by row,
    or `anchors` are. `objectness`: behind a box's four numbers stands one by which its scores are multiplied.
    `background`: the first class is none. Scores are results of `activation`, of ACTIVATIONS.

    Boxes with scores up to `threshold` are left out, and those that overlap a better one of their class by more than
    the share `overlap` of their union; `most` remain.
    """

    arrangement: str = "rows"
    boxes: str = "centre"
    unit: str = "pixels"
    strides: tuple[int, ...] = ()
    anchors: int = 1
    objectness: bool = False
    background: bool = False
    activation: str = "none"
    threshold: float = 0.25
    overlap: float = 0.45
    most: int = 100
    boxes_output: str = ""
    scores_output: str = ""

    def check(self, where: str) -> None:
        """Raises InputError, which names `where` the detector is from."""
        problems = {
            "arrangement": (self.arrangement in ARRANGEMENTS, f"one of {', '.join(ARRANGEMENTS)}"),
            "boxes": (self.boxes in CORNERS, f"one of {', '.join(CORNERS)}"),
            "unit": (self.unit in UNITS, f"one of {', '.join(UNITS)}"),
            "activation": (self.activation in ACTIVATIONS, f"one of {', '.join(ACTIVATIONS)}"),
            "strides": (
                all(type(n) is int and n > 0 for n in self.strides) and (self.unit != "cells" or self.strides != ()),
                "numbers from 1, which cells need",
            ),
            "anchors": (self.anchors >= 1, "a number from 1"),
            "threshold": (0 <= self.threshold < 1, "a number from 0 to below 1"),
            "overlap": (0 <= self.overlap <= 1, "a share from 0 to 1"),
            "most": (1 <= self.most <= MOST_BOXES, f"a number from 1 to {MOST_BOXES}"),
            "objectness": (not (self.objectness and self.arrangement == "apart"), "false where scores are apart"),
        }
        for name, (valid, expected) in problems.items():
            if not valid:
                raise InputError(f"{where}: {name} is {json.dumps(getattr(self, name))}; give {expected}")


MOST_BOXES = 1000

_STRIDES = (8, 16, 32)

DETECTORS: Formats[Detector] = Formats(
    "detectors",
    {
        "yolox": Detector(unit="cells", strides=_STRIDES, objectness=True, threshold=0.3),
        "yolov5": Detector(strides=_STRIDES, anchors=3, objectness=True),
        "yolov8": Detector("columns", strides=_STRIDES),
        "ssd": Detector("apart", "corners", "relative", background=True, threshold=0.5),
        "ultraface": Detector("apart", "corners", "relative", background=True, threshold=0.7, overlap=0.3),
    },
    "yolov8",
)
"""Families of detectors by name, with the limits that their authors use."""

OWN_LABELS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("yolox", "yolov5", "yolov8"), COCO),
    "ultraface": ("face",),
}
"""Labels that families are published with, for models of as many classes where none are given."""


@dataclass(frozen=True, slots=True)
class Detect:
    """Boxes of objects, with `labels` of the family."""

    detector: Detector
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Segment:
    """The class of each pixel."""


POOLS = ("mean", "cls", "last")
"""The mean of the vectors of tokens, the first one's, or the last one's; those of padding do not count."""


@dataclass(frozen=True, slots=True)
class Embed:
    """A vector, of length 1 where it is to be normalised; `pool`, of POOLS, where the output has one of each token."""

    normalise: bool = False
    pool: str | None = None


@dataclass(frozen=True, slots=True)
class Decode:
    """Text, by a `tokenizer`, None for that of the model's own text; `blank` is the id of CTC's."""

    tokenizer: TokenizerFile | None = None
    blank: int | None = None


@dataclass(frozen=True, slots=True)
class Locate:
    """Points; `transposed`: x comes before y."""

    transposed: bool = False


Form = Classify | Detect | Segment | Embed | Locate | Decode


@dataclass(frozen=True, slots=True)
class Answer:
    """A form, and the output of the model that it is made of; None where that follows from shapes."""

    form: Form
    output: str | None = None

    def __str__(self) -> str:
        """The beginning of the option, for messages."""
        kind = KIND_OF[type(self.form)]
        return f"--answer {kind}" if self.output is None else f"--answer {self.output}={kind}"


AnswerLike = str | Answer
"""An answer, or its text."""


def answers_of(given: Sequence[AnswerLike]) -> tuple[Answer, ...]:
    """Raises InputError."""
    if isinstance(given, str):
        given = [given]
    return tuple(parse_answer(a) if isinstance(a, str) else a for a in given)


def parse_answer(text: str) -> Answer:
    """`[OUTPUT=]KIND[=PRESET][,OPTION...]`, such as classify,top=3. Raises InputError."""
    found = _TEXT.fullmatch(text)
    if found is None:
        raise InputError(f"--answer {text}: it names no kind; choose one of {', '.join(KINDS)}, as in classify,top=5")
    options: dict[str, str | None] = {}
    for part in (found["options"] or "").split(",")[1:]:
        name, _, value = part.partition("=")
        options[name] = value or None
    where = f"--answer {text}"
    form = KINDS[found["kind"]](found["preset"], options, where)
    if options:
        raise InputError(f"{where}: {next(iter(options))!r} is unknown; {EXAMPLES[found['kind']]}")
    return Answer(form, found["output"])


def _classify(preset: str | None, options: dict[str, str | None], where: str) -> Classify:
    _no_preset(preset, "classify", where)
    top = _number(options, "top", 5, where)
    given = [name for name in SCORES[1:] if name in options and options.pop(name) is None]
    if len(given) > 1:
        raise InputError(f"{where}: logits and scores exclude each other")
    return Classify(top, given[0] if given else SCORES[0])


def _detect(preset: str | None, options: dict[str, str | None], where: str) -> Detect:
    if preset is None:
        raise InputError(f"{where}: {EXAMPLES['detect']}")
    try:
        detector = DETECTORS.parse(preset)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    threshold, overlap = (_share(options, n, getattr(detector, n), where) for n in ("threshold", "overlap"))
    most = _number(options, "most", detector.most, where)
    detector = replace(detector, threshold=threshold, overlap=overlap, most=most)
    detector.check(where)
    return Detect(detector, OWN_LABELS.get(preset, ()))


def _mask(preset: str | None, options: dict[str, str | None], where: str) -> Segment:
    _no_preset(preset, "mask", where)
    return Segment()


def _keypoints(preset: str | None, options: dict[str, str | None], where: str) -> Locate:
    _no_preset(preset, "keypoints", where)
    return Locate("xy" in options and options.pop("xy") is None)


def _embedding(preset: str | None, options: dict[str, str | None], where: str) -> Embed:
    _no_preset(preset, "embedding", where)
    pool = options.pop("pool") or "" if "pool" in options else None
    form = Embed("normalise" in options and options.pop("normalise") is None, pool)
    if pool not in (None, *POOLS):
        raise InputError(f"{where}: pool is {pool!r}; give one of {', '.join(POOLS)}")
    return form


def _text(preset: str | None, options: dict[str, str | None], where: str) -> Decode:
    blank = options.pop("blank", None)
    if blank is not None and not (blank.isascii() and blank.isdigit()):
        raise InputError(f"{where}: blank is {blank!r}; give the id of CTC's blank, such as 0")
    return Decode(
        None if preset is None else read_tokenizer(preset, "--answer text"), None if blank is None else int(blank)
    )


def _share(options: dict[str, str | None], name: str, default: float, where: str) -> float:
    text = options.pop(name, str(default)) or ""
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{where}: {name} is {text!r}; give a number from 0 to 1") from None


def _no_preset(preset: str | None, kind: str, where: str) -> None:
    if preset is not None:
        raise InputError(f"{where}: {preset!r} is unknown; {EXAMPLES[kind]}")


def _number(options: dict[str, str | None], name: str, default: int, where: str) -> int:
    """An option that is a number from 1."""
    text = options.pop(name, str(default)) or ""
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise InputError(f"{where}: {name} is {text!r}; give a number from 1")
    return int(text)


Reader = Callable[[str | None, dict[str, str | None], str], Form]

KINDS: Mapping[str, Reader] = {
    "classify": _classify,
    "detect": _detect,
    "mask": _mask,
    "keypoints": _keypoints,
    "embedding": _embedding,
    "text": _text,
}
"""Readers of kinds: of the preset, of options, out of which they take theirs, and for messages where they stand."""

KIND_OF: Mapping[type[Form], str] = {
    Classify: "classify",
    Detect: "detect",
    Segment: "mask",
    Locate: "keypoints",
    Embed: "embedding",
    Decode: "text",
}

EXAMPLES: Mapping[str, str] = {
    "classify": "give classify,top=5, and logits or scores where the graph does not say which of them it computes",
    "detect": f"give detect={'|'.join(DETECTORS.named)}|FILE.json, with threshold=0.3, overlap=0.5 and most=100",
    "mask": "give mask",
    "keypoints": "give keypoints, or keypoints,xy where x comes before y",
    "embedding": "give embedding, with pool=mean (cls, last) and normalise",
    "text": "give text, text=tokenizer.json or text=vocab.json, with blank=0 for outputs of CTC",
}

_TEXT = re.compile(rf"(?:(?P<output>.+)=)?(?P<kind>{'|'.join(KINDS)})(?:=(?P<preset>[^,]+))?(?P<options>(?:,[^,]*)*)")
