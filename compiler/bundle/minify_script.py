"""A script in fewer characters: short names for what is local to it, no comments, spaces or needless signs.

    const offset = (values, { start, size: extent }) => values[start] + extent;
    const a=(b,{start:c,size:d})=>b[c]+d;

Names change all or nothing: each name of a variable has one short name throughout, if wherever it stands a declaration
of it is in scope, and shares it with no name whose scope meets its own. Names of properties and of a page stay,
those of classes and functions for the traces of errors, all texts but for indentation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import count, product

from ..errors import InternalError
from .read_script import CONTEXTUAL, KEYWORDS, Role, Script, Token, read_script

_START = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$"
_INDENTATION = re.compile(r"\s*\n\s*")
_JOINS = re.compile(r"[\w$][\w$#]|\+\+|--|//")
"""Two tokens, by their ends, that would be one."""
_ENDS = (*";{,([:?.", "=>", "?.", "...")
"""Behind these no statement ends."""
_CONTINUES = (*")]},;.:?([=<>&|^*/%+-", "=>", "?.", "&&", "||", "??", "===", "!==", "==", "!=", "<=", ">=", "**")
"""A statement that may end before these goes on."""
_GLOBALS = {"POSITIVE_INFINITY": "Infinity", "NaN": "NaN"}
"""Constants of Number that are global by these names."""
_RESTRICTED = ("return", "break", "continue", "throw", "yield", "async")
"""A statement ends behind these at the end of a line."""


@lru_cache(maxsize=512)
def minify_script(source: str, outer: tuple[tuple[str, str], ...] = ()) -> str:
    """The body of a function, in which all that it declares is local; `outer` are names here and outside of it of what
    is declared there.

    Raises InternalError for forms that leave open whether a name is that of a property, for `var`, `eval` and `with`.
    """
    script = read_script(source)
    names = short_names(script, dict(outer))
    shown = [names.get(t.text, t.text) if t.role is Role.NAME else _shown(t, names) for t in script.tokens]
    for i in range(len(shown)):
        if _is_of_number(script, i):
            shown[i + 2] = _GLOBALS[shown[i + 2]]
    return "".join(_joined(script, shown))


def _shown(token: Token, names: dict[str, str]) -> str:
    match token.role:
        case Role.SHORTHAND if token.text in names:
            return f"{token.text}:{names[token.text]}"
        case Role.TEXT if token.text[0] in "`}":
            # Strings of several lines are shaders, where indentation does not matter.
            return _INDENTATION.sub("\n", token.text)
        case _:
            return token.text


def short_names(script: Script, outer: Mapping[str, str]) -> dict[str, str]:
    """By the names that they replace, short ones for the most frequent; those whose scopes lie apart share one."""
    scopes: dict[str, list[tuple[int, int]]] = {}
    for i, start, end in _declarations(script):
        scopes.setdefault(script.text(i), []).append((start, end))
    uses: Counter[str] = Counter()
    free = {*KEYWORDS, *CONTEXTUAL, *outer.values()}
    scopes |= {name: [(0, len(script.tokens))] for name in outer}
    for i, token in enumerate(script.tokens):
        if token.role in (Role.NAME, Role.SHORTHAND):
            uses[token.text] += 1
            if not any(start <= i < end for start, end in scopes.get(token.text, ())):
                free.add(token.text)
    short = dict(outer)
    taken: dict[str, list[tuple[int, int]]] = {}
    for name in sorted((n for n in uses if n not in free and n not in outer), key=lambda n: (-uses[n], n)):
        own = scopes[name]
        short[name] = next(n for n in short_words() if n not in free and _apart(own, taken.get(n, ())))
        taken.setdefault(short[name], []).extend(own)
    return short


def _apart(some: Iterable[tuple[int, int]], others: Iterable[tuple[int, int]]) -> bool:
    return all(end <= start_ or end_ <= start for start, end in some for start_, end_ in others)


def short_words() -> Iterator[str]:
    for length in count(1):
        for first, *rest in product(_START, *[f"{_START}0123456789"] * (length - 1)):
            yield "".join((first, *rest))


def _declarations(script: Script) -> Iterator[tuple[int, int, int]]:
    """Tokens of names that are declared, and from where to where these are in scope, or less than that."""
    for i, token in enumerate(script.tokens):
        if token.role is Role.KEY:
            continue
        if token.text in ("var", "eval", "with"):
            raise InternalError(f"minify_script: {token.text!r} has scopes of its own")
        if token.text in ("const", "let") and (script.role(i + 1) is Role.NAME or script.text(i + 1) in ("{", "[")):
            yield from _variables(script, i)
        elif token.text == "(" and i in script.closing:
            end = script.closing[i]
            if script.text(end + 1) == "=>":
                yield from _bound_in(script, i + 1, end, (i, _end_of_arrow(script, end + 1)), of_object=False)
            elif script.text(end + 1) == "{" and _has_parameters(script, i):
                yield from _bound_in(script, i + 1, end, (i, script.after(end + 1)), of_object=False)
        elif token.role is Role.NAME and script.text(i + 1) == "=>":
            yield i, i, _end_of_arrow(script, i + 1)


def _block(script: Script, i: int) -> tuple[int, int]:
    """The innermost bracket around a token, and its end."""
    start = script.within[i]
    return start, script.closing[start] if start >= 0 else len(script.tokens)


def _has_parameters(script: Script, i: int) -> bool:
    """Whether parentheses before a block are those of a function, a method or `catch`."""
    if script.text(i - 1) in ("function", "catch", "*") or script.role(i - 1) is Role.KEY:
        return True
    return "function" in (script.text(i - 2), script.text(i - 3) if script.text(i - 2) == "*" else "")


def _end_of_arrow(script: Script, arrow: int) -> int:
    """The token behind the body of the function of this arrow."""
    i = arrow + 1
    if script.text(i) == "{":
        return script.after(i)
    _, end = _block(script, arrow)
    asked = 0
    while i < end and script.text(i) not in (",", ";"):
        asked += script.text(i) == "?"
        if script.text(i) == ":":
            if not asked:
                break
            asked -= 1
        i = script.after(i)
    return i


def _variables(script: Script, i: int) -> Iterator[tuple[int, int, int]]:
    """Names of `const` or `let`."""
    start, end = _block(script, i)
    stop = i + 1
    while stop < end and script.text(stop) not in (";", "of", "in"):
        if script.tokens[stop].text in ("const", "let", "return", "if", "for"):
            break
        stop = script.after(stop)
    if script.text(stop) not in (";", "of", "in"):
        raise InternalError(f"minify_script: no semicolon behind {script.text(i)} {script.text(i + 1)}")
    if script.text(start) == "(":
        if script.text(start - 1) not in ("for", "await"):
            raise InternalError(f"minify_script: {script.text(i)} in brackets")
        body = end + 1
        while script.text(body) != ";" and script.text(body) != "{":
            body = script.after(body)
        end = script.after(body)
    yield from _bound_in(script, i + 1, stop, (start, end), of_object=False)


def _bound_in(
    script: Script, start: int, end: int, scope: tuple[int, int], *, of_object: bool
) -> Iterator[tuple[int, int, int]]:
    """The names that patterns bind, which stand between commas."""
    i = start
    while i < end:
        if script.text(i) == "...":
            i += 1
        if of_object and script.role(i) is not Role.SHORTHAND and script.text(i - 1) != "...":
            i = script.after(i) + 1  # behind the colon
        if script.role(i) in (Role.NAME, Role.SHORTHAND):
            yield (i, *scope)
        elif script.text(i) in ("{", "["):
            yield from _bound_in(script, i + 1, script.closing[i], scope, of_object=script.text(i) == "{")
        while i < end and script.text(i) != ",":
            i = script.after(i)
        i += 1


def _joined(script: Script, shown: list[str]) -> Iterator[str]:
    """Texts of the tokens, with spaces and ends of lines where they mean something."""
    last = ""
    for i, (token, text) in enumerate(zip(script.tokens, shown, strict=True)):
        if _means_nothing(script, i):
            continue
        if token.newline and _ends_line(script, i):
            yield "\n"
        elif _JOINS.match(last[-1:] + text[0]) or (text == "." and script.role(i - 1) is Role.NUMBER):
            yield " "
        yield f"{token.note}{text}"
        last = text


def _means_nothing(script: Script, i: int) -> bool:
    """Whether a token is the semicolon of a block's last statement, a comma behind the last of a list, a parenthesis
    around the one parameter of an arrow function, or `Number.` before a constant that is global."""
    token, behind = script.tokens[i], script.text(i + 1)
    match token.text:
        case ";":
            return behind == "}" and not _is_empty(script, i)
        case ",":
            return behind in (")", "]", "}") and script.text(i - 1) not in ("[", ",")
        case "(" | ")":
            start = script.opening.get(i, i)
            alone = script.role(start + 1) is Role.NAME and script.text(start + 2) == ")"
            opened = script.tokens[start]
            return alone and script.text(start + 3) == "=>" and not opened.newline and not opened.note
        case "Number" | ".":
            return _is_of_number(script, i) or _is_of_number(script, i - 1)
    return False


def _is_of_number(script: Script, i: int) -> bool:
    """Whether one of _GLOBALS begins at a token."""
    is_name = script.text(i) == "Number" and script.role(i) is Role.NAME and not script.tokens[i].newline
    return is_name and script.text(i + 1) == "." and script.text(i + 2) in _GLOBALS


def _is_empty(script: Script, i: int) -> bool:
    """Whether a semicolon may be a statement of its own."""
    if script.text(i - 1) == ")":
        return script.text(script.opening[i - 1] - 1) in ("if", "for", "while", "await")
    return script.text(i - 1) in ("else", "do", ":", "{", "}", ";")


def _ends_line(script: Script, i: int) -> bool:
    """Whether the end of the line before a token may end a statement."""
    before, token = script.text(i - 1), script.tokens[i]
    if before in _RESTRICTED or token.text in ("++", "--"):
        return True
    if before in _ENDS or not before:
        return False
    return not (token.role is Role.SIGN and token.text in _CONTINUES)
