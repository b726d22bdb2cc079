"""The identities of index arithmetic, each by itself over every value of small variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import pytest
from index_expressions import value
from webnn_compile.ir.affine import Affine, affine
from webnn_compile.ir.identities import DIVISIONS, EXTREMES, JOINS
from webnn_compile.ir.nodes import Binary, Const, Expr, Scalar, Var
from webnn_compile.ir.rewrite import free_vars

U, V, SIZE = Var("u", 5), Var("v", 3), Scalar("size", 5)
COEFFICIENTS = range(-6, 7)


def total(form: Affine, at: dict[Expr, int]) -> int:
    return form.constant + sum(c * value(a, at) for a, c in form.terms)


def check(before: Callable[[dict[Expr, int]], int], after: Affine, text: str) -> None:
    """Equal for every u, v and size."""
    assert free_vars(after.to_expr()) <= {U, V, SIZE}
    for values in product(*(range(v.extent) for v in (U, V, SIZE))):
        at: dict[Expr, int] = dict(zip((U, V, SIZE), values, strict=True))
        assert before(at) == total(after, at), f"{text} at {at}"


def operands() -> Iterator[Affine]:
    """a * u + b * v + k, a quotient in place of u, multiples of a size and of its remainder, and remainders alone."""
    quotient = Affine(((Binary("//", U + 3 * V, Const(2)), 1),), 0)
    for a, b, k in product(COEFFICIENTS, (0, 1, 4), (-7, -1, 0, 2, 6, 9)):
        yield Affine(((U, 1),), 0).scale(a) + Affine(((V, 1),), 0).scale(b) + Affine((), k)
    for k in range(-3, 4):
        yield quotient + Affine((), k)
    for a, k in product(COEFFICIENTS, (-1, 0, 2)):
        yield affine(SIZE * a + k)
        yield affine((SIZE % 4) * a + V + k)
    for a, c in product((1, 3, 5), (4, 12)):
        yield Affine(((Binary("%", SIZE * a + 1, Const(c)), 1),), 0)
    for op, k in product(("min", "max"), (-2, 0, 3)):
        yield Affine(((Binary(op, U - 1, Const(1)), 1),), k)


@pytest.mark.parametrize("identity", DIVISIONS, ids=lambda f: f.__name__)
def test_divisions(identity: Callable[[str, Affine, int], Affine | None]) -> None:
    matched = 0
    for x, divisor, op in product(operands(), (1, 2, 3, 4, 6, 12), ("//", "%")):
        after = identity(op, x, divisor)
        if after is not None:
            matched += 1
            check(
                lambda at, x=x, d=divisor, op=op: total(x, at) // d if op == "//" else total(x, at) % d,
                after,
                f"{x} {op} {divisor}",
            )
    assert matched > 5


@pytest.mark.parametrize("identity", JOINS, ids=lambda f: f.__name__)
def test_joins(identity: Callable[[Affine, int, Expr, Expr], Affine | None]) -> None:
    matched = 0
    for a, b, k, divisor, r, h in product((1, 3, 5), (0, 1, 2), (0, 1, 4), (2, 4, 7), (-3, 0, 2), (2, 3, 5)):
        x = affine(U * a + V * b + k)
        quotient = Binary("//", x.to_expr(), Const(divisor))
        if affine(quotient).terms != ((quotient, 1),):
            continue
        for partner in (quotient, Binary("%", (affine(quotient) + Affine((), r)).to_expr(), Const(h)), U):
            after = identity(x, divisor, quotient, partner)
            if after is not None:
                matched += 1
                check(
                    lambda at, x=x, d=divisor, p=partner: value(p, at) * d + total(x, at) % d,
                    after,
                    f"{partner} * {divisor} + ({x}) % {divisor}",
                )
    assert matched > 5


@pytest.mark.parametrize("identity", EXTREMES, ids=lambda f: f.__name__)
def test_extremes(identity: Callable[[str, Affine, Affine], Affine | None]) -> None:
    matched = 0
    others = [affine(U), affine(V * 2 + 1), affine(U - V), Affine((), 3)]
    for x, y, op in product(operands(), others, ("min", "max")):
        after = identity(op, x, y)
        if after is not None:
            matched += 1
            pick = min if op == "min" else max
            check(
                lambda at, x=x, y=y, pick=pick: pick(total(x, at), total(y, at)),
                after,
                f"{op}({x}, {y})",
            )
    assert matched > 5


EXAMPLES: list[tuple[Expr, Expr]] = [
    ((U * 3 // 4) * 4 + U * 3 % 4, U * 3),
    ((U * 3 // 4 + 1) % 5 * 4 + U * 3 % 4, (U * 3 + 4) % 20),
    (U // 1, U),
    ((U * 4 + V * 3) // 4, U + V * 3 // 4),
    ((V + 6) % 5, V + 1),
    ((U * 6 + 3) // 4, (U * 3 + 1) // 2),
    ((U // 2 + 3) // 2, (U + 6) // 4),
    ((U * 16 + V * 5 + SIZE) // 32, U // 2),
    ((U * 16 + V * 5 + SIZE + 1) % 32, U % 2 * 16 + V * 5 + SIZE + 1),
    (SIZE % 4 // 2, SIZE // 2 % 2),
    (Binary("min", V, U + 2), V),
    (Binary("max", U + 2, V), U + 2),
    (Binary("max", Binary("max", SIZE - 1, Const(0)) - 1, Const(0)), Binary("max", SIZE - 2, Const(0))),
]
"""For each identity what it matches, and what that becomes."""


@pytest.mark.parametrize("example", range(len(EXAMPLES)))
def test_an_example_takes_its_short_form(example: int) -> None:
    before, after = EXAMPLES[example]
    assert affine(before).to_expr() == after or affine(before) == affine(after)
    assert divisions(affine(before).to_expr()) <= divisions(after)


def divisions(e: Expr) -> int:
    match e:
        case Binary(op, a, b):
            return (op in ("//", "%", "min", "max")) + divisions(a) + divisions(b)
    return 0


def test_what_no_identity_matches_stays() -> None:
    x = affine(U * 3 + V)
    assert not any(identity(op, x, 5) for identity in DIVISIONS for op in ("//", "%"))
    assert not any(identity(op, affine(U), affine(V)) for identity in EXTREMES for op in ("min", "max"))
    assert not any(identity(x, 5, Binary("//", x.to_expr(), Const(5)), U) for identity in JOINS)
