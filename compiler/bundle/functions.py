"""Several models in one bundle: one copy of the runtime and of what the models have in common."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from ..text.escape import html_text
from .artifact import Artifact
from .files import TEXT, BundleFile, hashed_file
from .folder import Others, WrittenFile, write_folder
from .isolation import isolate_page, isolation_files
from .link_runtime import keep_parts, keep_sections, link_runtime, read_runtime, relink
from .manifest import SHARD_BYTES, Manifest, make_manifest
from .merge_modules import exported_names, merge_modules
from .packaging import ESM, TAKEN, Packaging
from .render_card import facts_of, fill_page
from .render_entry import render_functions_entry
from .render_snippets import render_functions_snippets
from .render_types import render_function_types
from .share_weights import share_weights
from .text_packages import text_package_files
from .write_bundle import BUNDLE, PACKAGE, PAGE, finished, optional_parts

_NAME = re.compile(r"[a-z][A-Za-z0-9_]*")
_OWN = frozenset(("load", "cache", "info", "dispose", "then"))
"""Names of what the bundle exports besides models, and of what stands beside these once they are loaded."""


@dataclass(frozen=True, slots=True)
class BundledFunction:
    """A model of a bundle of several, with the licence and facts of its `packaging`; `artifact.name` is what scripts
    call it."""

    artifact: Artifact
    packaging: Packaging = ESM

    @property
    def name(self) -> str:
        return self.artifact.name


def function_name(stem: str) -> str:
    """The name of a function, from that of a model's file."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", stem).strip("_") or "model"
    return name[0].lower() + name[1:] if name[0].isalpha() else f"model_{name}"


def check_function_names(names: Sequence[str]) -> None:
    """Raises InputError for a name that scripts cannot have, and for one twice."""
    for name in names:
        if not _NAME.fullmatch(name):
            raise InputError(
                f"the model name {name!r} is no name for scripts: give one with a small letter first, and then "
                "letters, digits and _, by NAME=FILE, or in Python by {name: file}"
            )
        if name in TAKEN or name in _OWN:
            raise InputError(
                f"the model name {name!r} is taken in scripts: give another one by NAME=FILE, or in Python by "
                "{name: file}"
            )
        if names.count(name) > 1:
            raise InputError(
                f"two models have the name {name!r}: give them others by NAME=FILE, or in Python by {{name: file}}"
            )


def check_functions_packaging(packaging: Packaging) -> None:
    """Raises InputError for a form that bundles of several models do not have."""
    for option, given in (
        (f"--format {packaging.format}", packaging.format != ESM.format),
        ("--single-file", packaging.single_file),
    ):
        if given:
            raise InputError(
                f"{option} is for bundles of one model: leave it out, or compile each model into a folder of its own"
            )


@dataclass(frozen=True, slots=True)
class WrittenFunctions:
    """The files of a bundle of several models, and the manifest of each by name."""

    files: list[WrittenFile]
    manifests: dict[str, Manifest]


def write_functions(
    functions: Sequence[BundledFunction],
    out: Path,
    *,
    force: bool = False,
    isolation: bool = False,
    packaging: Packaging = ESM,
    shard_bytes: int = SHARD_BYTES,
    others: Others = lambda _: (),
) -> WrittenFunctions:
    """As `write_bundle`, of several models: model.js exports each, and `load` for all of them. `packaging` has the
    form, of which there is `--format esm` alone, and the package of tokenizers. `others` as of `write_folder`."""
    check_function_names([f.name for f in functions])
    check_functions_packaging(packaging)
    artifacts = [f.artifact for f in functions]
    bounds = share_weights(artifacts)
    manifests = [make_manifest(a, shard_bytes, own) for a, own in zip(artifacts, bounds, strict=True)]
    if packaging.sign is not None:
        manifests = [manifest.signed() for manifest in manifests]
    files = {file.name: file for file in _files(functions, manifests, isolation, packaging)}
    written = write_folder(finished(list(files.values()), packaging), out, BUNDLE, force=force, others=others)
    return WrittenFunctions(written, {f.name: manifest for f, manifest in zip(functions, manifests, strict=True)})


def _files(
    functions: Sequence[BundledFunction], manifests: Sequence[Manifest], isolation: bool, packaging: Packaging
) -> Iterator[BundleFile]:
    artifacts = [f.artifact for f in functions]
    backends = dict.fromkeys(part.backend for artifact in artifacts for part in artifact.backends)
    parts = dict.fromkeys(part for artifact in artifacts for part in optional_parts(artifact))
    whole = read_runtime()
    sources = keep_parts(whole, backends, [*parts, *packaging.parts, "functions", "chooseFunction"])
    golden = {a.name: hashed_file("golden", TEXT, a.golden, "page") for a in artifacts if a.golden}
    page = _page(sources["index.html"], functions, manifests, golden, list(backends))
    sources["index.html"] = isolate_page(page) if isolation else page
    merged = merge_modules(sources)
    runtime = link_runtime(merged, ("load.js", *PAGE))
    errors = [name for name in exported_names(sources["errors.js"]) if name[0].isupper()]
    by_name = {f.name: manifest for f, manifest in zip(functions, manifests, strict=True)}
    entry = render_functions_entry(by_name, runtime, errors, packaging.base_url, packaging.text_packages)
    templates = {
        a.name: (a, keep_sections(whole["model.d.ts"], [*optional_parts(a), *packaging.parts])) for a in artifacts
    }
    types = render_function_types(templates, sources["model.d.ts"])
    yield BundleFile("model.js", entry.encode(), "entry")
    yield BundleFile("model.d.ts", types.encode(), "types")
    yield BundleFile("package.json", PACKAGE, "entry")
    yield BundleFile("index.html", relink(merged["index.html"], runtime.__getitem__).encode(), "page")
    yield from (*runtime.values(), *text_package_files(packaging.text_packages), *golden.values())
    if isolation:
        yield from isolation_files(sources)
    for manifest in manifests:
        yield from manifest.files


def _page(
    page: str,
    functions: Sequence[BundledFunction],
    manifests: Sequence[Manifest],
    golden: dict[str, BundleFile],
    backends: Sequence[str],
) -> str:
    """The bundle's own page, which shows one model at a time."""
    links = [
        f'<a href="?function={f.name}" data-function="{f.name}" '
        f'data-golden="{f"./{golden[f.name].name}" if f.name in golden else ""}">{html_text(f.name)}</a>'
        for f in functions
    ]
    facts = [
        (f"{f.name}: {head}", text)
        for f, manifest in zip(functions, manifests, strict=True)
        for head, text in facts_of(f.artifact, f.packaging, manifest.files)
    ]
    return fill_page(
        page,
        name=", ".join(f.name for f in functions),
        backends=" ".join(backends),
        golden="",
        facts=facts,
        snippets=render_functions_snippets([f.artifact for f in functions], "./bundle/model.js"),
        functions=f'<nav id="functions" aria-label="Models">{" ".join(links)}</nav>\n',
    )
