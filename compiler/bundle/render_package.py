"""A bundle as a package for npm: its package.json, and a README for who installs it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from .artifact import Artifact
from .files import BROWSER_ENTRY, README_MARKER, BundleFile
from .render_snippets import EFFECT, render_run

_LONGEST = 214
"""Characters of a name, which npm limits."""

_README = """{marker}
# {name}

A model for web browsers: its code, its weights and all that runs them, without dependencies.

    npm install {name}

```js
import {{ load }} from '{name}';

const model = await load(); // downloads the weights, and takes the fastest backend that the browser has
{run}```

Backends: {backends}. `load` takes options such as `{{ backend: 'wasm' }}` and `{{ onProgress }}`; `model.d.ts`
describes them, and errors. `model.dispose()` frees the memory.

vite, webpack, Next and Astro take the package without configuration: its files are named by
`new URL('./file', import.meta.url)`. Where pages are rendered on a server, call `load` in the browser alone: in
React in an effect.

```js
{effect}```

A Content-Security-Policy needs `script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'`.
"""


def package_name(model: str) -> str:
    """A name that npm takes."""
    name = re.sub(r"[^a-z0-9._~-]+", "-", model.lower()).strip("-._~")[:_LONGEST]
    return name if name and name not in ("node_modules", "favicon.ico") else f"model-{name}".rstrip("-")


def package_files(
    artifact: Artifact, files: Sequence[BundleFile], licence: str = "", elsewhere: Sequence[BundleFile] = ()
) -> list[BundleFile]:
    """The files with those of a package. What only the bundle's own page needs is not published, nor what is
    `elsewhere`."""
    name = package_name(artifact.name)
    others = {"package.json", *(f.name for f in elsewhere)}
    published = [f.name for f in files if f.kind != "page" and f.name not in others]
    own = {"package.json": _package(name, licence, published)}
    readme = BundleFile("README.md", _readme(artifact, name).encode(), "types")
    entry = BundleFile(BROWSER_ENTRY, b"export * from './model.js';\n", "entry")
    return [*(BundleFile(f.name, own.get(f.name, f.data), f.kind) for f in files), entry, readme]


def _package(name: str, licence: str, published: Sequence[str]) -> bytes:
    # Scripts of workers do their work by being imported.
    workers = [f"./{file}" for file in published if file.startswith(("worker_", "thread-"))]
    fields: dict[str, Any] = {
        "name": name,
        "version": "1.0.0",
        "description": f"The model {name} for web browsers, compiled by webnn-compile.",
        **({"license": licence} if licence else {}),
        "type": "module",
        "main": "./model.js",
        "types": "./model.d.ts",
        "exports": {
            ".": {"types": "./model.d.ts", "browser": f"./{BROWSER_ENTRY}", "default": "./model.js"},
            "./package.json": "./package.json",
        },
        "files": [BROWSER_ENTRY, *published],
        "sideEffects": workers,
    }
    return f"{json.dumps(fields, indent=2)}\n".encode()


def _readme(artifact: Artifact, name: str) -> str:
    return _README.format(
        marker=README_MARKER,
        name=name,
        run=render_run(artifact),
        effect=EFFECT,
        backends=", ".join(part.backend for part in artifact.backends),
    )
