"""A folder of files that a build writes, all or nothing."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from ..system.put_files import OutputFile, putting_files, resolved
from .files import BundleFile, Kind

_FRESH = ".new"
"""End of the name of a folder that is being written."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """`bytes` is the size."""

    name: str
    bytes: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class FolderKind:
    """`what` names it in messages. `is_one` says whether a folder holds one, `foreign` lists files that are no part of
    it."""

    what: str
    is_one: Callable[[Path], bool]
    foreign: Callable[[Path], list[str]]


Others = Callable[[list[WrittenFile]], Sequence[OutputFile]]
"""Makes the files that are written with a folder, outside of it; it receives those of the folder."""


def write_folder(
    files: Sequence[BundleFile], out: Path, kind: FolderKind, *, force: bool = False, others: Others = lambda _: ()
) -> list[WrittenFile]:
    """Writes the files into the folder `out` atomically: it is written beside `out` and renamed. `force` replaces a
    folder of this kind that holds nothing else. InputError when `out`, or one of the `others`, is taken or cannot be
    written: then none is."""
    check_free(out, kind, force=force)
    written = [WrittenFile(file.name, len(file.data), file.kind) for file in files]
    beside = others(written)
    with _explained(out, kind):
        out = resolved(out)
        out.parent.mkdir(parents=True, exist_ok=True)
        _replace_folder(out, files, beside)
    return written


def check_free(out: Path, kind: FolderKind, *, force: bool, others: Iterable[tuple[str, Path]] = ()) -> None:
    """InputError where a folder of this kind cannot be written to `out`, or one of the `others`, files by their
    options, would lie in it or have its name or that of a folder around it."""
    with _explained(out, kind):
        place = resolved(out)
        _check_free(place, kind, force)
        for option, path in others:
            file = resolved(path)
            if file == place or file in place.parents:
                raise InputError(f"{option} {path} would be a folder, by --out {out}; give another file")
            if place in file.parents:
                raise InputError(
                    f"{option} {path} lies in --out {out}, which holds the files of its {kind.what} alone; give a file "
                    "in another folder"
                )


def _check_free(out: Path, kind: FolderKind, force: bool) -> None:
    parent = next(path for path in out.parents if path.exists())
    if not parent.is_dir():
        raise InputError(f"--out {out} lies below {parent}, which is a file; choose another folder")
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out} is a file; give a folder that does not exist yet")
    # The new folder is made beside `out`.
    for folder in (out, parent):
        if folder.exists() and not os.access(folder, os.W_OK):
            raise InputError(f"cannot write to --out {out}: permission denied in {folder}; choose another folder")
    if not out.exists() or not any(out.iterdir()):
        return
    if not kind.is_one(out):
        raise InputError(
            f"--out {out} is not empty and holds no {kind.what}; choose another folder (--force would not replace it)"
        )
    if not force:
        raise InputError(f"--out {out} already holds a {kind.what}; give --force to replace it")
    if others := kind.foreign(out):
        names = ", ".join(others[:5]) + (", ..." if len(others) > 5 else "")
        raise InputError(f"--out {out} holds files that are no part of its {kind.what} ({names}); move them away first")


@contextmanager
def _explained(out: Path, kind: FolderKind) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot write the {kind.what} to {out}: {error.strerror or error}; choose another --out"
        ) from error


def remove_unfinished(out: Path) -> None:
    """Removes what this process has written beside `out` and not put in its place: for a process that ends at once."""
    out = out.resolve()
    with suppress(OSError):
        for path in list(out.parent.iterdir()):
            if path.name.startswith(f".{out.name}.{os.getpid():x}-") and path.name.endswith(_FRESH):
                shutil.rmtree(path, ignore_errors=True)


def _replace_folder(out: Path, files: Sequence[BundleFile], others: Sequence[OutputFile]) -> None:
    """Make the new folder beside `out`, then swap; on any failure, `out` and the `others` are unchanged."""
    token = f"{os.getpid():x}-{secrets.token_hex(4)}"
    fresh = out.with_name(f".{out.name}.{token}{_FRESH}")
    old = out.with_name(f".{out.name}.{token}.old")
    fresh.mkdir()
    try:
        for file in files:
            path = fresh / file.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.data)
        try:
            with putting_files(others):
                if out.exists():
                    out.rename(old)
                fresh.rename(out)
        except BaseException:
            if not fresh.exists():
                out.rename(fresh)
            if old.exists():
                old.rename(out)
            raise
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)
