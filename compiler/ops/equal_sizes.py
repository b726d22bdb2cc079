"""Sizes that have to be equal and are not known to be: which ranges of sizes make them equal."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.name_size import named_value
from ..ir.nodes import Binary, Const, Expr, Node, Scalar, Var
from ..ir.rewrite import rewrite, substitute, walk
from ..ir.sizes import Size, capacity, equal, number, scalars_of, size, text_of

_MULTIPLES = (*range(2, 11), 12, 14, 16, 20, 24, 28, 32, 36, 40, 48, 56, 60, 64, 72, 80, 96, 112, 120, 128)
"""Numbers of which sizes are multiples where networks halve them and double them again, or cut them into windows."""

Pair = tuple[Size, Size]


def advice_for(pairs: Sequence[Pair], otherwise: str = "fix these sizes by --dim, or give both one name") -> str:
    """Advice for messages: with which sizes of the inputs those of each pair are equal."""
    limits = [limit for limit in (cut(*pair) for pair in pairs) if limit is not None]
    if limits:
        return f"give ranges by --dim with which {text_of(limits[0][0])} is at most {limits[0][1]}"
    multiples = [_multiples(*pair) for pair in pairs]
    if pairs and all(multiples):
        options = dict.fromkeys(_option(s, n) for found in multiples for s, n in found.items())
        return f"give a range of multiples alone: {' '.join(options)}"
    following = [_following(*pair) for pair in pairs]
    if pairs and all(following):
        named = dict.fromkeys(f"--dim {s.name}, which follows as {text_of(n)}" for found in following for s, n in found)
        return f"leave out {' and '.join(named)}"
    return otherwise


def _following(a: Size, b: Size) -> list[tuple[Scalar, Size]]:
    """A size of the model's inputs that is one side alone, and the other side, an expression of other sizes of them."""
    return [
        (s, other)
        for s, other in ((a, b), (b, a))
        if isinstance(s, Scalar) and not isinstance(other, int | Scalar) and s not in scalars_of(other)
        if not any(n.computed for n in (s, *scalars_of(other)))
    ]


def cut(a: Size, b: Size) -> tuple[Expr, int] | None:
    """A size and the number that it may be at most, so that `a` and `b` are equal: there slices end before they do.
    None where that does not make them equal."""
    limits = [
        (n.a, int(n.b.value))
        for n in walk(number(a) - number(b))
        if isinstance(n, Binary) and n.op == "min" and isinstance(n.b, Const)
    ]
    if not limits or not equal(_uncut(a), _uncut(b)):
        return None
    return max(limits, key=lambda limit: capacity(limit[0]) - limit[1])


def _uncut(side: Size) -> Size:
    """`side` where no minimum with a number is that number."""

    def rule(n: Node) -> Node | None:
        return n.a if isinstance(n, Binary) and n.op == "min" and isinstance(n.b, Const) else None

    return size(rewrite(number(side), rule))


def _multiples(a: Size, b: Size) -> dict[Scalar, int]:
    """Numbers of which sizes of the model's inputs have to be multiples, so that `a` and `b` are equal; empty where
    nothing is found."""
    sides = _without_names(number(a)), _without_names(number(b))
    scalars = scalars_of(*sides)
    if any(s.computed for s in scalars):
        return {}
    for n in _MULTIPLES:
        within = [(-(-s.low // n), (s.extent - 1) // n) for s in scalars]
        if any(low >= high for low, high in within):  # one size at most
            break
        scaled: dict[Var, Expr] = {
            s: Scalar(s.name, high + 1, low=low) * n for s, (low, high) in zip(scalars, within, strict=True)
        }
        if equal(*(size(substitute(side, scaled)) for side in sides)):
            return dict.fromkeys(scalars, n)
    return {}


def _without_names(side: Expr) -> Expr:
    """An expression of the sizes of inputs, where long sizes have names."""
    named: dict[Var, Expr] = {s: value for s in scalars_of(side) if (value := named_value(s)) is not None}
    return _without_names(substitute(side, named)) if named else side


def _option(s: Scalar, n: int) -> str:
    """The option that makes a size a multiple of so many times what it is a multiple of already."""
    name, _, known = s.name.rpartition("/")
    step = int(known) if known.isdigit() else 1
    multiple = n * step
    least, most = -(-max(s.low, 1) // n) * multiple, (s.extent - 1) // n * multiple
    return f"--dim {name or s.name}={least}..{most},multiple={multiple}"
