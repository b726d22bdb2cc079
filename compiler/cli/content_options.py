"""--picture, --sound, --text, --answer and what goes with them: what people have in place of arrays, in and out."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..answers.formats import POOLS, Answer, Embed, parse_answer
from ..answers.labels import Labels, labels_of
from ..errors import InputError
from ..formats.formats import Formats
from ..pictures.formats import PICTURES, PictureFormat
from ..sounds.formats import SOUNDS, SoundFormat
from ..tokenizers.take_text import TextOptions, parse_text
from .explained import FILE, TEXT, explained

if TYPE_CHECKING:
    from ..formats.formats import Format

F = TypeVar("F", bound="Format")


@dataclass(frozen=True, slots=True)
class Content:
    """The values of the options, as those of Options."""

    pictures: Mapping[str, PictureFormat]
    sounds: Mapping[str, SoundFormat]
    answers: tuple[Answer, ...]
    labels: Labels | None
    text: TextOptions | None
    tokenizers: Path | None


class FormatOption(click.ParamType[tuple[str, F]]):
    """INPUT=imagenet, or INPUT=FILE.json: an input, and one of `formats`."""

    name = "format"

    def __init__(self, formats: Formats[F]) -> None:
        self.formats = formats

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, F]:
        name, _, text = str(value).rpartition("=")
        if not name or not text:
            example = next(iter(self.formats.named))
            self.fail(f"{value!r} is not of the form input={example} or input=FILE.json", param, ctx)
        try:
            return name, self.formats.parse(text)
        except InputError as error:
            self.fail(str(error), param, ctx)


class AnswerOption(click.ParamType[Answer]):
    """[OUTPUT=]KIND[,OPTION...]."""

    name = "answer"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Answer:
        try:
            return parse_answer(str(value))
        except InputError as error:
            self.fail(str(error).removeprefix("--answer "), param, ctx)


_OPTIONS = (
    click.option(
        "--picture",
        "pictures",
        type=FormatOption(PICTURES),
        metavar="INPUT=FORMAT",
        multiple=True,
        help=f"An input that pictures of any size fill: {', '.join(PICTURES.named)}, or a .json file. The model "
        "resizes and normalises their pixels then, on every target.",
    ),
    click.option(
        "--sound",
        "sounds",
        type=FormatOption(SOUNDS),
        metavar="INPUT=FORMAT",
        multiple=True,
        help=f"An input that sounds fill: {', '.join(SOUNDS.named)}, or a .json file. The model computes spectra of "
        "their samples then, on every target.",
    ),
    click.option(
        "--text",
        type=TEXT,
        metavar="[INPUT=]FILE",
        help="Runs take text, by a tokenizer.json: it fills the inputs of tokens, of their mask, types and positions. "
        "INPUT is the one of tokens where it has no usual name, such as input_ids.",
    ),
    click.option(
        "--chat-template",
        type=FILE,
        metavar="FILE",
        help="The template of Jinja that makes text of messages, with --generate and --text: by default "
        "chat_template.jinja or the chat_template of tokenizer_config.json beside the tokenizer.",
    ),
    click.option(
        "--pool",
        type=click.Choice(POOLS),
        help="Return one vector of a text in place of an output of one for each token: their mean, the first one's or "
        "the last one's. The same as --answer embedding,pool=mean.",
    ),
    click.option(
        "--normalise",
        is_flag=True,
        help="The vector has the length 1. The same as --answer embedding,normalise, with pool=... where it is given.",
    ),
    click.option(
        "--tokenizers",
        type=FILE,
        metavar="FOLDER",
        help="The npm package @huggingface/tokenizers, which makes tokens in a page: by default that in node_modules "
        "of this folder or one above it, or the one that webnn-compile came with.",
    ),
    click.option(
        "--answer",
        "answers",
        type=AnswerOption(),
        metavar="[OUTPUT=]KIND",
        multiple=True,
        help="What runs return in place of an output: classify,top=5 for labels and scores, "
        "detect=yolox (yolov5, yolov8, ssd, ultraface, FILE.json) for boxes, mask, keypoints, "
        "embedding,pool=mean,normalise, or text (=tokenizer.json, blank=0) of ids. The model computes it.",
    ),
    click.option(
        "--labels",
        type=FILE,
        metavar="FILE",
        help="Names of the classes of answers: a text file of a line each, a JSON list, or an object such as "
        "config.json's id2label.",
    ),
)


def content_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options to a command, which receives them as `content`."""

    @functools.wraps(command)
    def wrapped(
        pictures: tuple[tuple[str, PictureFormat], ...],
        sounds: tuple[tuple[str, SoundFormat], ...],
        answers: tuple[Answer, ...],
        labels: Path | None,
        text: str | None,
        chat_template: Path | None,
        pool: str | None,
        normalise: bool,
        tokenizers: Path | None,
        **others: Any,
    ) -> None:
        with explained(debug=bool(others.get("debug"))):
            if pool is not None or normalise:
                answers = (*answers, Answer(Embed(normalise, pool)))
            if chat_template is not None and (text is None or others.get("generate") is None):
                raise InputError(f"--chat-template {chat_template} is for messages: give --generate and --text, too")
            read = None if text is None else parse_text(text, chat_template)
            content = Content(dict(pictures), dict(sounds), answers, labels_of(labels), read, tokenizers)
        command(content=content, **others)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped
