"""Files that options name, written all or nothing."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError


@dataclass(frozen=True, slots=True)
class OutputFile:
    """`option` is the one that named it, for messages."""

    option: str
    path: Path
    data: bytes


def resolved(path: Path) -> Path:
    """The path free of links. OSError for a link to itself, of which Path.resolve raises a RuntimeError, or nothing, by
    Python's version."""
    place = Path(os.path.realpath(path))
    with suppress(FileNotFoundError, NotADirectoryError):
        place.stat()
    return place


def check_output(option: str, path: Path) -> None:
    """Raises InputError where a file cannot be written to `path`: before the work whose result it is to hold."""
    with _explained(option, path):
        folder = resolved(path).parent
        if not folder.is_dir():
            raise InputError(f"{option} {path}: there is no folder {folder}; make it first")
        if path.is_dir():
            raise InputError(f"{option} {path} is a folder; give the path of a file")
        if not os.access(path if path.exists() else folder, os.W_OK):
            raise InputError(f"{option} {path}: cannot be written: permission denied; give another file")


def check_distinct(outputs: Iterable[tuple[str, Path]], read: Iterable[Path]) -> None:
    """Raises InputError where one of the files that options name would replace another, one that is `read`, or a part
    of a folder that is."""
    sources = {Path(os.path.realpath(path)) for path in read}
    written: dict[Path, str] = {}
    for option, path in outputs:
        with _explained(option, path):
            place = resolved(path)
        if place in sources:
            raise InputError(f"{option} {path} is a file that is read, too; give another file")
        if folder := next((f for f in place.parents if f in sources), None):
            raise InputError(f"{option} {path} lies in {folder}, which is read, too; give a file in another folder")
        if place in written:
            raise InputError(f"{option} {path} is the file of {written[place]}, too; give each another one")
        written[place] = option


def put_files(files: Sequence[OutputFile]) -> None:
    """Writes them, all or nothing. Raises InputError."""
    with putting_files(files):
        pass


@contextmanager
def putting_files(files: Sequence[OutputFile]) -> Iterator[None]:
    """Writes each file beside its place, and puts all into their places as the block ends; where the block raises, none
    is left. A device, a pipe, and what is open by a descriptor of this process, such as /dev/stdout, are written to as
    the block ends. Raises InputError."""
    with ExitStack() as stack:
        written = [(file, stack.enter_context(_beside(file))) for file in files]
        yield
        for file, fresh in sorted(written, key=lambda each: each[1] is not None):  # what may fail before the others
            with _explained(file.option, file.path):
                if fresh is None:
                    _write_in_place(file)
                else:
                    fresh.replace(resolved(file.path))


@contextmanager
def _beside(file: OutputFile) -> Iterator[Path | None]:
    """The file, written beside its place; None where it cannot be renamed to that."""
    with _explained(file.option, file.path):  # of a pipe, such as /dev/stdout, the place has no name
        place = resolved(file.path)
        exists = file.path.exists()
        regular = file.path.is_file() and _descriptor(file.path) is None
    if exists and not (regular and os.access(place.parent, os.W_OK)):
        yield None
        return
    fresh = place.with_name(f".{secrets.token_hex(8)}.new")  # short: the file's own name may be as long as names can be
    try:
        with _explained(file.option, file.path), fresh.open("xb") as opened:
            if exists:
                shutil.copymode(place, fresh)
            opened.write(file.data)
        yield fresh
    finally:
        with _explained(file.option, file.path):
            fresh.unlink(missing_ok=True)


def _write_in_place(file: OutputFile) -> None:
    """A descriptor is written to itself: by its path the file would be opened anew, at an offset of its own, and what
    the process prints afterwards would overwrite what is written."""
    number = _descriptor(file.path)
    if number is None:
        file.path.write_bytes(file.data)
        return
    with os.fdopen(os.dup(number), "wb") as opened:
        opened.write(file.data)


def _descriptor(path: Path) -> int | None:
    """The descriptor of this process of which `path`, which is no link to itself, is a name or a link to one."""
    folder = Path(os.path.realpath(path.parent))
    if folder in (Path("/dev/fd"), Path(f"/proc/{os.getpid()}/fd")) and path.name.isdecimal():
        return int(path.name)
    return _descriptor(folder / path.readlink()) if path.is_symlink() else None


@contextmanager
def _explained(option: str, path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{option} {path}: cannot be written: {error.strerror or error}; give another file") from error
