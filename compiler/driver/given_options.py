"""Options of the Python interface: those that are of one model, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, cast

from ..answers.formats import AnswerLike, answers_of
from ..answers.labels import labels_of
from ..bundle import Packaging
from ..custom.load_operators import OperatorsLike, operators_of
from ..errors import InputError
from ..frontends.model_inputs import DimLike, model_inputs
from ..generation.decoder import GenerateOptions, parse_generate
from ..pictures.formats import PICTURES, FormatLike
from ..sounds.formats import SOUNDS, SoundLike
from ..tokenizers.take_text import TextOptions, parse_text
from .named_files import named_files, texts_in
from .options import Options


class _Options(TypedDict, total=False):
    example_inputs: Sequence[Any] | Mapping[str, Any] | None
    dynamic_shapes: Any
    dims: Mapping[str, DimLike] | None
    constants: Mapping[str, object] | None
    signature: str
    operators: OperatorsLike
    pictures: Mapping[str, FormatLike] | None
    sounds: Mapping[str, SoundLike] | None
    answers: Sequence[AnswerLike]
    labels: str | Path | Sequence[str] | None
    text: str | Path | None
    chat_template: str | Path | None
    states: Sequence[str] | None
    given: Sequence[str]
    state_window: int | None
    generate: bool | str


class ModelOptions(_Options, total=False):
    """Options of one model, as `compile` has them: what `own=` of `build_bundle` gives to one of several."""

    shapes: Mapping[str, tuple[int | str, ...]] | None


class BundleOptions(_Options, total=False):
    """Options of `build_bundle`, those about the bundle and the build among them."""

    packaging: Packaging
    coop_coep: bool
    golden: bool
    canaries: bool
    check_kernels: bool
    report: str | Path | None
    force: bool
    fast_math: bool
    precision: str
    activations: str
    gpu_tiles: str
    cache: bool
    compile_memory: int | None
    max_seconds: float | None
    page_memory: int | None
    records: str | Path | Sequence[str | Path]
    for_device: str | None


def model_options(arguments: Mapping[str, object]) -> ModelOptions:
    """Options of one model, among the arguments of a function that has all of them."""
    return cast(ModelOptions, {name: arguments[name] for name in ModelOptions.__optional_keys__})


def options_of(given: ModelOptions, shared: Options) -> Options:
    """Options of one model, with those about the bundle and the build that are `shared`. Raises InputError."""
    named = (text for name in _NAMING for text in texts_in(given.get(name)))
    return replace(
        shared,
        read=tuple(named_files(named)),
        inputs=model_inputs(
            given.get("shapes"),
            given.get("dims"),
            given.get("constants"),
            operators_of(given.get("operators", ())),
            given.get("signature", ""),
            given.get("states"),
            given.get("given", ()),
            given.get("state_window"),
        ),
        pictures=PICTURES.by_input(given.get("pictures") or {}),
        sounds=SOUNDS.by_input(given.get("sounds") or {}),
        answers=answers_of(given.get("answers", ())),
        labels=labels_of(given.get("labels")),
        text=_text(given.get("text"), given.get("chat_template")),
        generate=_generate(given.get("generate", False)),
    )


_NAMING = ("operators", "pictures", "sounds", "answers", "labels", "text", "chat_template")
"""Options of a model that may name files."""


def paths_of(given: str | Path | Iterable[str | Path]) -> tuple[Path, ...]:
    return tuple(Path(p) for p in ((given,) if isinstance(given, str | Path) else given))


def _text(text: str | Path | None, chat_template: str | Path | None) -> TextOptions | None:
    if text is None and chat_template is not None:
        raise InputError(f"chat_template={str(chat_template)!r} is for messages: give text= and generate=, too")
    return None if text is None else parse_text(text, chat_template)


def _generate(given: bool | str) -> GenerateOptions | None:
    return None if given is False else parse_generate("" if given is True else given)
