"""Files that options name, written all or nothing."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError


@dataclass(frozen=True, slots=True)
class OutputFile:
    """`option` is the one that named it, for messages."""

    option: str
    path: Path
    data: bytes


def check_output(option: str, path: Path) -> None:
    """Raises InputError where a file cannot be written to `path`: before the work whose result it is to hold."""
    folder = path.resolve().parent
    with _explained(option, path):
        if not folder.is_dir():
            raise InputError(f"{option} {path}: there is no folder {folder}; make it first")
        if path.is_dir():
            raise InputError(f"{option} {path} is a folder; give the path of a file")
        if not os.access(path if path.exists() else folder, os.W_OK):
            raise InputError(f"{option} {path}: cannot be written: permission denied; give another file")


def put_files(files: Sequence[OutputFile]) -> None:
    """Writes them, all or nothing. Raises InputError."""
    with putting_files(files):
        pass


@contextmanager
def putting_files(files: Sequence[OutputFile]) -> Iterator[None]:
    """Writes each file beside its place, and puts all into their places as the block ends; where the block raises, none
    is left. What is no regular file, such as /dev/stdout, is written to as the block ends. Raises InputError."""
    with ExitStack() as stack:
        written = [(file, stack.enter_context(_beside(file))) for file in files]
        yield
        for file, fresh in sorted(written, key=lambda each: each[1] is not None):  # what may fail before the others
            with _explained(file.option, file.path):
                if fresh is None:
                    file.path.write_bytes(file.data)
                else:
                    fresh.replace(file.path.resolve())


@contextmanager
def _beside(file: OutputFile) -> Iterator[Path | None]:
    """The file, written beside its place; None where it cannot be renamed to that."""
    place = file.path.resolve()
    fresh = place.with_name(f".{place.name}.{os.getpid():x}-{secrets.token_hex(4)}.new")
    with _explained(file.option, file.path):  # of a pipe, such as /dev/stdout, the place has no name
        in_place = file.path.exists() and (not file.path.is_file() or not os.access(place.parent, os.W_OK))
    if in_place:
        yield None
        return
    try:
        with _explained(file.option, file.path):
            fresh.write_bytes(file.data)
        yield fresh
    finally:
        with _explained(file.option, file.path):
            fresh.unlink(missing_ok=True)


@contextmanager
def _explained(option: str, path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{option} {path}: cannot be written: {error.strerror or error}; give another file") from error
