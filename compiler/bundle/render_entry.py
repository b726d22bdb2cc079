"""model.js: the manifest as a literal, bound to the runtime's `load`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..text.escape import js_literal
from .files import MARKER, BundleFile
from .manifest import Manifest
from .merge_modules import COMMON


def render_entry(manifest: Manifest, runtime: Mapping[str, BundleFile], errors: Sequence[str]) -> str:
    """The source of model.js; `errors` are the names of the classes of errors."""
    fields = "".join(f"\n  {key}: {_lines(value)}," for key, value in manifest.fields.items())
    lines = [
        MARKER,
        f"import {{ cacheOf, load as start }} from './{runtime['load.js'].name}';",
        # Both files at once, instead of the second when the first is there.
        f"import {{ $errors }} from './{runtime[COMMON].name}';",
        "",
        f"export const {{ {', '.join(errors)} }} = $errors;",
        "",
        f"const manifest = {{{fields}\n}};",
        "",
        "export const load = (options) => start(manifest, options);",
        "export const cache = cacheOf(manifest);",
    ]
    return "\n".join(lines) + "\n"


def _lines(value: Any) -> str:
    """A list of objects with each on a line of its own."""
    if isinstance(value, list):
        return "[" + "".join(f"\n    {_literal(element)}," for element in value) + ("\n  ]" if value else "]")
    return _literal(value)


def _literal(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(_field(key, element) for key, element in value.items()) + " }" if value else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return js_literal(value)


def _field(key: str, value: Any) -> str:
    """Files are named by `new URL(literal, import.meta.url)`, which bundlers follow."""
    if key == "file":
        return f"url: new URL('./{value}', import.meta.url).href"
    return f"{key if key.isidentifier() else js_literal(key)}: {_literal(value)}"
