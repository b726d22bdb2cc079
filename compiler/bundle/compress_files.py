"""Files of a bundle in the codings of HTTP, beside themselves: for hosts that serve what is compressed already."""

from __future__ import annotations

import gzip
import importlib
import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ..errors import InputError
from .files import BundleFile

_KINDS = ("entry", "page", "runtime", "program", "wasm", "weights", "labels", "tokenizer", "licence", "isolation")
_NOT_SERVED = ("package.json", "_headers", "nginx.conf")
_LEAST = 1024
"""Bytes of a file that is worth it."""

_SHRUNK = 0.9
"""The most that a compressed file may take of the original: floats hardly shrink, and browsers have to unpack them."""


def _gzip(data: bytes, *, quick: bool) -> bytes:
    return gzip.compress(data, 6 if quick else 9, mtime=0)


def _brotli(data: bytes, *, quick: bool) -> bytes:
    packed: bytes = importlib.import_module("brotli").compress(data, quality=5 if quick else 11)
    return packed


CODINGS: Mapping[str, Callable[..., bytes]] = {"br": _brotli, "gz": _gzip}
"""Functions that compress, by the suffix of the files that they make."""


def check_codings(codings: Iterable[str]) -> None:
    """Raises InputError where a package is missing."""
    if "br" in codings and importlib.util.find_spec("brotli") is None:
        raise InputError("--compress br needs the package Brotli: pip install 'webnn-compile[compress]'")


def compressed(files: Sequence[BundleFile], codings: Iterable[str]) -> Iterator[BundleFile]:
    """The files that get smaller, in each of the codings. Weights are packed in a tenth of the time, and less well."""
    for file in files:
        if file.kind not in _KINDS or file.name in _NOT_SERVED or len(file.data) < _LEAST:
            continue
        for suffix in codings:
            data = CODINGS[suffix](file.data, quick=file.kind == "weights")
            if len(data) <= _SHRUNK * len(file.data):
                yield BundleFile(f"{file.name}.{suffix}", data, file.kind)
