"""The operators that one compilation takes besides those of the compiler."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ..errors import InputError, UnsupportedError
from .operator import CustomOperator

Key = tuple[str, str]
"""Domain and type of an operator."""


@dataclass(frozen=True, slots=True)
class CustomOperators:
    """By domain and type the definitions, by ascending versions. A value, which each import is given: compilations
    with different tables in one process do not affect each other. With `check_used` a file of which the model has no
    operator is a mistake."""

    versions: Mapping[Key, tuple[CustomOperator, ...]] = field(default_factory=dict)
    check_used: bool = True

    def __contains__(self, key: Key) -> bool:
        return key in self.versions

    def __bool__(self) -> bool:
        return bool(self.versions)

    def __iter__(self) -> Iterator[CustomOperator]:
        return (o for versions in self.versions.values() for o in versions)

    def find(self, domain: str, op_type: str, version: int, node: str) -> CustomOperator | None:
        """The definition for a model that imports this version of the domain; None where the table has no such
        operator. Raises UnsupportedError where it has later versions alone; `node` is the name of the model's node."""
        versions = self.versions.get((domain, op_type))
        if versions is None:
            return None
        fitting = [o for o in versions if o.since <= version]
        if not fitting:
            first = versions[0]
            raise UnsupportedError(
                f"{first.name} (node {node!r}): the model has version {version} of the domain {domain!r}, and "
                f"{first.place} defines it since version {first.since}; define it since {version}, by since={version}"
            )
        return fitting[-1]

    def check_use(self, used: Iterable[Key]) -> None:
        """Raises InputError where a model, which has the operators `used`, has none of those of a file."""
        if not self.check_used:
            return
        keys = set(used)
        files: dict[str, list[CustomOperator]] = {}
        for o in self:
            files.setdefault(o.file, []).append(o)
        for file, operators in files.items():
            if not any((o.domain, o.op_type) in keys for o in operators):
                listed = ", ".join(f"{o.name} (line {o.line})" for o in operators)
                raise InputError(
                    f"{file}: the model has none of its operators, {listed}; check domains and names, or leave the "
                    "file out"
                )

    def optional(self) -> CustomOperators:
        """The table for a model of which custom operators may be computed already."""
        return replace(self, check_used=False)


NO_OPERATORS = CustomOperators()


def table_of(operators: Iterable[CustomOperator]) -> CustomOperators:
    """The table of these operators. Raises InputError for two of one name and version."""
    versions: dict[Key, dict[int, CustomOperator]] = {}
    for o in dict.fromkeys(operators):
        first = versions.setdefault((o.domain, o.op_type), {}).setdefault(o.since, o)
        if first is not o:
            raise InputError(
                f"{o.file}:{o.line}: {o.name} since version {o.since} is defined at {first.place} already; leave one "
                "out, or give them different versions by since="
            )
    return CustomOperators({key: tuple(own[v] for v in sorted(own)) for key, own in versions.items()})
