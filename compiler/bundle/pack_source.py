"""A shader's source in fewer bytes once it is compressed: runtime-js/device/unpack_source.js has the other direction.

    let t6 = b0[t4 + 1];                         let $a=b0[$z2+1];
    let t7 = b1[t5];                             let $b=b1[$z1];
    acc_0 = acc_0 + t6.x * t7;          ->       acc_0+=$a0.x*$b0;

Temporaries are numbered in the order of their declarations, so the same lines have other numbers in every kernel. `$a`
is the next one of those that are read from the first parameter, `$b` of those from the second, and so on; `$z` of all
others. `$a2` is the third last of its letter. Numbers so counted are the same in equal loops.
"""

from __future__ import annotations

import re

from ..errors import InternalError

_TEMPORARY = re.compile(r"\bt(\d+)\b(?: = [^;]*?\b[bp](\d+)\b)?")
_INDENTATION = re.compile(r"^ +", re.MULTILINE)
_PRODUCT = re.compile(r"^(\w+) = \1 \+ ([\w.]+ \* [\w.]+);$", re.MULTILINE)
"""A sum with a product: with more terms it would be another one, rounded otherwise."""
_SPACES = re.compile(r"(?<=[\w)\]]) (\+=|[=+*]) (?=[\w($])|(?<=,) (?=[\w($])")
_OTHER = "z"


def pack_source(source: str) -> str:
    """Raises InternalError for a source that has a dollar or a name of a temporary as the runtime would make them."""
    if found := re.search(r"\$|\bt[a-z]\d+\b", source):
        raise InternalError(f"pack_source: {found[0]!r} in a shader")
    text = _PRODUCT.sub(r"\1 += \2;", _INDENTATION.sub("", source))
    letters: dict[str, str] = {}
    places: dict[str, int] = {}
    counts: dict[str, int] = {}

    def packed(match: re.Match[str]) -> str:
        number, parameter = match.groups()
        if number in letters:
            letter = letters[number]
            return f"${letter}{counts[letter] - places[number]}"
        letter = letters[number] = _OTHER if parameter is None else chr(ord("a") + int(parameter) % 25)
        places[number] = counts[letter] = counts.get(letter, 0) + 1
        return f"${letter}"

    pieces, at = [], 0
    while match := _TEMPORARY.search(text, at):
        pieces += [text[at : match.start()], packed(match)]
        at = match.end(1)
    return _SPACES.sub(r"\1", "".join([*pieces, text[at:]]))
