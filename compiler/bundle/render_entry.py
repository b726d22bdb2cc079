"""model.js: the manifest as a literal, bound to the runtime's `load`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..text.escape import js_literal
from .files import MARKER, BundleFile
from .manifest import Manifest
from .merge_modules import COMMON
from .text_packages import TextPackage, import_packages

Locate = Callable[[str], str]
"""The expression of a file's URL, by the file's name."""


def render_entry(
    manifest: Manifest,
    runtime: Mapping[str, BundleFile],
    errors: Sequence[str],
    base: str = "",
    packages: Sequence[TextPackage] = (),
) -> str:
    """The source of model.js; `errors` are the names of the classes of errors. The model's files lie beside it, or
    where `base` says; scripts, also those of `packages`, lie beside it."""
    locate = at_base(base) if base else _beside_module
    lines = [
        MARKER,
        f"import {{ cacheOf, load as start }} from './{runtime['load.js'].name}';",
        # Both files at once, instead of the second when the first is there.
        f"export {{ {', '.join(errors)} }} from './{runtime[COMMON].name}';",
        "",
        f"const manifest = {render_manifest(manifest, locate)};",
        "",
        render_load("export const", "start", import_packages(packages)),
        "export const cache = cacheOf(manifest);",
    ]
    return "\n".join(lines) + "\n"


def render_functions_entry(
    manifests: Mapping[str, Manifest],
    runtime: Mapping[str, BundleFile],
    errors: Sequence[str],
    base: str = "",
    packages: Sequence[TextPackage] = (),
) -> str:
    """As `render_entry`, of several models by name."""
    locate = at_base(base) if base else _beside_module
    imports = import_packages(packages)
    package = "" if imports is None else f", {imports}"
    lines = [
        MARKER,
        f"import {{ cacheOf as $cacheOf, functionsOf as $functionsOf, load as $load }} from "
        f"'./{runtime['load.js'].name}';",
        f"export {{ {', '.join(errors)} }} from './{runtime[COMMON].name}';",
        "",
        "const $manifests = {",
        *(f"{name}: {render_manifest(manifest, locate)}," for name, manifest in manifests.items()),
        "};",
        "",
        f"export const {{ load, cache, {', '.join(manifests)} }} = $functionsOf($load, $cacheOf, $manifests{package});",
    ]
    return "\n".join(lines) + "\n"


def render_load(declaration: str, start: str, packages: str | None) -> str:
    """The public `load`; `packages` is the function that gives what they export, in a promise or not."""
    more = "" if packages is None else f", {packages}"
    return f"{declaration} load = (options) => {start}(manifest, options{more});"


def at_base(base: str) -> Locate:
    """Files below an address."""
    return lambda file: js_literal(f"{base}{file}")


def _beside_module(file: str) -> str:
    """Bundlers follow `new URL(literal, import.meta.url)`."""
    return f"new URL('./{file}', import.meta.url).href"


def render_manifest(manifest: Manifest, locate: Locate) -> str:
    """The manifest as an expression, its files at URLs by `locate`."""
    fields = "".join(f"\n  {key}: {_lines(value, locate)}," for key, value in manifest.fields.items())
    return f"{{{fields}\n}}"


def _lines(value: Any, locate: Locate) -> str:
    """A list of objects with each on a line of its own."""
    if isinstance(value, list):
        return "[" + "".join(f"\n    {_literal(e, locate)}," for e in value) + ("\n  ]" if value else "]")
    return _literal(value, locate)


def _literal(value: Any, locate: Locate) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(_field(k, e, locate) for k, e in value.items()) + " }" if value else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(_literal(e, locate) for e in value) + "]"
    return js_literal(value)


def _field(key: str, value: Any, locate: Locate) -> str:
    if key == "file":
        return f"url: {locate(value)}"
    return f"{key if key.isidentifier() else js_literal(key)}: {_literal(value, locate)}"
