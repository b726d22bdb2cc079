"""Text from elsewhere - names of models, tensors, dimensions, nodes and devices, messages - inside other languages.

Each language has one function, whose result has a type of its own: what writes files or to a terminal takes that type,
so that mypy refuses a text as it came. `tests/test_escape.py` looks for comments that are written past these functions.
"""

from __future__ import annotations

import html
import json
import os
import re
import shlex
from typing import Any, NewType

Comment = NewType("Comment", str)
"""A comment of C, C++, JavaScript, TypeScript, WGSL, GLSL, OpenCL C or CUDA C++, with what begins and ends it."""

LineComment = NewType("LineComment", str)
"""Text of a comment behind `//` in these languages, `;` in LLVM's IR or `#` in a shell script, up to the end of the
line."""

CString = NewType("CString", str)
"""A literal of C or C++, quotes included."""

JsLiteral = NewType("JsLiteral", str)
"""A value in JavaScript, TypeScript or JSON, in a file or inside a <script>."""

Html = NewType("Html", str)
"""Text of a page, or the value of an attribute in quotes."""

ShellWord = NewType("ShellWord", str)
"""One word of a command that is shown to be copied."""

TerminalText = NewType("TerminalText", str)
"""Text that changes only the cells of a terminal in which it stands."""

_APART = re.compile(r"(?<=\*)(?=/)|(?<=/)(?=\*)|(?<=\?)(?=\?)|(?<=-)(?=-)|(?<=<)(?=[/!])")
"""Between characters that mean something as a pair: the ends of comments, trigraphs, the marks of HTML."""

_PLAIN = frozenset(b" !#$%&'()*+,-./:;<=>@[]^_`{|}~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
"""Bytes that a string of C contains unescaped: no quotes, no backslash, and no question mark, of which trigraphs are
made."""


def comment(*lines: str) -> Comment:
    """`/* first line`, the others below it, ` */`: no text in it ends the comment or the line."""
    return Comment("/* " + "\n   ".join(map(_in_comment, lines)) + " */")


def documentation(text: str) -> Comment:
    """A comment of one line that editors show with what follows it."""
    return Comment(f"/** {_in_comment(text)} */")


def line_comment(text: str) -> LineComment:
    """The rest of a line behind `//`, `;` or `#`."""
    return LineComment(_in_comment(text))


def _in_comment(text: str) -> str:
    """Printable ASCII without backslashes, which would join lines; pairs such as `*/` and `??` are drawn apart."""
    return _APART.sub(" ", "".join(c if c.isascii() and c.isprintable() and c != "\\" else "_" for c in text))


_LONGEST_STRING = 4095
"""Characters of a string literal, its end included (C99, 5.2.4.1)."""


def c_string(text: str) -> CString:
    """A string of C; bytes of UTF-8 that are not plain ASCII are octal digits. A longer one than C99 requires of
    compilers is marked as the extension that it is, which -pedantic would report."""
    data = text.encode(errors="replace")
    literal = '"' + "".join(chr(b) if b in _PLAIN else f"\\{b:03o}" for b in data) + '"'
    return CString(literal if len(data) < _LONGEST_STRING else f"__extension__ {literal}")


def js_literal(value: Any) -> JsLiteral:
    """A value of JSON in ASCII, in which nothing ends a <script>."""
    return JsLiteral(json.dumps(value).replace("<", "\\u003c"))


def html_text(text: str) -> Html:
    """With entities for `& < > " '`; what HTML does not allow is replaced."""
    return Html(html.escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)))


def shell_word(text: str) -> ShellWord:
    """As a POSIX shell reads it; with what has no shape as bash, ksh and zsh write it."""
    if text.isprintable():
        return ShellWord(shlex.quote(text))
    data = text.replace("\\", "\\\\").replace("'", "\\'")
    octal = "".join(c if c.isprintable() else "".join(f"\\{b:03o}" for b in os.fsencode(c)) for c in data)
    return ShellWord(f"$'{octal}'")


def terminal_text(text: object) -> TerminalText:
    """In one line: control characters, marks of direction and others that have no shape as `\\x1b` or `\\u202e`."""
    text = str(text)
    return TerminalText(text if text.isprintable() else "".join(c if c.isprintable() else _code_of(c) for c in text))


def terminal_lines(text: object) -> TerminalText:
    """`terminal_text` of each line of a text whose line ends are ours."""
    return TerminalText("\n".join(map(terminal_text, str(text).split("\n"))))


def _code_of(c: str) -> str:
    n = ord(c)
    return f"\\x{n:02x}" if n < 0x100 else f"\\u{n:04x}" if n < 0x10000 else f"\\U{n:08x}"
