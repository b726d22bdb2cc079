"""Text of tokens that come one at a time: pieces of whole characters, until one of the strings that end it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy

CONTEXT = 6
"""Tokens before, which tell a decoder whether a word begins."""

LONGEST = 24
"""Tokens that are decoded again with each one."""

MALFORMED = 8
"""So many tokens make no character of bytes that are none."""

_UNFINISHED = "\ufffd"
"""Decoders give it for bytes of a character that lacks some."""


class Pieces:
    """Pieces of a text, behind tokens that came `before`; `decode` makes text of ids."""

    def __init__(self, decode: Callable[[list[int]], str], before: Sequence[int]) -> None:
        self._decode = decode
        self._ids = list(before[-CONTEXT:])
        self._shown = len(decode(self._ids).rstrip(_UNFINISHED))
        self._waiting, self._unfinished = "", 0

    def copy(self) -> Pieces:
        return copy(self)

    def push(self, token: int) -> None:
        """Takes the next token."""
        self._ids = [*self._ids, token]
        text = self._decode(self._ids)
        if text.endswith(_UNFINISHED) and self._unfinished < MALFORMED:
            self._unfinished += 1
            return
        self._waiting += text[self._shown :]
        self._shown, self._unfinished = len(text), 0
        # Decoders take the space away that a text begins with; a character is not parted.
        context = self._decode(self._ids[-CONTEXT:]) if len(self._ids) >= LONGEST else ""
        if context.strip() and _UNFINISHED not in context:
            self._ids, self._shown = self._ids[-CONTEXT:], len(context)

    def take(self, stops: Sequence[str] = ()) -> tuple[str, bool]:
        """The text so far, up to the first of `stops`, and whether there is one; what may be the beginning of one
        waits."""
        waiting = self._waiting
        found = [(at, -len(stop)) for stop in stops if (at := waiting.find(stop)) >= 0]
        if found:
            at, length = min(found)
            self._waiting = waiting[at - length :]
            return waiting[:at], True
        end = max(0, len(waiting) - max((len(stop) - 1 for stop in stops), default=0))
        while end < len(waiting) and not any(stop.startswith(waiting[end:]) for stop in stops):
            end += 1
        self._waiting = waiting[end:]
        return waiting[:end], False
