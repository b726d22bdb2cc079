"""LLVM IR as text: functions known by their content, intrinsics declared as they are used."""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from .whole_loop import WholeLoop

_DIGITS = 16
"""Hexadecimal digits in a function's name: 64 bits distinguish functions."""


class LlvmModule:
    """Collects function texts. A function is written with `@@` for its own name.

    An internal function's name is made of its text, so that equal functions are one, whichever kernel they are of and
    whichever build wrote them. `loops` are, by name, the kernels' functions that are one loop for several threads.
    """

    def __init__(self) -> None:
        self._functions: dict[str, str] = {}
        self._declarations: dict[str, None] = {}
        self.loops: dict[str, WholeLoop] = {}

    def add(self, name: str, text: str, *, internal: bool = True) -> str:
        """The name of the function with this text; where it is internal, `name` says what kind of function it is."""
        unique = f"{name}_{sha256(text.encode()).hexdigest()[:_DIGITS]}" if internal else name
        self._functions.setdefault(unique, text.replace("@@", f"@{unique}"))
        return unique

    def declare(self, signature: str) -> None:
        """An external function or intrinsic, `declare` line without the word."""
        self._declarations[f"declare {signature}"] = None

    def calls(self, name: str) -> bool:
        """Whether the external function `name` was declared."""
        return any(f"@{name}(" in d for d in self._declarations)

    def merge(self, other: LlvmModule) -> None:
        """Adds what `other` has collected."""
        self._declarations.update(other._declarations)
        self.loops.update(other.loops)
        for name, text in other._functions.items():
            self._functions.setdefault(name, text)

    @property
    def last(self) -> str:
        """The name of the function added last: of a kernel's functions the one that its launches call."""
        return next(reversed(self._functions))

    def text(self, header: str) -> str:
        """The whole module, after `header` (target triple and data layout)."""
        outside = [d for d in sorted(self._declarations) if not any(f"@{name}(" in d for name in self._functions)]
        return "\n".join([header, *outside, *self._functions.values(), "attributes #0 = { nounwind }", ""])

    def to_json(self) -> str:
        loops = {name: asdict(loop) for name, loop in self.loops.items()}
        return json.dumps({"declarations": list(self._declarations), "functions": self._functions, "loops": loops})

    @staticmethod
    def from_json(text: str) -> LlvmModule:
        """The inverse of `to_json`; KeyError, TypeError or ValueError where `text` is not what that wrote."""
        data: Any = json.loads(text)
        module = LlvmModule()
        module._declarations = dict.fromkeys(data["declarations"])
        module._functions = dict(data["functions"])
        module.loops = {name: WholeLoop(**loop) for name, loop in data["loops"].items()}
        return module
