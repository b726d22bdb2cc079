"""Formats by name, and those of users: files and objects of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import Field, asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from ..errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    class Format(DataclassInstance, Protocol):
        """A dataclass of numbers, texts, and tuples of numbers."""

        def check(self, where: str) -> None:
            """Raises InputError, which names `where` the format is from."""


F = TypeVar("F", bound="Format")


@dataclass(frozen=True, slots=True)
class Formats(Generic[F]):
    """Formats of `what` there is, by name; `plain` is the one whose fields an object has where it says no other.
    `choices` are the values of fields that have a few."""

    what: str
    named: Mapping[str, F]
    plain: str
    choices: Mapping[str, Sequence[str | None]] = field(default_factory=dict)

    def data(self) -> dict[str, object]:
        """The table as objects of JSON, of which forms are made."""
        named = {name: asdict(form) for name, form in self.named.items()}
        return {"named": named, "choices": {name: list(values) for name, values in self.choices.items()}}

    def by_input(self, given: Mapping[str, str | Mapping[str, object] | F]) -> dict[str, F]:
        """Formats by input: of names, paths of files, objects of JSON or formats. Raises InputError."""

        def made(form: str | Mapping[str, object] | F, where: str) -> F:
            if isinstance(form, str):
                return self.parse(form)
            if isinstance(form, Mapping):
                return self.of(form, where)
            form.check(where)
            return form

        return {name: made(form, f"{self.what}[{name!r}]") for name, form in given.items()}

    def parse(self, text: str) -> F:
        """A name, or the JSON file of a format: an object of its fields, and `"like"`, the name of one that has the
        others. Raises InputError."""
        if text in self.named:
            return self.named[text]
        path = Path(text)
        if path.suffix != ".json":
            names = ", ".join(self.named)
            raise InputError(f"{text!r} is no format of {self.what}; choose one of {names}, or give a .json file")
        try:
            given = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: it cannot be read as JSON ({error}); give a format of {self.what}") from None
        return self.of(given, str(path))

    def of(self, given: object, where: str) -> F:
        """The format that an object of JSON describes, as `parse`. Raises InputError."""
        if not isinstance(given, Mapping):
            example = json.dumps({"like": next(iter(self.named))})
            raise InputError(f"{where}: it is no object; give one such as {example}")
        plain = self.named[self.plain]
        known = {f.name: f for f in fields(plain)}
        unknown = [k for k in given if k not in known and k != "like"]
        if unknown:
            raise InputError(f"{where}: {unknown[0]!r} is unknown; a format has like, {', '.join(known)}")
        like = given.get("like", self.plain)
        if like not in self.named:
            raise InputError(f"{where}: like is {json.dumps(like)}; give one of {', '.join(self.named)}")
        values: dict[str, Any] = {
            k: _value(known[k], v, getattr(plain, k), where) for k, v in given.items() if k in known
        }
        made = replace(self.named[like], **values)
        made.check(where)
        return made


def _value(field: Field[Any], given: object, default: object, where: str) -> object:
    """A field's value, of the type that the field has."""
    kind = str(field.type)  # the text of the annotation
    if given is None and kind.endswith("None"):
        return None
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if kind.startswith("tuple"):
        if number and "..." in kind:
            return (given,)
        valid = isinstance(given, Sequence) and all(isinstance(v, int | float) for v in given)
        given = tuple(given) if valid and isinstance(given, Sequence) else given
    elif kind.startswith(("bool", "str")):
        valid = isinstance(given, bool if kind.startswith("bool") else str)
    else:
        valid = number and ("float" in kind or isinstance(given, int))
    if not valid:
        raise InputError(
            f"{where}: {field.name} is {json.dumps(given)}; it is of another type than {json.dumps(default)}"
        )
    return given
