"""A shader's source in fewer bytes once it is compressed: runtime-js/device/unpack_source.js has the other direction.

    let t6 = b0[t4 + 64];
    acc_0_0 = acc_0_0 + t6.x * t5;               @A=b0[$Z0+$64];$Y7+=$A0.x*$B0;@A=b0[$Z0+$64];$Y7+=$A0.x*$B0;
    let t7 = b0[t4 + 128];               ->
    acc_0_1 = acc_0_1 + t7.x * t5;

Numbers of variables and offsets differ in each of the statements that an unrolled loop leaves. So variables are named
by how long ago they were used, as in a move-to-front transform: `$A` is a new one, `$A0` the one that was used last,
`$A1` the one before that. Each letter counts its own: `A` temporaries that are read from the first parameter, `B` those
from the second, and so on; `Z` other ones, `Y`, `X` and so on the elements of a local array each. An offset is the
difference from the last one behind the same parameter. Some phrases that are frequent
have a short form; the unpacked text has a line for each statement, as the source has.
"""

from __future__ import annotations

import re

from ..errors import InternalError

_TOKEN = re.compile(r"(?<![\w$.])([A-Za-z]\w*?)(\d+)\b(?: = [^;]*?\b[bp](\d+)\b)?|(?<=\+ )(\d+)(?=[\];,])")
_INDENTATION = re.compile(r"^ +", re.MULTILINE)
_PRODUCT = re.compile(r"^(\w+) = \1 \+ ([\w.]+ \* [\w.]+);$", re.MULTILINE)
"""A sum with a product: with more terms it would be another one, rounded otherwise."""
_SPACES = re.compile(r"(?<=[\w)\]]) (\+=|==|&&|>>|[=+*/%<&-]) (?=[\w($])|(?<=,) (?=[\w($])")
_SHORT = (
    (re.compile(r"texelFetch\(p(\d+),ivec3\("), r"@\1("),
    (re.compile(r"\blet \$([A-Z])(?=\W)"), r"@\1"),
    (re.compile(r"([;{}])\n(?=\S)"), r"\1"),
)
"""Phrases of WGSL and GLSL, and their short forms."""
_PARAMETERS = ("b", "p")
_TEMPORARIES = "t"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXY"
_OTHER = "Z"


def pack_source(source: str) -> str:
    """Raises InternalError for a source that has a dollar, a name of a variable or what else the runtime would take for
    something of its own."""
    if found := re.search(r"\$|\b[A-Z]\d+\b|@[\dA-Z]", source):
        raise InternalError(f"pack_source: {found[0]!r} in a shader")
    text = _PRODUCT.sub(r"\1 += \2;", _INDENTATION.sub("", source))
    letters = _letters(text)
    recent: dict[str, list[str]] = {}
    offsets: dict[str, int] = {}
    parameter = ""

    def packed(match: re.Match[str]) -> str:
        nonlocal parameter
        prefix, number, _, offset = match.groups()
        if offset is not None:
            before, offsets[parameter] = offsets.get(parameter, 0), int(offset)
            return f"${int(offset) - before}"
        name = f"{prefix}{number}"
        if prefix in _PARAMETERS:
            parameter = name
        if (letter := letters.get(name)) is None:
            return name
        names = recent.setdefault(letter, [])
        if name not in names:
            names.insert(0, name)
            return f"${letter}"
        place = names.index(name)
        names.insert(0, names.pop(place))
        return f"${letter}{place}"

    pieces, at = [], 0
    while match := _TOKEN.search(text, at):
        pieces += [text[at : match.start()], packed(match)]
        at = match.end(2) if match[4] is None else match.end()
    text = _SPACES.sub(r"\1", "".join([*pieces, text[at:]]))
    for phrase, short in _SHORT:
        text = phrase.sub(short, text)
    return text


def _letters(text: str) -> dict[str, str]:
    """The letters of variables by their names. Names that something outside of the shader has, of a lower-case letter,
    keep it, if they come in the order of their numbers."""
    letters: dict[str, str] = {}
    numbers: dict[str, list[int]] = {}
    at = 0
    while match := _TOKEN.search(text, at):
        at = match.end(2) if match[4] is None else match.end()
        prefix, number, read, offset = match.groups()
        if offset is None and prefix == _TEMPORARIES:
            letters.setdefault(f"t{number}", _OTHER if read is None else _LETTERS[int(read) % len(_LETTERS)])
        elif offset is None and int(number) not in numbers.setdefault(prefix, []):
            numbers[prefix].append(int(number))
    free = [letter for letter in _LETTERS if letter not in letters.values()]
    for prefix, own in numbers.items():
        if len(prefix) == 1 and prefix not in _PARAMETERS and own == list(range(len(own))):
            letters.update({f"{prefix}{n}": prefix for n in own})
        elif prefix.endswith("_") and free:
            letter = free.pop()
            letters.update({f"{prefix}{n}": letter for n in own})
    return letters
