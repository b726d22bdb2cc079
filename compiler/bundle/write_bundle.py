"""A compiled model as a folder of static files."""

from __future__ import annotations

import html
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from .artifact import Artifact
from .files import BundleFile, Kind, foreign_files, is_bundle
from .isolation import isolate_page, isolation_files
from .link_runtime import keep_backends, link_runtime, read_runtime, relink
from .manifest import SHARD_BYTES, make_manifest
from .merge_modules import exported_names, merge_modules
from .render_entry import render_entry
from .render_types import render_types


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """`bytes` is the size."""

    name: str
    bytes: int
    kind: Kind


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
    check_free(out, force=force)
    with _explained(out):
        out = out.resolve()
        out.parent.mkdir(parents=True, exist_ok=True)
        _replace_folder(out, files)
    return [WrittenFile(file.name, len(file.data), file.kind) for file in files]


def render_bundle(artifact: Artifact, *, isolation: bool = False, shard_bytes: int = SHARD_BYTES) -> list[BundleFile]:
    """The files of the bundle, model.js first; no two have one name. `isolation` adds the files for threads."""
    modules = keep_backends(read_runtime(), [part.backend for part in artifact.backends])
    sources = merge_modules(modules)
    runtime = link_runtime(sources, ("load.js", "page.js", "page.css", "page.svg"))
    manifest = make_manifest(artifact, shard_bytes)
    classes = [name for name in exported_names(modules["errors.js"]) if name.endswith("Error")]
    entry = render_entry(manifest, runtime, classes)
    page = relink(sources["index.html"], runtime.__getitem__).replace("{{name}}", html.escape(artifact.name))
    files = [
        BundleFile("model.js", entry.encode(), "entry"),
        BundleFile("model.d.ts", render_types(artifact, sources["model.d.ts"]).encode(), "types"),
        BundleFile("index.html", (isolate_page(page) if isolation else page).encode(), "page"),
        *(isolation_files(sources) if isolation else ()),
        *runtime.values(),
        *manifest.files,
    ]
    return list({file.name: file for file in files}.values())


def check_free(out: Path, *, force: bool) -> None:
    """InputError where a bundle cannot be written to `out`."""
    with _explained(out):
        _check_free(out.resolve(), force)


def _check_free(out: Path, force: bool) -> None:
    parent = next(path for path in out.parents if path.exists())
    if not parent.is_dir():
        raise InputError(f"--out {out} lies below {parent}, which is a file; choose another folder")
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out} is a file; give a folder that does not exist yet")
    # The bundle is made beside `out`.
    for folder in (out, parent):
        if folder.exists() and not os.access(folder, os.W_OK):
            raise InputError(f"cannot write to --out {out}: permission denied in {folder}; choose another folder")
    if not out.exists() or not any(out.iterdir()):
        return
    if not is_bundle(out):
        raise InputError(
            f"--out {out} is not empty and holds no bundle; choose another folder (--force would not replace it)"
        )
    if not force:
        raise InputError(f"--out {out} already holds a bundle; give --force to replace it")
    if others := foreign_files(out):
        names = ", ".join(others[:5]) + (", ..." if len(others) > 5 else "")
        raise InputError(f"--out {out} holds files that are no part of its bundle ({names}); move them away first")


@contextmanager
def _explained(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot write the bundle to {out}: {error.strerror or error}; choose another --out"
        ) from error


def _replace_folder(out: Path, files: Sequence[BundleFile]) -> None:
    """Make the new folder beside `out`, then swap; on any failure, `out` is unchanged."""
    token = secrets.token_hex(4)
    fresh = out.with_name(f".{out.name}.{token}.new")
    old = out.with_name(f".{out.name}.{token}.old")
    fresh.mkdir()
    try:
        for file in files:
            (fresh / file.name).write_bytes(file.data)
        if out.exists():
            out.rename(old)
        try:
            fresh.rename(out)
        except BaseException:
            if old.exists():
                old.rename(out)
            raise
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)
