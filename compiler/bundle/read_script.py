"""JavaScript as tokens: enough of the grammar to tell the names of variables from those of properties.

An InternalError says where a source has a form that leaves this open. Semicolons are expected where statements end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

from ..errors import InternalError


class Role(Enum):
    """KEY is the name of a property or method, SHORTHAND that of a property and of a variable, NAME that of a variable
    or label."""

    KEYWORD = auto()
    KEY = auto()
    SHORTHAND = auto()
    NAME = auto()
    NUMBER = auto()
    TEXT = auto()
    PATTERN = auto()
    SIGN = auto()


class Brace(Enum):
    """OBJECT is a literal or a pattern."""

    BLOCK = auto()
    OBJECT = auto()
    CLASS = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """`newline`: the token begins a line; `note`: a comment before it that is for bundlers."""

    text: str
    role: Role
    newline: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Script:
    """`closing` has the ends of brackets, braces and substitutions by their starts, `opening` the starts by the ends,
    `within` the innermost start around each token, -1 where there is none, `braces` the kinds of braces by their
    starts."""

    tokens: tuple[Token, ...]
    closing: dict[int, int]
    opening: dict[int, int]
    within: tuple[int, ...]
    braces: dict[int, Brace]

    def text(self, i: int) -> str:
        """Empty outside the script."""
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def word(self, i: int) -> str:
        """As `text`, and empty for the name of a property, which may be any word."""
        return "" if self.role(i) is Role.KEY else self.text(i)

    def role(self, i: int) -> Role | None:
        """None outside the script."""
        return self.tokens[i].role if 0 <= i < len(self.tokens) else None

    def after(self, i: int) -> int:
        """The token behind the one at `i`, or behind the end of what begins there."""
        while i in self.closing:
            i = self.closing[i]
        return i + 1


_WORDS = """
break case catch class const continue debugger default delete do else export extends false finally for function if
import in instanceof new null return super switch this throw true try typeof var void while with
"""
KEYWORDS = frozenset(_WORDS.split())
_CONTEXTUAL = "arguments as async await eval from get let of set static undefined yield"
CONTEXTUAL = frozenset(_CONTEXTUAL.split())
"""Words that are keywords in some places."""
_VALUES = ("this", "super", "null", "true", "false")
_HEADS = ("if", "for", "while", "switch", "with", "catch")
_BLOCKS = ("else", "do", "try", "finally", "catch", "static")
"""Words before a block."""

_CHUNK = r"(?:[^`\\$]|\\.|\$(?!\{))*(?:`|\$\{)"
_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_TOKEN = re.compile(
    r"(?P<name>#?[A-Za-z_$][\w$]*)"
    r"|(?P<number>0[xXbBoO][\da-fA-F_]+n?|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?n?)"
    r"""|(?P<text>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")"""
    rf"|(?P<chunk>`{_CHUNK})"
    r"|(?P<sign>\.\.\.|=>|===|!==|==|!=|<<=|>>>=|>>=|<=|>=|\*\*=|\*\*|&&=|\|\|=|\?\?=|&&|\|\||\?\?|\?\.(?!\d)|\+\+|--"
    r"|<<|>>>|>>|[-+*/%&|^]=|[{}()\[\];,<>+\-*/%&|^!~?:=.])",
    re.DOTALL | re.ASCII,
)
_NOTE = re.compile(r"/\*(?!\*).*?\*/", re.DOTALL)
_REST = re.compile(rf"\}}{_CHUNK}", re.DOTALL)
_PATTERN = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")


def read_script(source: str) -> Script:
    """Raises InternalError for what is no token, brackets that do not match, and places where a slash or a brace may
    mean either of two things."""
    return _Reader(source).read()


@dataclass(slots=True)
class _Frame:
    """`asked` are question marks without their colon; `heading` is between `class` and its body; `at_key` where a name
    would be that of a property."""

    start: int
    text: str
    kind: Brace
    asked: int = 0
    heading: bool = False
    at_key: bool = False


class _Reader:
    def __init__(self, source: str) -> None:
        self._source = source
        self._tokens: list[Token] = []
        self._closing: dict[int, int] = {}
        self._within: list[int] = []
        self._braces: dict[int, Brace] = {}
        self._frames = [_Frame(-1, "", Brace.BLOCK)]
        self._opening: dict[int, int] = {}
        self._newline, self._note = False, ""
        """The next token's."""
        self._case = False
        """The last colon was that of a case, a label or a property."""

    def read(self) -> Script:
        at = 0
        while True:
            space = _SPACE.match(self._source, at)
            self._newline = space is not None and "\n" in space[0]
            note = _NOTE.search(space[0]) if space else None
            self._note = note[0] if note else ""
            at = space.end() if space else at
            if at == len(self._source):
                break
            at = self._token(at)
        if len(self._frames) > 1:
            raise self._fault(at, "a bracket without its end")
        return Script(tuple(self._tokens), self._closing, self._opening, tuple(self._within), self._braces)

    def _token(self, at: int) -> int:
        """The end of the token at `at`, which is added."""
        pattern = _TOKEN
        if self._source[at] == "/" and self._may_be_pattern(at):
            pattern = _PATTERN
        elif self._source[at] == "}" and self._frames[-1].text.endswith("${"):
            pattern = _REST
        match = pattern.match(self._source, at)
        if match is None:
            raise self._fault(at, "no token")
        text = match[0]
        if pattern is _PATTERN:
            self._add(text, Role.PATTERN)
        elif pattern is _REST or match["chunk"]:
            self._add_chunk(text)
        elif match["name"]:
            self._add_name(text, match.end())
        elif match["sign"]:
            self._add_sign(text, at)
        else:
            self._add(text, Role.NUMBER if match["number"] else Role.TEXT)
        return match.end()

    def _add(self, text: str, role: Role) -> None:
        if role is not Role.KEYWORD and text not in (",", "*"):
            self._frames[-1].at_key = False
        self._within.append(self._frames[-1].start)
        self._tokens.append(Token(text, role, self._newline, self._note))

    def _add_chunk(self, text: str) -> None:
        """A part of a template, up to a substitution or the end."""
        if text[0] == "}":
            self._close()
        self._add(text, Role.TEXT)
        if text.endswith("${"):
            self._open(text, Brace.OTHER)

    def _open(self, text: str, kind: Brace) -> None:
        """The last token has its end to come."""
        at_key = kind in (Brace.OBJECT, Brace.CLASS)
        self._frames.append(_Frame(len(self._tokens) - 1, text, kind, at_key=at_key))

    def _close(self) -> _Frame:
        """The next token is the end of the innermost start."""
        frame = self._frames.pop()
        self._closing[frame.start] = len(self._tokens)
        self._opening[len(self._tokens)] = frame.start
        return frame

    def _add_name(self, text: str, end: int) -> None:
        frame = self._frames[-1]
        space = _SPACE.match(self._source, end)
        end = space.end() if space else end
        follows = self._source[end : end + 1]
        role = Role.KEYWORD if text in KEYWORDS else Role.NAME
        if text[0] == "#" or self._text() in (".", "?."):
            role = Role.KEY
        elif frame.at_key:
            modifier = text in CONTEXTUAL and follows not in (*"(=;,:}",)
            if modifier:
                role = Role.KEYWORD
            elif frame.kind is Brace.OBJECT and follows in (*",}=",):
                role = Role.SHORTHAND
            elif follows in (*"(:",) or (frame.kind is Brace.CLASS and follows in (*"=;}",)):
                role = Role.KEY
            else:
                raise self._fault(end, "neither a property nor a method")
        if text == "class" and role is Role.KEYWORD:
            frame.heading = True
        self._add(text, role)

    def _add_sign(self, text: str, at: int) -> None:
        frame = self._frames[-1]
        if text in ("(", "[", "{"):
            kind = Brace.OTHER
            if text == "{":
                kind = self._braces[len(self._tokens)] = self._kind_of_brace(at)
                frame.heading = False
            self._add(text, Role.SIGN)
            self._open(text, kind)
            return
        if text in (")", "]", "}"):
            if frame.text != {")": "(", "]": "[", "}": "{"}[text]:
                raise self._fault(at, "a bracket that ends nothing")
            self._close()
            self._add(text, Role.SIGN)
            self._frames[-1].at_key = self._frames[-1].kind is Brace.CLASS and frame.kind is Brace.BLOCK
            return
        if text == "?":
            frame.asked += 1
        elif text == ":":
            self._case = not frame.asked
            frame.asked -= not self._case
        self._add(text, Role.SIGN)
        if text in (",", ";"):
            frame.at_key = frame.kind is (Brace.OBJECT if text == "," else Brace.CLASS)

    def _kind_of_brace(self, at: int) -> Brace:
        if not self._tokens or self._frames[-1].heading:
            return Brace.CLASS if self._tokens else Brace.BLOCK
        last = self._tokens[-1]
        if last.role is Role.KEYWORD:
            return Brace.BLOCK if last.text in _BLOCKS else Brace.OBJECT
        if last.text.endswith("${") or last.text in ("let", "of", "await", "yield"):
            return Brace.OBJECT
        if last.role is not Role.SIGN or last.text == "]":
            raise self._fault(at, "a brace behind a value")
        if last.text == ":":
            block = self._case and self._frames[-1].kind is Brace.BLOCK
        elif last.text == "}":
            block = self._braces[self._opening[len(self._tokens) - 1]] is not Brace.OBJECT
            if not block:
                raise self._fault(at, "a brace behind a value")
        else:
            block = last.text in (")", "=>", ";", "{")
        return Brace.BLOCK if block else Brace.OBJECT

    def _may_be_pattern(self, at: int) -> bool:
        """Whether a regular expression begins here, and not a division."""
        if not self._tokens:
            return True
        last = self._tokens[-1]
        if last.role is Role.KEYWORD:
            return last.text not in _VALUES
        if last.role is Role.TEXT:
            return last.text.endswith("${")
        if last.role is Role.NAME and last.text in ("of", "await", "yield"):
            raise self._fault(at, f"a slash behind {last.text!r}")
        if last.role is not Role.SIGN:
            return False
        if last.text == "}" and self._braces[self._opening[len(self._tokens) - 1]] is not Brace.OBJECT:
            raise self._fault(at, "a slash behind a block")
        if last.text == ")" and self._is_head(self._opening[len(self._tokens) - 1]):
            raise self._fault(at, "a slash behind a condition")
        # Behind ++ and --, which end a value, it divides: they begin none that is a regular expression.
        return last.text not in (")", "]", "}", "++", "--")

    def _is_head(self, start: int) -> bool:
        """Whether the parentheses that begin there are those of a statement."""
        return start > 0 and self._tokens[start - 1].role is Role.KEYWORD and self._tokens[start - 1].text in _HEADS

    def _text(self) -> str:
        """The last token's."""
        return self._tokens[-1].text if self._tokens else ""

    def _fault(self, at: int, what: str) -> InternalError:
        line = self._source.count("\n", 0, at) + 1
        near = self._source[max(at - 30, 0) : at + 30]
        return InternalError(f"read_script: {what} at line {line}, near {near!r}")
