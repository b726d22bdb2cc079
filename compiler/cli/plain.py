"""Names of users' tensors, models and devices in tables."""

from __future__ import annotations

from rich.text import Text


def plain(name: object) -> Text:
    """The name as it is: Rich would take [...] and :...: in a string for markup. What is no printable character would
    end the line, or be a command for the terminal."""
    return Text("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(name)))
