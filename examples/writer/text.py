"""The text that the example's decoder is trained on: the topics of Python's language reference, which ship with Python.

Its licence is that of Python (PSF-2.0). `pydoc_data.topics` differs between versions of Python: `digest` says which it
was.
"""

import hashlib
from pydoc_data.topics import topics

CHARACTERS = "\n" + "".join(map(chr, range(32, 127)))
"""The vocabulary: a character's place is its token."""

PLAIN = {**str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014", "''\"\"--"), ord("\u2026"): "..."}
"""Quotes, dashes and dots that are not in the vocabulary; whatever else is not is left out."""

HELD_OUT = 16
"""One topic of so many is not trained on."""


def load_text() -> tuple[str, str]:
    """The text to train on, and the text held out. Paragraphs that several topics share stand in the first alone, so
    that none is in both."""
    kept: set[str] = set()
    parts: tuple[list[str], list[str]] = ([], [])
    for i, name in enumerate(sorted(topics)):
        paragraphs = [p for p in topics[name].translate(PLAIN).split("\n\n") if p not in kept]
        kept.update(p for p in paragraphs if len(p) > 20)
        parts[i % HELD_OUT == HELD_OUT - 1].append("\n\n".join(paragraphs))
    train, held_out = ("".join(c for c in "\n\n".join(part) if c in CHARACTERS) for part in parts)
    return train, held_out


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def encode(text: str) -> list[int]:
    """The tokens of a text, of which all characters are in the vocabulary."""
    return [CHARACTERS.index(c) for c in text]
