"""Docstrings and JSDoc comments begin with a noun or a verb that names the thing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("benchmarks", "compiler", "demo-site", "e2e", "examples", "rpc", "release", "runtime-js", "tests")

NAMELESS = re.compile(r"\s*(?:Of|That|Those|What|The\s+same)\b")
"""Words that refer to a noun which is elsewhere, or nowhere."""

STRING = re.compile(rf"[\"']{NAMELESS.pattern}")
"""Files without one, which are most, need no parser."""

JSDOC = re.compile(r"/\*\*[\s*]*(.*?)\*/", re.DOTALL)


def nameless(path: Path) -> Iterator[int]:
    """The lines of a file where a docstring, a literal that documents an assignment, or a JSDoc comment begins so."""
    text = path.read_text()
    if path.suffix != ".py":
        yield from (text.count("\n", 0, m.start()) + 1 for m in JSDOC.finditer(text) if NAMELESS.match(m[1]))
        return
    for node in ast.walk(ast.parse(text)) if STRING.search(text) else ():
        match node:
            case ast.Expr(value=ast.Constant(value=str(words))) if NAMELESS.match(words):
                yield node.lineno


@pytest.mark.parametrize("suffix", [".py", ".js", ".mjs", ".ts"])
def test_first_words_name_the_thing(suffix: str) -> None:
    files = [p for f in FOLDERS for p in sorted((ROOT / f).rglob(f"*{suffix}")) if "node_modules" not in p.parts]
    assert files
    found = [f"{p.relative_to(ROOT)}:{line}" for p in files for line in nameless(p)]
    assert not found, f"begin with a noun or a verb that names the thing: {', '.join(found)}"


PYTHON = '''"""What is here."""

LIMIT = 8
"""Of a file."""
OTHER = """Of no docstring."""


class Thing:
    """Thoseness."""

    size: int
    """Those of
    a thing."""

    def name(self) -> str:
        """
        The
        same.
        """
        if self.size:
            "That of a branch."
        return "What is no docstring"
'''

JAVASCRIPT = """/** Of a file. */
const LIMIT = 8; /* Of no comment for tools. */
/**
 * The same.
 * @param {number} size
 */
/** The name. What follows is free. */
// What is a plain comment.
"""


@pytest.mark.parametrize(
    ("name", "text", "lines"), [("a.py", PYTHON, {1, 4, 12, 16, 21}), ("a.js", JAVASCRIPT, {1, 3}), ("a.py", "", set())]
)
def test_which_are_found(name: str, text: str, lines: set[int], tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert set(nameless(tmp_path / name)) == lines
