"""Splits a tensor that reads more tensors than a kernel may."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..ir.nodes import Expr, Load, Node, Var
from ..ir.rewrite import children, loads, rewrite_top_down, substitute
from .program import TensorProgram
from .replace_tensors import replace_tensors
from .tensor import Tensor, compute


def split_reads(program: TensorProgram, most: int) -> TensorProgram:
    """y = a + b + c + d   ->   t = a + b + c; y = t + d          (most = 3)

    Parts of a map's expression (a concatenation, a sum of many) become tensors of its shape. A single
    reduction that reads too many stays as it is.
    """

    def parts(t: Tensor) -> list[Tensor]:
        taken_out: list[Tensor] = []
        while len(t.reads) > most and not t.is_reduction:
            largest = _largest_part(t, most)
            if largest is None:
                break
            part, t = _take_out(t, largest)
            taken_out.append(part)
        return [*taken_out, t]

    return replace_tensors(program, parts)


def _largest_part(t: Tensor, most: int) -> Expr | None:
    """The expression on elements that reads the most tensors, but no more than `most`, and at least two."""
    assert t.body is not None
    counted = [(len({x.buffer for x in loads(e)}), e) for e in _values(t.body)]
    fitting = [(n, e) for n, e in counted if 1 < n <= most]
    return max(fitting, key=lambda x: x[0])[1] if fitting else None


def _values(e: Expr) -> Iterator[Expr]:
    """The expression and its subexpressions, without indices and conditions of loads."""
    stack: list[Node] = [e]
    while stack:
        n = stack.pop()
        if isinstance(n, Expr):
            yield n
        if not isinstance(n, Load):
            stack.extend(children(n))


def _take_out(t: Tensor, part: Expr) -> tuple[Tensor, Tensor]:
    """`part` as a tensor, and `t` reading it."""
    assert t.body is not None

    def element(*axes: Expr) -> Expr:
        return substitute(part, dict(zip(t.axes, axes, strict=True)))

    part_tensor = compute(f"{t.name}.part", t.shape, t.reads, element)
    here: tuple[Var, ...] = t.axes

    def rule(n: Node) -> Expr | None:
        return Load(part_tensor.buffer, here) if n is part else None

    body = rewrite_top_down(t.body, rule)
    used = {x.buffer for x in loads(body)}
    return part_tensor, replace(t, body=body, reads=(part_tensor, *(r for r in t.reads if r.buffer in used)))
