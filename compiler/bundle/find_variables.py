"""Which variable each name in a script stands for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ..errors import InternalError
from .read_script import Brace, Role, Script, read_script


@dataclass(frozen=True, slots=True)
class Variable:
    """`start` is the token where its scope begins, -1 for that of the whole script, and `end` the token behind it;
    `uses` are the tokens that name it, ascending, declarations among them."""

    name: str
    start: int
    end: int
    uses: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Variables:
    """`variables` by their scopes, outer ones first, and by their first uses; `at` has the variable of a token by its
    number in them; `free` are names of no variable of the script, of properties of a page and of classes, `classes`
    those of classes that are declared in the scope of the whole script."""

    script: Script
    variables: tuple[Variable, ...]
    at: dict[int, int]
    free: frozenset[str]
    classes: frozenset[str]


@lru_cache(maxsize=512)
def find_variables(source: str) -> Variables:
    """The variables of a function's body. InternalError for forms that leave open whether a name is that of a property
    or where a scope ends, for `var`, `eval` and `with`."""
    script = read_script(source)
    scopes: dict[str, set[tuple[int, int]]] = {}
    for i, start, end in _declarations(script):
        scopes.setdefault(script.text(i), set()).add((start, end))
    uses: dict[tuple[int, int, str], list[int]] = {}
    free = set()
    for i, token in enumerate(script.tokens):
        if token.role in (Role.NAME, Role.SHORTHAND):
            around = [scope for scope in scopes.get(token.text, ()) if scope[0] <= i < scope[1]]
            if around:
                start, end = max(around)
                uses.setdefault((start, -end, token.text), []).append(i)
            else:
                free.add(token.text)
    ordered = sorted(uses, key=lambda key: (*key[:2], uses[key][0]))
    variables = tuple(Variable(name, start, -end, tuple(uses[start, end, name])) for start, end, name in ordered)
    at = {i: number for number, variable in enumerate(variables) for i in variable.uses}
    return Variables(script, variables, at, frozenset(free), frozenset(_classes(script)))


def _classes(script: Script) -> Iterator[str]:
    """Names of classes that are declared in the scope of the whole script."""
    for i, start in enumerate(script.within):
        is_named = script.word(i) == "class" and script.role(i + 1) is Role.NAME
        if start == -1 and is_named and not _is_value(script, i):
            yield script.text(i + 1)


def _declarations(script: Script) -> Iterator[tuple[int, int, int]]:
    """Tokens of names that are declared, and from where to where these are in scope."""
    for i, token in enumerate(script.tokens):
        if token.role is Role.KEY:
            continue
        if token.text in ("var", "eval", "with"):
            raise InternalError(f"find_variables: {token.text!r} has scopes of its own")
        if is_declaration(script, i):
            yield from _variables(script, i)
        elif token.text == "function":
            name = i + 2 if script.text(i + 1) == "*" else i + 1
            if script.role(name) is Role.NAME:
                if _is_value(script, i):
                    _check_name_of_value(script, i, name)
                yield name, *_block(script, i)
        elif token.text == "(" and i in script.closing:
            end = script.closing[i]
            if script.text(end + 1) == "=>":
                yield from _bound_in(script, i + 1, end, (i, _end_of_arrow(script, end + 1)), of_object=False)
            elif script.braces.get(end + 1) is Brace.BLOCK and _has_parameters(script, i):
                yield from _bound_in(script, i + 1, end, (i, script.after(end + 1)), of_object=False)
        elif token.role is Role.NAME and script.text(i + 1) == "=>":
            yield i, i, _end_of_arrow(script, i + 1)


def _block(script: Script, i: int) -> tuple[int, int]:
    """The innermost bracket around a token, and its end."""
    start = script.within[i]
    return start, script.closing[start] if start >= 0 else len(script.tokens)


def _has_parameters(script: Script, i: int) -> bool:
    """Whether parentheses before a block are those of a function, a method or `catch`, and not of a statement."""
    if script.braces.get(script.within[i]) in (Brace.OBJECT, Brace.CLASS):
        return True  # a method, whose name may be a string, a number or an expression
    before = script.word(i - 1)
    if before in ("if", "for", "while", "switch") or (before == "await" and script.word(i - 2) == "for"):
        return False
    name = i - 1 if script.role(i - 1) is Role.NAME else i
    if before == "catch" or script.word(name - 1 - (script.text(name - 1) == "*")) == "function":
        return True
    raise InternalError(f"find_variables: no semicolon between {script.text(i - 1)}(...) and a block")


def _is_value(script: Script, i: int) -> bool:
    """Whether a function or class, whose word is at `i`, is a value, and its name no variable of what is around it."""
    first = i - (script.word(i - 1) == "async")
    before, role, around = script.word(first - 1), script.role(first - 1), script.within[i]
    if before in ("", ";", "{", "}") and role is not Role.KEY:
        return False
    is_label = before == ":" and script.text(around) in ("", "{") and script.braces.get(around) in (None, Brace.BLOCK)
    is_sign = role is Role.SIGN and before not in (")", "]", "++", "--") and not is_label
    is_word = role is Role.KEYWORD and before not in ("else", "do", "this", "super", "null", "true", "false")
    if is_sign or is_word or before in ("await", "yield") or before.endswith("${"):
        return True
    raise InternalError(f"find_variables: no way to tell where {script.text(i)} {script.text(i + 1)} is declared")


def _check_name_of_value(script: Script, i: int, name: int) -> None:
    """A function that is a value has its name in itself alone: InternalError where that would not be the same as a
    variable of the block around."""
    start, end = _block(script, i)
    for other in (*range(max(start, 0), i), *range(script.after(script.after(name + 1)), end)):
        if script.text(other) == script.text(name) and script.role(other) in (Role.NAME, Role.SHORTHAND):
            raise InternalError(
                f"find_variables: a function that is a value is named {script.text(name)} as what is around"
            )


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


def _end_of_statement(script: Script, i: int) -> int:
    """The token behind the statement that begins at `i`."""
    match script.text(i):
        case "{":
            return script.after(i)
        case "if" | "for" | "while" | "switch":
            end = _end_of_statement(script, script.after(i + (2 if script.text(i + 1) == "await" else 1)))
            return _end_of_statement(script, end + 1) if script.text(end) == "else" else end
        case "try" | "do":
            raise InternalError(f"find_variables: {script.text(i)} as the body of a loop has no braces around it")
    _, end = _block(script, i)
    while i < end and script.text(i) != ";":
        i = script.after(i)
    return min(i + 1, end)


def is_declaration(script: Script, i: int) -> bool:
    """Whether a token is the `const` or `let` of a declaration."""
    return script.word(i) in ("const", "let") and (script.role(i + 1) is Role.NAME or script.text(i + 1) in ("{", "["))


def end_of_declaration(script: Script, i: int) -> int:
    """The semicolon behind the variables of `const` or `let`, and their values; in the head of a loop also its `of` or
    `in`."""
    start, end = _block(script, i)
    ends = (";", "of", "in") if script.text(start) == "(" else (";",)
    stop = i + 1
    while stop < end and script.word(stop) not in ends:
        if script.word(stop) in ("const", "let", "return", "if", "for"):
            break
        stop = script.after(stop)
    if script.word(stop) not in ends:
        raise InternalError(f"find_variables: no semicolon behind {script.text(i)} {script.text(i + 1)}")
    return stop


def _variables(script: Script, i: int) -> Iterator[tuple[int, int, int]]:
    """Names of `const` or `let`."""
    start, end = _block(script, i)
    if script.text(start) == "(":
        if script.text(start - 1) not in ("for", "await"):
            raise InternalError(f"find_variables: {script.text(i)} in brackets")
        end = _end_of_statement(script, end + 1)
    yield from _bound_in(script, i + 1, end_of_declaration(script, i), (start, end), of_object=False)


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
