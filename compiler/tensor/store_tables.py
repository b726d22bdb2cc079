"""Tables of what elements share along one axis, as places and weights of a resized one, where a launch costs little."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ..dtypes import F32, I32
from ..ir.facts import Facts
from ..ir.nodes import Const, Expr, Load, Unary, Var
from ..ir.reduction import Reduce
from ..ir.rewrite import free_vars, loads, rewrite_top_down, substitute, walk
from .program import TensorProgram
from .replace_tensors import replace_tensors
from .tensor import Tensor, compute

LEAST_USES = 4
"""Elements of a result that share one of a table."""

ROUNDING = ("floor", "ceil", "round")
"""Functions of floats whose results are whole numbers."""


def store_tables(program: TensorProgram) -> TensorProgram:
    """y[i, j] = x[int32(floor(c[i])), j] * (c[i] - floor(c[i]))
    ->  a[i] = int32(floor(c[i])); b[i] = c[i] - floor(c[i]); y[i, j] = x[a[i], j] * b[i]

    where a run computes c. Along an inner axis each line of the result would compute them again: compilers move out of
    loops what their variables do not decide, but store no lines.
    """
    return replace_tensors(program, _with_tables)


def _with_tables(t: Tensor) -> list[Tensor]:
    """`t` alone, or tables, and `t`, which reads them, last."""
    if t.body is None or isinstance(t.body, Reduce) or t.is_constant or not _rounds(t.body):
        return [t]
    tables: dict[Expr, Tensor] = {}

    def rule(n: object) -> Expr | None:
        if not isinstance(n, Expr) or isinstance(n, Load | Var | Const) or n.dtype not in (F32, I32) or not _rounds(n):
            return None
        along = [a for a in t.axes if a in free_vars(n)]
        if len(along) != 1 or prod(t.extents) < LEAST_USES * along[0].extent:
            return None
        if n not in tables:
            tables[n] = _table(f"{t.name}.table{len(tables)}", t, n, along[0])
        return Load(tables[n].buffer, (along[0],))

    body = rewrite_top_down(t.body, rule)
    if not tables:
        return [t]
    used = {x.buffer for x in loads(body)}
    reads = tuple(r for r in (*t.reads, *tables.values()) if r.buffer in used)
    return [*tables.values(), replace(t, body=body, reads=reads)]


def _rounds(e: Expr) -> bool:
    """Whether a number that a run computes becomes a whole one: the place of an element."""
    return any(isinstance(n, Unary) and n.op in ROUNDING and _is_loaded(n) for n in walk(e))


def _is_loaded(e: Expr) -> bool:
    return any(not x.buffer.constant for x in loads(e))


def _table(name: str, t: Tensor, e: Expr, along: Var) -> Tensor:
    size = along.extent if along.length is None else along.length
    table = compute(name, (size,), t.reads, lambda i: substitute(e, {along: i}))
    values = Facts({}).index(e) if e.dtype == I32 else None
    return replace(table, buffer=replace(table.buffer, values=values))
