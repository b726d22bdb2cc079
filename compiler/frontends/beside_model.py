"""Files that a model's own file refers to: those in its folder, and nothing else of the machine that compiles it."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import BinaryIO

from ..errors import InputError


def model_folders(path: Path) -> tuple[Path, ...]:
    """The folders, free of links, that may hold what the model at `path` refers to: the folder of the file, and where
    that is a link the folder of its target. Locations are relative to the first."""
    return tuple(dict.fromkeys((path.parent.resolve(), path.resolve().parent)))


def resolve_beside(location: str, folders: tuple[Path, ...], model: str, what: str) -> Path:
    """The path, free of links, of the file at `location`, to which `what` ("tensor 'w'") of the model refers. There are
    no `folders` where the model is not a file. Raises InputError unless it lies within one of them: a model must not
    publish other files of the machine that compiles it."""
    posix, windows = PurePosixPath(location), PureWindowsPath(location)
    if not location or posix.is_absolute() or windows.anchor or ".." in (*posix.parts, *windows.parts):
        raise InputError(
            f"{model}: {what} refers to the file {location!r}, which is not within the model's folder; "
            "this is refused: save the model again with its data beside it"
        )
    if not folders:
        raise InputError(f"{model} keeps the data of {what} in the file {location!r}; give the path of the model")
    try:
        path = (folders[0] / location).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a link to itself, a name that is too long, a zero byte
        raise InputError(
            f"{model}: {what} refers to the file {location!r}, which can be no file ({error}); save the "
            "model again with its data beside it"
        ) from None
    if not any(path.is_relative_to(folder) for folder in folders):
        raise InputError(
            f"{model}: {what} refers to the file {location!r}, a link to {path}, which is not within "
            "the model's folder; this is refused: put the file itself there"
        )
    return path


def lies_within(file: BinaryIO, path: Path, folders: tuple[Path, ...]) -> bool:
    """Whether the open `file` is the one at `path`, and that in a folder of the model: a link may have come into the
    path since it was resolved."""
    now = path.resolve()
    within = any(now.is_relative_to(folder) for folder in folders)
    return within and os.path.samestat(os.fstat(file.fileno()), now.stat())
