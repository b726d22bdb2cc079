"""Several models on one command line: which options are whose.

A value of an option about a model's inputs, outputs or computation is for one of them where the model's name and a
colon stand before it (--dim decoder:past=0..447). Others are for all models, and those that name an input or a size for
the models that have it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path

import click

from ..bundle import check_function_names, function_name
from ..driver.options import Options
from ..driver.owners import INPUT, SIZE, names_in, owners
from ..errors import InputError
from ..frontends.fetch_model import is_address
from ..frontends.importers import describe_model
from ..frontends.model_card import ModelCard
from ..frontends.model_inputs import NO_STATES, ModelInputs, model_inputs
from .explained import MODEL
from .input_options import ShapeOption
from .model_options import model_options
from .watch import ARGUMENTS, RepeatableCommand

_GIVEN = "webnn_compile.models"
_NAME = re.compile(r"\w+", re.ASCII)

Value = tuple[str, str]
"""An option, and its value as text."""


@dataclass(frozen=True, slots=True)
class GivenModels:
    """Files or addresses by name, and the options that models may have of their own; `flags`, options without a value,
    are those of all."""

    models: Mapping[str, str | Path]
    values: tuple[Value, ...]
    flags: tuple[str, ...]


class ModelsCommand(RepeatableCommand):
    """A command of one model, or of several: then `given_models` has their options, and the command none of these."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[ARGUMENTS] = tuple(args)  # those of each model, too
        own = {p.name for p in _of_model.params}
        params = [_repeatable(p) if p.name in own else p for p in self.params]
        given, _, _ = click.Command(self.name, params=params).make_parser(ctx).parse_args(list(args))
        models = given.get("models")  # click's mark of what is missing in its place
        arguments = [str(a) for a in models] if isinstance(models, tuple | list) else []
        if not _are_several(arguments) or ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        values: list[Value] = []
        flags: list[str] = []
        rest = [*arguments]
        for param in params:
            value = given.get(param.name or "")
            if value is None or not isinstance(param, click.Option):
                continue
            flag = param.opts[-1]
            texts = [(flag, _text(param, v)) for v in (value if param.multiple else [value])]
            if param.name not in own:
                rest += [flag] if param.is_flag else map("=".join, texts)
            elif param.is_flag:
                flags.append(flag)
            else:
                values += texts
        ctx.meta[_GIVEN] = GivenModels(_named(arguments, ctx), tuple(values), tuple(flags))
        return super().parse_args(ctx, rest)


def given_models(ctx: click.Context) -> GivenModels | None:
    """The models of a command line that has several, or one with a name."""
    given: GivenModels | None = ctx.meta.get(_GIVEN)
    return given


def options_of_models(given: GivenModels, files: Mapping[str, Path]) -> dict[str, Options]:
    """The options of each model, of which `files` are on this machine. Raises InputError for a value that is for none
    of them, and click's errors for what is no value."""
    own: dict[str, list[Value]] = {name: [] for name in files}
    general: list[Value] = []
    for flag, text in given.values:
        name, colon, rest = text.partition(":")
        (own[name] if colon and name in files else general).append((flag, rest if colon and name in files else text))
    cards = {name: describe_model(file, _signature(own[name], general)) for name, file in files.items()}
    # Sizes may be named by --shape. A model's own values come last: of an option that takes one value the last stands.
    shared: dict[str, list[Value]] = {name: [] for name in files}
    for flag, text in sorted(general, key=lambda one: one[0] != "--shape"):
        for name in _owners(flag, text, cards, {n: [*shared[n], *own[n]] for n in files}):
            shared[name].append((flag, text))
    return {name: _parsed([*given.flags, *map("=".join, [*shared[name], *own[name]])]) for name in files}


def _repeatable(param: click.Parameter) -> click.Parameter:
    """An option that keeps each of its values: one of several models may have its own."""
    if not isinstance(param, click.Option) or param.is_flag:
        return param
    repeatable = copy(param)
    repeatable.multiple = True
    return repeatable


def _text(option: click.Option, value: object) -> str:
    """The value as it was given; of an option whose value may be left out, click has a mark of its own there."""
    return value if isinstance(value, str) else str(option.flag_value)


def _are_several(arguments: Sequence[str]) -> bool:
    return len(arguments) > 1 or any(_split(a)[0] is not None for a in arguments)


def _split(argument: str) -> tuple[str | None, str]:
    """NAME=FILE, or FILE."""
    name, equals, file = argument.partition("=")
    if equals and _NAME.fullmatch(name) and not Path(argument).exists():
        return name, file
    return None, argument


def _named(arguments: Sequence[str], ctx: click.Context) -> dict[str, str | Path]:
    for argument in arguments[1:]:
        name, file = _split(argument)
        if name is None and not is_address(file) and not Path(file).exists():
            raise click.UsageError(
                f"{argument!r} is one argument too many: it is no file, an option takes one value, lists have "
                "commas (--targets webgpu,wasm), and names with spaces stand in quotes",
                ctx,
            )
    named = [(name or function_name(Path(file).stem), file) for name, file in map(_split, arguments)]
    try:
        check_function_names([name for name, _ in named])
    except InputError as error:
        raise click.UsageError(str(error), ctx) from None
    return {name: MODEL.convert(file, None, ctx) for name, file in named}


def _signature(own: Sequence[Value], general: Sequence[Value]) -> ModelInputs:
    values = [text for flag, text in (*general, *own) if flag == "--signature"]
    return model_inputs(signature=values[-1] if values else "")


def _before(text: str) -> str:
    return text.partition("=")[0]


def _before_last(text: str) -> str:
    return text.rpartition("=")[0]


_BY_NAME: Mapping[str, tuple[str, Callable[[str], str]]] = {
    "--dim": (SIZE, _before),
    "--shape": (INPUT, _before_last),
    "--fix": (INPUT, _before),
    "--given": (INPUT, str),
    "--state": (INPUT, _before),
    "--picture": (INPUT, _before_last),
    "--sound": (INPUT, _before_last),
}
"""Options whose values name something of a model: what, and where."""


def _owners(flag: str, text: str, cards: Mapping[str, ModelCard], own: Mapping[str, Sequence[Value]]) -> Iterable[str]:
    """The names of the models that a value is for."""
    if flag not in _BY_NAME or text == NO_STATES:
        return cards
    what, name_of = _BY_NAME[flag]
    names = {model: names_in(card, what, _shapes(own[model])) for model, card in cards.items()}
    given = f"{flag} {text}"
    return owners(given, what, name_of(text), names, f"{flag} NAME:{text}", wildcards=flag == "--state")


def _shapes(own: Sequence[Value]) -> list[tuple[int | str, ...]]:
    return [ShapeOption().convert(text, None, None)[1] for flag, text in own if flag == "--shape"]


def _parsed(arguments: list[str]) -> Options:
    with _of_model.make_context("webnn-compile", arguments) as ctx:
        _of_model.invoke(ctx)
        computed: Options = ctx.obj
        return computed


@click.command(add_help_option=False)
@model_options
def _of_model(computed: Options) -> None:
    click.get_current_context().obj = computed
