"""Labels of classes, as they come with models: a label on each line, a list, or an object by number."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError

FORM = 'give a label on each line, a JSON list, or an object such as {"0": "cat", "1": "dog"}'


@dataclass(frozen=True, slots=True)
class Labels:
    """Names of classes in their order, from `source`."""

    names: tuple[str, ...]
    source: str

    def check(self, classes: int, output: str) -> None:
        """Raises InputError unless there are as many as an output has classes."""
        if len(self.names) != classes:
            raise InputError(
                f"{self.source}: it has {len(self.names)} labels, and output {output!r} has {classes} classes; give a "
                "file with a label for each class"
            )


def labels_of(given: str | Path | Sequence[str] | None) -> Labels | None:
    """The labels in a file, or those of a list. Raises InputError."""
    if given is None:
        return None
    if isinstance(given, str | Path):
        return read_labels(Path(given))
    return Labels(_named(list(given), "labels"), "labels")


def read_labels(file: Path) -> Labels:
    """Labels by line, in JSON, in Python's notation, or `id2label` of a model's config.json. Raises InputError."""
    where = f"--labels {file}"
    try:
        text = file.read_text(encoding="utf-8-sig").rstrip()
    except OSError as error:
        raise InputError(f"{where}: it cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{where}: it is no text in UTF-8; {FORM}") from None
    if not text:
        raise InputError(f"{where}: it is empty; {FORM}")
    given = _parsed(text, where, needed=file.suffix == ".json")
    return Labels(_named(_lines(text) if given is None else given, where), where)


def _lines(text: str) -> list[str]:
    """Lines, without the numbers of WordNet before the names of ImageNet's classes."""
    return [re.sub(r"^n\d{8}\s+", "", line).strip() for line in text.splitlines()]


def _parsed(text: str, where: str, *, needed: bool) -> object:
    """The list or the object of a text; None for one of plain lines."""
    if not needed and not text.startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            if needed:
                raise InputError(f"{where}: it is no JSON ({error}); {FORM}") from None
    return None  # a list of words may begin with [PAD]


def _named(given: object, where: str) -> tuple[str, ...]:
    if isinstance(given, Mapping) and "id2label" in given:
        given = given["id2label"]
    if isinstance(given, Mapping):
        given = _by_number(given, where)
    if not isinstance(given, list | tuple) or not given:
        raise InputError(f"{where}: {FORM}")
    # ["n01440764", "tench"], as Keras has it: the last part is the one to read.
    names = [v[-1] if isinstance(v, list | tuple) and v else v for v in given]
    wrong = next((v for v in names if not isinstance(v, str)), None)
    if wrong is not None:
        raise InputError(f"{where}: {wrong!r} is no text; {FORM}")
    return tuple(names)


def _by_number(given: Mapping[object, object], where: str) -> list[object]:
    numbers: dict[int, object] = {}
    for key, name in given.items():
        if not str(key).isdecimal():
            raise InputError(f"{where}: {key!r} is no number of a class; {FORM}")
        numbers[int(str(key))] = name
    missing = next((i for i in range(len(numbers)) if i not in numbers), None)
    if missing is not None:
        raise InputError(f"{where}: class {missing} has no label; number classes from 0")
    return [numbers[i] for i in range(len(numbers))]
