"""Opens files that a model consists of: regular ones, never what blocks or has no end."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from ..errors import InputError
from ..text.nearest import did_you_mean
from .other_formats import GIT_LFS

_FLAGS = ("O_BINARY", "O_CLOEXEC", "O_NOCTTY", "O_NOINHERIT", "O_NONBLOCK")
"""The flags that the system has: without O_NONBLOCK, opening a pipe waits for a writer."""


class NotRegular(OSError):
    """The path is that of a pipe, a device or a folder."""


def open_file(path: Path) -> tuple[BinaryIO, int]:
    """The file at `path`, opened for reading, and its size in bytes.

    Links are followed. The opened file is checked, not the path, which may change. Raises OSError, which
    is NotRegular for what is no regular file, and ValueError for what can be no path.
    """
    handle = os.open(path, os.O_RDONLY | sum(getattr(os, name, 0) for name in _FLAGS))
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise NotRegular(f"{path} is not a regular file")
        return os.fdopen(handle, "rb"), status.st_size
    except BaseException:
        os.close(handle)
        raise


def read_model_file(model: str | Path | bytes, what: str, again: str) -> tuple[bytes, str]:
    """The bytes of a model, which is to be `what`, such as "a TFLite file", and its name for messages. Raises
    InputError where there is none, or an empty one, which is to be made `again`."""
    if isinstance(model, bytes):
        data, name = model, "the model"
    else:
        data, name = read_file(Path(model), what), Path(model).name
    if not data:
        raise InputError(f"{name} is empty; {again} the model again")
    return data, name


def read_file(path: Path, what: str, limit: float = float("inf")) -> bytes:
    """The bytes of the file at `path`, which is to be `what`, such as "an ONNX file". Raises InputError where there is
    none, or one of `limit` bytes or more."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the path of {what}")
    try:
        file, size = open_file(path)
        with file:
            if size >= limit:
                raise InputError(
                    f"{path} has {size} bytes, and {what} has fewer than {limit}; save the model with "
                    "its weights as external data"
                )
            return _itself(file.read(), path)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; check the path{_nearest(path)}") from None
    except NotRegular:
        raise InputError(f"{path} is a pipe or a device; give the path of {what}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; check its permissions") from None
    except ValueError as error:
        raise InputError(f"{str(path)!r} can be no path ({error}); give the path of {what}") from None


def _nearest(path: Path) -> str:
    """The file of the same folder that may be meant."""
    try:
        return did_you_mean(path.name, sorted(p.name for p in path.parent.iterdir() if p.is_file()))
    except OSError:
        return ""


def _itself(data: bytes, path: Path) -> bytes:
    """The bytes of a file, which a clone without Git LFS lacks."""
    if data.startswith(GIT_LFS.first_bytes):
        raise InputError(f"{path} is {GIT_LFS.what}; {GIT_LFS.advice}")
    return data
