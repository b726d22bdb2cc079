"""A compiled model as a folder of static files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..program.device_program import HostCall, Launch
from ..text.escape import html_text
from .artifact import Artifact, DeviceArtifact
from .files import BundleFile, foreign_files, is_bundle
from .folder import FolderKind, WrittenFile, write_folder
from .isolation import isolate_page, isolation_files
from .link_runtime import keep_parts, link_runtime, read_runtime, relink
from .manifest import SHARD_BYTES, Manifest, make_manifest
from .merge_modules import exported_names, merge_modules
from .render_entry import render_entry
from .render_types import render_types

PACKAGE = b'{ "type": "module" }\n'
"""In Node.js scripts are modules where the nearest package.json says so, which may be that of a CommonJS project."""

BUNDLE = FolderKind("bundle", is_bundle, foreign_files)


def write_bundle(
    artifact: Artifact,
    out: Path,
    *,
    force: bool = False,
    isolation: bool = False,
    shard_bytes: int = SHARD_BYTES,
) -> list[WrittenFile]:
    """Write the bundle into the folder `out` atomically: it is written beside `out` and renamed.

    Same artifact, same bytes. `force` replaces a folder that holds a bundle and nothing else.
    InputError when `out` is taken or cannot be written, or the model exceeds wasm32's 4 GiB.
    """
    files = render_bundle(artifact, isolation=isolation, shard_bytes=shard_bytes)
    return write_folder(files, out, BUNDLE, force=force)


def render_bundle(artifact: Artifact, *, isolation: bool = False, shard_bytes: int = SHARD_BYTES) -> list[BundleFile]:
    """The files of the bundle, model.js first; no two have one name. `isolation` adds the files for threads."""
    return render_files(artifact, make_manifest(artifact, shard_bytes), isolation=isolation)


def _optional_parts(artifact: Artifact) -> Iterator[str]:
    """The parts of optional.js that the runtime needs for this model."""
    if artifact.dimensions:
        yield "sizes"
    if artifact.pictures:
        yield "pictures"
    devices = [part for part in artifact.backends if isinstance(part, DeviceArtifact)]
    if any(part.host is not None for part in devices):
        yield "host"
    if not all(isinstance(step, Launch | HostCall) for part in devices for step in part.program.steps):
        yield "playStructure"
    # Compute kernels take scalars from a buffer; fragment shaders have them among their declarations.
    if any(k.scalars and k.declarations is None for part in devices for k in part.program.kernels):
        yield "createUniforms"


def render_files(artifact: Artifact, manifest: Manifest, *, isolation: bool = False) -> list[BundleFile]:
    """The files of a bundle, from an artifact whose manifest is known."""
    modules = keep_parts(read_runtime(), [part.backend for part in artifact.backends], list(_optional_parts(artifact)))
    sources = merge_modules(modules)
    runtime = link_runtime(sources, ("load.js", "page.js", "page.css", "page.svg"))
    classes = [name for name in exported_names(modules["errors.js"]) if name.endswith("Error")]
    entry = render_entry(manifest, runtime, classes)
    page = relink(sources["index.html"], runtime.__getitem__).replace("{{name}}", html_text(artifact.name))
    files = [
        BundleFile("model.js", entry.encode(), "entry"),
        BundleFile("model.d.ts", render_types(artifact, sources["model.d.ts"]).encode(), "types"),
        BundleFile("package.json", PACKAGE, "entry"),
        BundleFile("index.html", (isolate_page(page) if isolation else page).encode(), "page"),
        *(isolation_files(sources) if isolation else ()),
        *runtime.values(),
        *manifest.files,
    ]
    return list({file.name: file for file in files}.values())
