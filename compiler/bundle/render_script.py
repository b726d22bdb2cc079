"""model.js as a classic script: one global with what the ES module exports."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence

from .files import MARKER, BundleFile, hashed_file
from .link_runtime import relink
from .manifest import Manifest
from .merge_modules import variable_of
from .merge_script import RUNTIME, merge_page, merge_script
from .render_entry import at_base, render_load, render_manifest
from .text_packages import TextPackage, inline_packages

_MODULE = '<script type="module" src="./page.js"></script>'


_OWN = "url: globalThis.document?.currentScript?.src, "
_SOURCE = f"source: () => `'use strict';(${{{RUNTIME}}})({{}});`"
"""A worker's whole script: it has its name from who creates it."""


def render_script(
    manifest: Manifest,
    sources: Mapping[str, str],
    errors: Sequence[str],
    name: str,
    base: str = "",
    packages: Sequence[TextPackage] = (),
) -> str:
    """The source of a script that defines the global `name`. In a worker that the runtime starts it is the worker's.
    The model's files lie beside it, or where `base` says."""
    locate = at_base(base) if base else lambda file: f"at({file!r})"
    lines = [
        *_start(sources, "load_script.js", _OWN + _SOURCE),
        "if (!model) return undefined;",
        f"const manifest = (at) => ({render_manifest(manifest, locate)});",
        *_exports("load_script.js", errors, "manifest(String)", packages),
    ]
    return f"{MARKER}\n{_defined(name, lines, errors)}"


def render_whole(
    manifest: Manifest,
    sources: Mapping[str, str],
    errors: Sequence[str],
    name: str | None,
    packages: Sequence[TextPackage] = (),
) -> str:
    """As `render_script`, with all files of the model inside; without a name it is an ES module. Its workers are of a
    script without these files."""
    files = {file.name: f'"data:;base64,{b64encode(file.data).decode()}"' for file in manifest.files}
    lines = [
        *_start(sources, "load.js", _SOURCE),
        f"const manifest = {render_manifest(manifest, files.__getitem__)};",
        *_exports("load.js", errors, "manifest", packages),
    ]
    if name is not None:
        return f"{MARKER}\n{_defined(name, lines, errors)}"
    return "\n".join([MARKER, *lines, f"export {{ load, cache, {', '.join(errors)} }};"]) + "\n"


def _start(sources: Mapping[str, str], root: str, meta: str) -> list[str]:
    return [f"{merge_script(sources, (root, 'errors.js'))}const model = {RUNTIME}({{ {meta} }});"]


def _exports(root: str, errors: Sequence[str], manifest: str, packages: Sequence[TextPackage]) -> list[str]:
    own = f"model.{variable_of(root)}"
    inside = inline_packages(packages)
    package = [] if inside is None else [f"const tokenizers = {inside};"]
    return [
        f"const {{ {', '.join(errors)} }} = model.{variable_of('errors.js')};",
        *package,
        render_load("const", f"{own}.load", "tokenizers" if package else None),
        f"const cache = {own}.cacheOf({manifest});",
    ]


def _defined(name: str, lines: Sequence[str], errors: Sequence[str]) -> str:
    results = f"return {{ load, cache, {', '.join(errors)} }};"
    return "\n".join([f"var {name} = (() => {{", "'use strict';", *lines, results, "})();"]) + "\n"


def render_script_page(page: str, runtime: Mapping[str, BundleFile], script: BundleFile) -> str:
    """The bundle's own page, for `script`, which finds the model's global."""
    tags = f'<script defer src="./model.js"></script>\n<script defer src="./{script.name}"></script>'
    return relink(page.replace(_MODULE, tags), runtime.__getitem__)


def render_page_script(sources: Mapping[str, str], name: str) -> BundleFile:
    """The script of the bundle's own page."""
    return hashed_file("page", "js", merge_page(sources, name).encode(), "page")
