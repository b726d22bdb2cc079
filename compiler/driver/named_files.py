"""Files that a command's arguments name, to be read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

OUTPUTS = ("--out", "--report", "--save-quantized", "--chart")
"""Options whose values are files that are written."""


def named_files(arguments: Iterable[str], outputs: Collection[str] = OUTPUTS) -> list[Path]:
    """The files that arguments name, also behind an "=", but for the values of `outputs`."""
    found: dict[Path, None] = {}
    before = ""
    for argument in arguments:
        if before not in outputs and argument.partition("=")[0] not in outputs:
            found.update((path, None) for path in map(Path, filter(None, _texts(argument))) if _is_file(path))
        before = argument
    return list(found)


def texts_in(value: object) -> Iterator[str]:
    """The paths, and the texts that may have one, in an argument of the Python interface."""
    if isinstance(value, str | Path):
        yield str(value)
    elif isinstance(value, Mapping | list | tuple):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from texts_in(one)


def _texts(argument: str) -> set[str]:
    """It, and what may be a file in it: behind a name, and behind that of one of several models."""
    texts = {argument, argument.partition(":")[2]}
    return {part for text in texts for part in (text, text.partition("=")[2], text.rpartition("=")[2])}


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a text too long for a name
        return False
