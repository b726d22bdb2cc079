"""JavaScript without its types, which comments hold: model.d.ts has those that others see."""

from __future__ import annotations

import re

_COMMENT = r"/\*\*(?:(?!\*/).)*\*/"
_NAME = r"[\w$.]+(?:\[[^\[\]()]*\])*"
_CALL = rf"{_NAME}(?:\([^()]*\)|\.{_NAME}|\[[^\[\]()]*\])*"
_CAST = re.compile(rf"(?:(?<!new ){_COMMENT} ?\((?P<call>{_CALL})\)|{_COMMENT} ?\((?P<name>{_NAME})\))", re.DOTALL)
"""A name, or the value of its properties, elements and calls, cast to another type: without the comment it needs no
parentheses, but calls behind `new`."""
_TYPES = re.compile(rf"^[ \t]*{_COMMENT}[ \t]*\n|{_COMMENT} ?", re.MULTILINE | re.DOTALL)


def strip_types(source: str) -> str:
    """Without comments of types."""
    return re.sub(r"\n{3,}", "\n\n", _TYPES.sub("", _CAST.sub(lambda cast: cast["call"] or cast["name"], source)))
