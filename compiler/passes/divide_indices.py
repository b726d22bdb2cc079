"""Divisions of what cannot be negative: plain instructions instead of rounding towards minus infinity."""

from __future__ import annotations

from dataclasses import replace

from ..dtypes import I32
from ..ir.facts import Facts, range_of
from ..ir.nodes import Binary, Const, Expr, Kernel
from ..ir.rewrite import rewrite


def divide_indices(kernel: Kernel) -> Kernel:
    """i // 8, i % 8, i // 6, i % 6   ->   i >> 3, i & 7, i / 6, i - i / 6 * 6          (0 <= i, int32)
    i // n, i % n                  ->   i / n, i - i / n * n                           (0 <= i, 0 < n)

    A shift rounds down whatever the sign, and so does a mask; the others need the range, for indices that tables hold
    that of their elements.
    """
    ranges = Facts({})

    def rule(n: object) -> Expr | None:
        match n:
            case Binary("//" | "%" as op, a, Const(value, _)) if n.dtype == I32 and int(value) > 0:
                divisor = int(value)
                if divisor & (divisor - 1) == 0:
                    shift, mask = Const(divisor.bit_length() - 1), Const(divisor - 1)
                    return Binary("shr", a, shift) if op == "//" else Binary("and", a, mask)
                interval = range_of(a) or ranges.of(a)
                if interval[0] < 0:
                    return None
                quotient = Binary("/", a, Const(divisor))
                return quotient if op == "//" else a - quotient * divisor
            case Binary("//" | "%" as op, a, b) if n.dtype == I32:
                if (range_of(a) or ranges.of(a))[0] >= 0 and (range_of(b) or ranges.of(b))[0] > 0:
                    return Binary("/", a, b) if op == "//" else a - Binary("/", a, b) * b
        return None

    body = rewrite(kernel.body, rule)
    return kernel if body is kernel.body else replace(kernel, body=body)
