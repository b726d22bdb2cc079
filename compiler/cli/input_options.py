"""--shape, --dim, --fix, --state, --state-window, --given, --ops: what users say of a model's inputs and operators."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np

from ..custom.load_operators import operators_of
from ..errors import InputError
from ..frontends.model_inputs import NUMBERS, Dim, Extent, ModelInputs, check_pairs, parse_dim
from .explained import FILE, TEXT, explained

WORDS = {"true": True, "false": False}

_EXPRESSION = re.compile(r"[A-Za-z_]\w*( ?[-+*/]+ ?\w+)+", re.ASCII)
"""As exporters write sizes that follow from others."""

Shape = tuple[Extent, ...]
T = TypeVar("T")


class ShapeOption(click.ParamType[tuple[str, Shape]]):
    """NAME=1x3x224x224, or with names of dimensions and sums of them, NAME=1xNxN+1; NAME= is a scalar. A name with an x
    in it needs commas: NAME=1,max_length,64."""

    name = "shape"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Shape]:
        name, _, dims = str(value).rpartition("=")
        parts = dims.split(",") if "," in dims else _between_x(dims) if dims else []
        if not name or not all(_is_number(p) or p.isidentifier() or _EXPRESSION.fullmatch(p) for p in parts):
            self.fail(f"{value!r} is not of the form input=1x3x224x224", param, ctx)
        return name, tuple(int(p) if _is_number(p) else p for p in parts)


def _between_x(dims: str) -> list[str]:
    numbers = dims.lower().split("x")
    return numbers if all(map(_is_number, numbers)) else dims.split("x")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


class DimOption(click.ParamType[tuple[str, Dim]]):
    """NAME=N or NAME=LEAST..MOST, which `,multiple=M` and `,fast=N` may follow."""

    name = "dim"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Dim]:
        name, _, size = str(value).partition("=")
        dim = parse_dim(size)
        if not name or dim is None:
            self.fail(f"{value!r} is not of the form length=1..512 or batch=1", param, ctx)
        return name, dim


class FixOption(click.ParamType[tuple[str, np.ndarray]]):
    """NAME=FILE.npy, or NAME=VALUE with a number, true, false, or several of them with commas."""

    name = "fix"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, np.ndarray]:
        name, _, text = str(value).partition("=")
        if not name or not text:
            self.fail(f"{value!r} is not of the form axes=0,2 or mask=mask.npy", param, ctx)
        if Path(text).suffix == ".npy":
            try:
                return name, read_array(Path(text))
            except InputError as error:
                self.fail(f"{value!r}: {error}", param, ctx)
        items = [_number(t.strip()) for t in text.split(",")]
        if any(n is None for n in items):
            self.fail(f"{value!r}: {text!r} is no number, and no file of numpy.save (.npy)", param, ctx)
        return name, np.array(items if "," in text else items[0])


def _number(text: str) -> bool | int | float | None:
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return None


def read_array(file: Path) -> np.ndarray:
    """Raises InputError for what is no file of one array of numbers, and for an array that memory does not hold."""
    try:
        array = np.load(file, allow_pickle=False)
    except MemoryError as error:
        raise InputError(f"{error or 'it needs more memory than there is'}; give a file of a smaller array") from None
    except Exception as error:  # NumPy reads the header by Python's parser, and archives by zipfile, with their errors
        raise InputError(f"{error or type(error).__name__}; give a file of numpy.save") from None
    if not isinstance(array, np.ndarray):
        raise InputError("it holds several arrays; give a file of numpy.save")
    if array.dtype.kind not in NUMBERS:
        raise InputError(f"it holds {array.dtype.name}{list(array.shape)}; give a file of numbers")
    return array


_OPTIONS = (
    click.option(
        "--shape",
        "shapes",
        type=ShapeOption(),
        metavar="NAME=1x3x224x224",
        multiple=True,
        help="Shape of an input that the model leaves open. Once for each input. A name in place of a number, as in "
        "x=1xNx64, is for --dim.",
    ),
    click.option(
        "--dim",
        "dims",
        type=DimOption(),
        metavar="NAME=LEAST..MOST",
        multiple=True,
        help="How long the dimensions of a name are: a number, or a range such as 1..512 for sizes that each run "
        "decides; 8..512,multiple=8 for multiples alone; 1..512,fast=1 for kernels of its own for a usual size.",
    ),
    click.option(
        "--fix",
        "constants",
        type=FixOption(),
        metavar="NAME=VALUE|FILE.npy",
        multiple=True,
        help="Make an input a constant: a sampling rate, axes, sizes that are always the same.",
    ),
    click.option(
        "--state",
        "states",
        type=TEXT,
        metavar="INPUT=OUTPUT",
        multiple=True,
        help="What outlives a run: an output that is the input of the next run, and neither any more; * stands for the "
        "same text on both sides, as in past.*=present.*. Once for each. By default the caches of decoders, by their "
        "usual names; none: no states.",
    ),
    click.option(
        "--state-window",
        "window",
        type=click.IntRange(1, 2**31 - 1),
        metavar="ROWS",
        help="The rows that states keep, such as those of a decoder's cache: a sequence may be of any length, and the "
        "oldest rows are dropped where there would be more. By default a run that finds no room is refused.",
    ),
    click.option(
        "--given",
        type=TEXT,
        metavar="INPUT",
        multiple=True,
        help="An input that runs are given, though it follows from states: a mask of their rows, positions. Repeat for "
        "several.",
    ),
    click.option(
        "--signature",
        type=TEXT,
        metavar="NAME",
        help="The signature to take of a TFLite model or a SavedModel that has several; --inspect lists them.",
    ),
    click.option(
        "--ops",
        "files",
        type=FILE,
        metavar="FILE.py",
        multiple=True,
        help="Definitions of operators of your own, by webnn_compile.custom. The code of the file is executed. Repeat "
        "for several files.",
    ),
)


def input_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options to a command, which receives them as `inputs`, a ModelInputs."""

    @functools.wraps(command)
    def wrapped(
        shapes: tuple[tuple[str, Shape], ...],
        dims: tuple[tuple[str, Dim], ...],
        constants: tuple[tuple[str, np.ndarray], ...],
        states: tuple[str, ...],
        window: int | None,
        given: tuple[str, ...],
        signature: str | None,
        files: tuple[Path, ...],
        **others: Any,
    ) -> None:
        with explained(debug=bool(others.get("debug"))):
            try:
                sizes = {name: dim.check(name) for name, dim in _by_name("--dim", "sizes", dims).items()}
                pairs = check_pairs(states) if states else None
            except InputError as error:
                raise click.UsageError(str(error)) from None
            fixed_shapes, fixed = _by_name("--shape", "shapes", shapes), _by_name("--fix", "values", constants)
            inputs = ModelInputs(fixed_shapes, sizes, fixed, operators_of(files), signature or "", pairs, given, window)
        command(inputs=inputs, **others)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def _by_name(flag: str, what: str, pairs: tuple[tuple[str, T], ...]) -> dict[str, T]:
    values: dict[str, T] = {}
    for name, value in pairs:
        if name in values and not _is_same(values[name], value):
            raise click.UsageError(f"{flag} gives {name!r} two {what}; give it one")
        values[name] = value
    return values


def _is_same(a: object, b: object) -> bool:
    """Whether a flag says the same twice; NaN is the same as NaN."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == b.dtype.kind == "f")
    return a == b
