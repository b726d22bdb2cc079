"""unfuse: one loop becomes several nested ones."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.nodes import Expr, For, Stmt, Var
from ...ir.rewrite import substitute
from ...ir.sizes import Size, capacity, divided, divides, equal, product
from .loops import illegal, on_loops


def unfuse(stmt: Stmt, var: Var, sizes: Sequence[Size]) -> tuple[Stmt, list[Var]]:
    """for v < 4 * n of 12: S(v)   ->   for a < 4: for b < n of 3: S(a * n + b)

    The product of `sizes`, outermost first, must be the length of the loop. Returns the new variables.
    """
    length: Size = var.extent if var.length is None else var.length
    variables = [
        Var(f"{var.name}{chr(ord('a') + n)}", capacity(size), None if isinstance(size, int) else size)
        for n, size in enumerate(sizes)
    ]

    def change(loop: For) -> Stmt:
        if not variables or not equal(product(sizes), length):
            raise illegal("unfuse", loop, "the product of the sizes is not the length of the loop")
        number: Expr = variables[0]
        for v, size in zip(variables[1:], sizes[1:], strict=True):
            number = number * size + v
        body = substitute(loop.body, {var: number})
        for v in reversed(variables):
            body = For(v, body, loop.kind, loop.parallel)
        return body

    return on_loops(stmt, var, change), variables


def sizes_between(length: Size, divisors: Sequence[Size]) -> list[Size]:
    """The sizes whose product is `length`, and of which the last ones have each of `divisors` as their product; those
    that do not divide the one before are left out.

    >>> sizes_between(24, [3, 12, 5])
    [2, 4, 3]
    """
    sizes = []
    for divisor in sorted(divisors, key=capacity, reverse=True):
        if divides(divisor, length) and not equal(divisor, length):
            sizes.append(divided(length, divisor))
            length = divisor
    return [*sizes, length]
