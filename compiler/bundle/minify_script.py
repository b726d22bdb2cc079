"""A script in fewer characters: short names for what is local to it, no comments, spaces or needless signs.

    const offset = (values, { start, size: extent }) => values[start] + extent;
    let t=(t,{start:e,size:n})=>t[e]+n;

Names of properties and of a page stay, those of classes, which users see, and all texts but for indentation. Each scope
begins with the same letter again, so that functions which differ in names alone are equal text for a compressor.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count, product

from ..errors import InternalError
from .find_variables import Variables, end_of_declaration, find_variables, is_declaration
from .read_script import CONTEXTUAL, KEYWORDS, Role, Script, Token

_LETTERS = "tenrisaolcdpumfhgbvywkxjqz"
"""From the most frequent one in scripts on."""
_INDENTATION = re.compile(r"\s*\n\s*")
_JOINS = re.compile(r"[\w$][\w$#]|\+\+|--|//")
"""Two tokens, by their ends, that would be one."""
_WORD = re.compile(r"[\w$]")
_ENDS = (*";{,([:?.", "=>", "?.", "...")
"""Behind these no statement ends."""
_CONTINUES = (*")]},;.:?([=<>&|^*/%+-", "=>", "?.", "&&", "||", "??", "===", "!==", "==", "!=", "<=", ">=", "**")
"""A statement that may end before these goes on."""
_HEADS = ("if", "for", "while", "switch", "catch")
"""Words before the parentheses of a statement."""
_GLOBALS = {"POSITIVE_INFINITY": "Infinity", "NaN": "NaN"}
"""Constants of Number that are global by these names."""
_BEHIND_OPERANDS = (".", "?.", "[", "(", "`", "**")
"""Signs that belong to the operand before them: a unary operator before it would apply to more."""
_RESTRICTED = ("return", "break", "continue", "throw", "yield", "async")
"""A statement ends behind these at the end of a line."""

Names = tuple[tuple[str, str], ...]
"""Names in a script, and what they are called outside of it, where others have use of them."""
Parts = tuple[tuple[str, Names], ...]
"""Scripts, each with such names."""


def minify_script(source: str) -> str:
    """The body of a function, in which all that it declares is local. InternalError as `find_variables`."""
    return minify_scripts(((source, ()),))


@lru_cache(maxsize=64)
def minify_scripts(parts: Parts, around: Parts = (), taken: frozenset[str] = frozenset()) -> str:
    """Scripts, one after the other in one scope, as if each had a scope of its own: what they declare at the top has
    different names, of which none is in `taken`. `around` are the scripts of the scope around them. InternalError as
    `find_variables`, and for a class whose name means something else in another of the scripts."""
    _check_classes((*around, *parts), taken)
    found = [find_variables(source) for source, _ in parts]
    names = short_names(found, [dict(given) for _, given in parts], taken)
    known = [_literals(variables, dict(given)) for variables, (_, given) in zip(found, parts, strict=True)]
    return "".join(map(_text, found, names, known))


def _literals(variables: Variables, given: Collection[str]) -> dict[int, int]:
    """Constants that are a number or a string, are used once, and are not in `given`: the token of the use by that of
    the declaration."""
    script, found = variables.script, {}
    for v in variables.variables:
        if len(v.uses) == 2 and not (v.start == -1 and v.name in given):
            i, use = v.uses
            is_whole = script.word(i - 1) == "const" and script.text(i + 1) == "=" and script.text(i + 3) == ";"
            is_literal = script.role(i + 2) is Role.NUMBER or script.text(i + 2)[:1] == "'"
            has_note = any(t.note for t in script.tokens[i - 1 : i + 4])
            if is_whole and is_literal and not has_note and script.text(use + 1) not in _BEHIND_OPERANDS:
                found[i] = use
    return found


def _check_classes(parts: Parts, taken: Collection[str]) -> None:
    """InternalError for a class, which keeps its name, where another script or `taken` has this name, too."""
    found = [find_variables(source) for source, _ in parts]
    uses = Counter(taken)
    for variables, (_, given) in zip(found, parts, strict=True):
        names = dict(given)
        uses.update({*names.values(), *(name for name in variables.free if name not in names)})
    for variables in found:
        for name in sorted(variables.classes):
            if uses[name] > 1:
                raise InternalError(f"minify_script: another script has the name of class {name}, too")


def _text(variables: Variables, names: Mapping[int, str], literals: Mapping[int, int]) -> str:
    script = variables.script
    values = {use: script.text(i + 2) for i, use in literals.items()}
    shown = [_shown(t, values.get(i, names.get(i))) for i, t in enumerate(script.tokens)]
    for i in range(len(shown)):
        if _is_of_number(script, i):
            shown[i + 2] = _GLOBALS[shown[i + 2]]
        if _is_undefined(script, i):
            shown[i] = "" if script.word(i - 1) == "return" and script.text(i + 1) in (";", "}") else "void 0"
    ends = set()
    for i in range(len(shown)):
        if i + 1 in literals:
            shown[i : i + 4] = [""] * 4
            if i - 1 in ends:  # the declaration before it ends where it did
                shown[i - 1] = ""
                ends.add(i + 4)
            elif script.text(i - 1) in ("", ";", "{") or _is_block(script, i - 1):
                shown[i + 4] = ""
        elif is_declaration(script, i):
            # What runs assigns to no constant, and one word for both makes more equal text.
            shown[i] = "let"
            if i - 1 in ends and not script.tokens[i].note:
                shown[i - 1 : i + 1] = ",", ""
            ends.add(end_of_declaration(script, i))
    return "".join(_joined(script, shown))


def _shown(token: Token, name: str | None) -> str:
    match token.role:
        case Role.NAME if name is not None:
            return name
        case Role.SHORTHAND if name is not None:
            return token.text if token.text == name else f"{token.text}:{name}"
        case Role.TEXT if token.text[0] in "`}":
            # Strings of several lines are shaders, where indentation does not matter.
            return _INDENTATION.sub("\n", token.text)
        case _:
            return token.text


def short_names(
    scripts: Sequence[Variables], given: Sequence[Mapping[str, str]], taken: Collection[str]
) -> list[dict[int, str]]:
    """For each script, the short names of its tokens that name a variable or something in `given`.

    A name is the first that means nothing else where the variable is in scope and that no other one of its scope has;
    none of the outermost scope is in `taken`.
    """
    taken = {*taken, *(name for own in given for name in own.values())}
    taken.update(name for s, own in zip(scripts, given, strict=True) for name in s.free if name not in own)
    short: list[dict[int, str]] = [{} for _ in scripts]
    tops = []
    for n, (script, own) in enumerate(zip(scripts, given, strict=True)):
        for number, v in enumerate(script.variables):
            if v.start == -1 and v.name in own:
                short[n][number] = own[v.name]
            elif v.start == -1:
                tops.append((-len(v.uses), n, number))
    words = free_words(taken)
    for _, n, number in sorted(tops):
        short[n][number] = next(words)
    return [_in_scopes(*each) for each in zip(scripts, given, short, strict=True)]


def _in_scopes(script: Variables, given: Mapping[str, str], short: dict[int, str]) -> dict[int, str]:
    """Short names by token, from those of a script's outermost variables by their numbers."""
    tokens = script.script.tokens
    scopes: dict[tuple[int, int], list[int]] = {}
    for number, v in enumerate(script.variables):
        if v.start != -1:
            scopes.setdefault((v.start, v.end), []).append(number)
    for (start, end), own in scopes.items():
        taken: set[str] = set()
        for i in range(start, end):
            if tokens[i].role in (Role.NAME, Role.SHORTHAND):
                meant, text = script.at.get(i), tokens[i].text
                taken.add(given.get(text, text) if meant is None else short.get(meant, ""))
        # What a function's body declares must not have the name of a parameter.
        for (start_, end_), others in scopes.items():
            if start_ < start and end_ == end + 1:
                taken.update(short[number] for number in others)
        words = free_words(taken)
        for number in own:
            short[number] = next(words)
    names = {i: short[number] for i, number in script.at.items()}
    for i, token in enumerate(tokens):
        if i not in names and token.role in (Role.NAME, Role.SHORTHAND) and token.text in given:
            names[i] = given[token.text]
    return names


def free_words(taken: Collection[str]) -> Iterator[str]:
    """Short names that are no keywords, and not taken."""
    used = {*taken, *KEYWORDS, *CONTEXTUAL}
    return (word for word in _words(_LETTERS + _LETTERS.upper() + "_") if word not in used)


def capital_words() -> Iterator[str]:
    """Names that begin with a capital letter, shortest first. One or two letters are no names of a page's."""
    return _words(_LETTERS.upper())


def _words(first: str) -> Iterator[str]:
    for length in count(1):
        for letters in product(first, *[f"{_LETTERS}{_LETTERS.upper()}_0123456789"] * (length - 1)):
            yield "".join(letters)


def _joined(script: Script, shown: list[str]) -> Iterator[str]:
    """Texts of the tokens, with spaces and ends of lines where they mean something."""
    last = ""
    for i, (token, text) in enumerate(zip(script.tokens, shown, strict=True)):
        if not text or _means_nothing(script, i):
            continue
        if token.newline and _ends_line(script, i):
            yield "\n"
        elif _JOINS.match(last[-1:] + text[0]) or _needs_space(script, i):
            yield " "
        yield f"{token.note}{text}"
        last = text


def _needs_space(script: Script, i: int) -> bool:
    """Whether a token would go on with the number or the flags of the pattern before it, or be part of `<!--`, which
    begins a comment in a classic script."""
    text = script.text(i)
    match script.role(i - 1):
        case Role.NUMBER:
            return text == "."
        case Role.PATTERN:
            return _WORD.match(text) is not None
    return text == "--" and (script.text(i - 2), script.text(i - 1)) == ("<", "!")


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


def _is_undefined(script: Script, i: int) -> bool:
    """Whether a token is the value of that name, of which nothing is taken."""
    is_name = script.text(i) == "undefined" and script.role(i) is Role.NAME
    return is_name and script.text(i + 1) not in _BEHIND_OPERANDS


def _is_empty(script: Script, i: int) -> bool:
    """Whether a semicolon may be a statement of its own."""
    if script.text(i - 1) == ")":
        return script.text(script.opening[i - 1] - 1) in ("if", "for", "while", "await")
    return script.text(i - 1) in ("else", "do", ":")


def _is_head(script: Script, i: int) -> bool:
    """Whether a token ends the parentheses of a statement, behind which its body follows."""
    start = script.opening.get(i, 0)
    return script.text(i) == ")" and script.word(start - 1 - (script.text(start - 1) == "await")) in _HEADS


def _is_block(script: Script, i: int) -> bool:
    """Whether a token ends the block of a statement or a declaration, behind which no semicolon belongs."""
    start = script.opening.get(i, 0) if script.text(i) == "}" else 0
    if _is_head(script, start - 1) or script.text(start - 1) in ("else", "try", "finally"):
        return True
    if script.text(start - 1) != ")":
        return False
    name = script.opening[start - 1] - 1
    function = name - (2 if script.text(name - 1) == "*" else 1)
    first = function - (script.text(function - 1) == "async")
    return script.text(function) == "function" and script.text(first - 1) in ("", ";", "{", "}")


def _ends_line(script: Script, i: int) -> bool:
    """Whether the end of the line before a token may end a statement."""
    before, token = script.text(i - 1), script.tokens[i]
    if before in _RESTRICTED or token.text in ("++", "--"):
        return True
    if before in _ENDS or not before or _is_head(script, i - 1) or _is_block(script, i - 1):
        return False
    return not (token.role is Role.SIGN and token.text in _CONTINUES)
