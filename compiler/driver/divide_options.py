"""Options of the Python interface for several models at once: each gets those that are for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from ..errors import InputError
from ..frontends.importers import describe_model
from ..frontends.model_inputs import model_inputs
from .build_functions import Function
from .given_options import ModelOptions, options_of
from .options import Options
from .owners import INPUT, SIZE, names_in, owners

_NAMING: Mapping[str, str] = {
    "shapes": INPUT,  # first: they may name sizes
    "dims": SIZE,
    "constants": INPUT,
    "pictures": INPUT,
    "sounds": INPUT,
    "given": INPUT,
    "states": INPUT,
}
"""Options whose values name something of a model."""


def functions_of(
    files: Mapping[str, Path], general: ModelOptions, own: Mapping[str, ModelOptions], shared: Options
) -> list[Function]:
    """The models with their options: those that are `shared`, `general` ones, and each model's `own`. The report of
    each has its name. Raises InputError for what is for none of them."""

    def options(name: str, given: ModelOptions) -> Options:
        report = None if shared.report is None else shared.report.with_stem(f"{shared.report.stem}-{name}")
        return options_of(given, replace(shared, report=report))

    divided = divide_options(general, own, files)
    return [Function(name, files[name], options(name, given)) for name, given in divided.items()]


def divide_options(
    general: ModelOptions, own: Mapping[str, ModelOptions], files: Mapping[str, Path]
) -> dict[str, ModelOptions]:
    """The options of each model: `general` ones, where they name an input or a size for the models that have it, and
    then those of its `own`. Raises InputError for what is for none of them."""
    _check_own(own, files)
    shared = {option: value for option, value in general.items() if option not in _NAMING or not value}
    divided: dict[str, dict[str, Any]] = {name: {**shared, **own.get(name, {})} for name in files}
    cards = {
        name: describe_model(file, model_inputs(signature=divided[name].get("signature", "")))
        for name, file in files.items()
    }
    for option, what in _NAMING.items():
        values: Any = general.get(option) or ()
        shapes = {name: (options.get("shapes") or {}).values() for name, options in divided.items()}
        names = {name: names_in(card, what, shapes[name]) for name, card in cards.items()}
        parts: dict[str, list[Any]] = {name: [] for name in files}
        for wanted, one in _named(option, values):
            given = f"{option}={{{wanted!r}: ...}}" if isinstance(values, Mapping) else f"{option}={one!r}"
            advice = f"own={{NAME: {{{option!r}: ...}}}}"
            for name in owners(given, what, wanted, names, advice, wildcards=option == "states"):
                parts[name].append((wanted, one))
        for name, found in parts.items():
            mine: Any = own.get(name, {}).get(option)
            if found and isinstance(values, Mapping):
                divided[name][option] = {**dict(found), **(mine or {})}
            elif found and mine is None:
                divided[name][option] = tuple(one for _, one in found)
    return {name: cast("ModelOptions", options) for name, options in divided.items()}


def _check_own(own: Mapping[str, ModelOptions], files: Mapping[str, Path]) -> None:
    for name, options in own.items():
        if name not in files:
            raise InputError(f"own={{{name!r}: ...}}: no model has this name; they are {', '.join(files)}")
        known = sorted(ModelOptions.__optional_keys__)
        if unknown := [option for option in options if option not in known]:
            raise InputError(
                f"own={{{name!r}: {{{unknown[0]!r}: ...}}}}: that is no option of one model; choose from "
                f"{', '.join(known)}"
            )


def _named(option: str, values: Any) -> Iterator[tuple[str, Any]]:
    """Each value with what it names."""
    if isinstance(values, Mapping):
        yield from values.items()
    else:
        for value in values:
            yield value.partition("=")[0] if option == "states" else value, value
