"""One build of several models into one bundle."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ..bundle import (
    BundledFunction,
    Manifest,
    WrittenFile,
    check_function_names,
    check_functions_packaging,
    write_functions,
)
from ..errors import InputError, UnsupportedError
from ..ir.memo import forgetting
from ..system.put_files import OutputFile
from .build import begin, make_artifact, packaging_of
from .check_paths import check_paths
from .options import Options
from .report_data import Report, with_files
from .work import Phase


@dataclass(frozen=True, slots=True)
class Function:
    """A model by the name that scripts have for it, and its options, of which those about the bundle are the same for
    all."""

    name: str
    model: Path
    options: Options


def check_functions(functions: Sequence[Function], out: Path) -> None:
    """Raises InputError for what cannot be one bundle, before any work is done."""
    check_function_names([f.name for f in functions])
    for function in functions:
        options = function.options
        options.check()
        if options.alone is not None:
            raise InputError(f"--targets {options.alone.name} is for one model: compile each into a folder of its own")
        check_functions_packaging(options.packaging)
    outputs = Counter((option, os.path.realpath(path)) for f in functions for option, path in f.options.outputs)
    for (option, path), count in outputs.items():
        if count > 1:
            raise InputError(
                f"{option} {path}: {count} models would be written to this file; give each another one, as in "
                f"{option} {functions[0].name}:FILE"
            )
    check_paths([(f.model, f.options) for f in functions], out)


@dataclass(frozen=True, slots=True)
class BuiltFunctions:
    """By the models' names the reports, each with all files of the bundle, and the manifests as data."""

    reports: dict[str, Report]
    manifests: dict[str, Manifest]


@forgetting()
def build_functions(
    functions: Sequence[Function],
    out: Path,
    phase: Phase,
    emit: Callable[[str], None],
    reported: Callable[[Function, Report], Sequence[OutputFile]] = lambda *_: (),
) -> BuiltFunctions:
    """Compiles the models and writes one bundle of them to `out`, with what is `reported` of each.

    Raises InputError and UnsupportedError for the user's mistakes, with the name of the model; nothing is then written.
    """
    check_functions(functions, out)
    bundled, reports = [], {}
    for function in functions:
        try:
            made, reports[function.name] = _make(function, phase, emit)
        except (InputError, UnsupportedError) as error:
            kind = InputError if isinstance(error, InputError) else UnsupportedError
            raise kind(f"{function.name}: {error}") from error
        bundled.append(made)
    shared = functions[0].options
    packages = tuple(dict.fromkeys(package for f in bundled for package in f.packaging.text_packages))

    def others(files: list[WrittenFile]) -> list[OutputFile]:
        return [file for f in functions for file in with_files(reports[f.name], partial(reported, f))(files)]

    phase("write")
    written = write_functions(
        bundled,
        out,
        force=shared.force,
        isolation=shared.coop_coep,
        packaging=replace(shared.packaging, text_packages=packages),
        others=others,
    )
    return BuiltFunctions(reports, written.manifests)


def _make(function: Function, phase: Phase, emit: Callable[[str], None]) -> tuple[BundledFunction, Report]:
    def own(name: str) -> None:
        phase(f"{function.name}: {name}")

    source, work, report = begin(function.model, function.options, own, emit, function.name)
    packaging = packaging_of(source, work)
    artifact = make_artifact(source, work, report)
    work.cache.trim()
    return BundledFunction(artifact, packaging), report
