"""model.js as a classic script: one global with what the ES module exports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .files import MARKER, BundleFile, hashed_file
from .link_runtime import relink
from .manifest import Manifest
from .merge_modules import variable_of
from .merge_script import RUNTIME, merge_page, merge_script
from .render_entry import render_manifest

_MODULE = '<script type="module" src="./page.js"></script>'


def render_script(manifest: Manifest, sources: Mapping[str, str], errors: Sequence[str], name: str) -> str:
    """The source of a script that defines the global `name`. In a worker that the runtime starts it is the worker's."""
    runtime = merge_script(sources, ("load_script.js", "errors.js"))
    load = f"{variable_of('load_script.js')}.load"
    lines = [
        MARKER,
        f"var {name} = (() => {{",
        "'use strict';",
        f"{runtime}const model = {RUNTIME}({{ url: globalThis.document?.currentScript?.src, {_SOURCE} }});",
        "if (!model) return undefined;",
        f"const {{ {', '.join(errors)} }} = model.{variable_of('errors.js')};",
        f"const manifest = (at) => ({render_manifest(manifest, lambda file: f'at({file!r})')});",
        f"const load = (options) => model.{load}(manifest, options);",
        f"const cache = model.{variable_of('load_script.js')}.cacheOf(manifest(String));",
        f"return {{ load, cache, {', '.join(errors)} }};",
        "})();",
    ]
    return "\n".join(lines) + "\n"


_SOURCE = f"source: () => `'use strict';(${{{RUNTIME}}})({{}});`"
"""A worker's whole script: it has its name from who creates it."""


def render_script_page(page: str, runtime: Mapping[str, BundleFile], script: BundleFile) -> str:
    """The bundle's own page, for `script`, which finds the model's global."""
    tags = f'<script defer src="./model.js"></script>\n<script defer src="./{script.name}"></script>'
    return relink(page.replace(_MODULE, tags), runtime.__getitem__)


def render_page_script(sources: Mapping[str, str], name: str) -> BundleFile:
    """The script of the bundle's own page."""
    return hashed_file("page", "js", merge_page(sources, name).encode(), "page")
