"""Frozen dataclasses that are quick to make: a model's nodes are, a million times."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypeVar, dataclass_transform

C = TypeVar("C")


@dataclass_transform(frozen_default=True)
def frozen(cls: type[C]) -> type[C]:
    """`dataclass(frozen=True, slots=True)`, whose instances take a third of the time to make: each field is set by its
    slot, not by a look-up of its name."""
    new: Any = dataclass(frozen=True, slots=True)(cls)
    names = [f.name for f in fields(new)]
    scope: dict[str, Any] = {f"set_{name}": getattr(new, name).__set__ for name in names}
    lines = [f"def __init__(self, {', '.join(names)}):", *(f"    set_{name}(self, {name})" for name in names)]
    exec("\n".join(lines), scope)
    init = scope["__init__"]
    init.__defaults__ = new.__init__.__defaults__
    init.__qualname__, init.__annotations__ = f"{new.__qualname__}.__init__", new.__init__.__annotations__
    new.__init__ = init
    return new  # type: ignore[no-any-return]
