"""An LLVM module as text: functions shared by content, intrinsics declared as they are used."""

from __future__ import annotations


class LlvmModule:
    """Collects function texts. A function is written with `@@` for its own name."""

    def __init__(self) -> None:
        self._functions: dict[str, str] = {}
        self._texts: list[str] = []
        self._declarations: dict[str, None] = {}

    def add(self, name: str, text: str, *, internal: bool = True) -> str:
        """The name of the function with this text: an earlier one if it was added before."""
        if internal and text in self._functions:
            return self._functions[text]
        unique = f"{name}" if not internal else f"{name}_{len(self._texts)}"
        self._functions[text] = unique
        self._texts.append(text.replace("@@", f"@{unique}"))
        return unique

    def declare(self, signature: str) -> None:
        """An external function or intrinsic, `declare` line without the word."""
        self._declarations[f"declare {signature}"] = None

    def text(self, header: str) -> str:
        """The whole module behind `header` (target triple and data layout)."""
        return "\n".join([header, *sorted(self._declarations), *self._texts, "attributes #0 = { nounwind }", ""])
