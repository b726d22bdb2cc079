"""Tensors and groups as text, for `--dump`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..ir.layout import Layout
from ..ir.nodes import Expr, Origin, Var
from ..ir.printer import print_expression, print_node
from ..ir.sizes import shown
from .fuse import Group
from .program import TensorProgram
from .tensor import Tensor


def print_tensors(program: TensorProgram) -> str:
    """A line for each input, constant, tensor and output of a region."""
    lines = [f"  input {_typed(t)}" for _, t in program.inputs]
    constants = dict.fromkeys(r for t in program.tensors for r in t.reads if r.data is not None)
    lines += [f"  constant {_typed(t)}" for t in constants]
    for t in program.tensors:
        assert t.body is not None
        marks = [m for m, holds in (("prepared", t.prepared), ("stored", t in program.stored)) if holds]
        comment = _comment(program.origins.get(t), marks)
        lines += _equation("  ", _element(t, t.axes), t.body, comment)
    lines += [f"  output {name} = {t.name}" for name, t in program.outputs]
    return "\n".join(("tensors", *lines)) + "\n"


def print_groups(
    groups: Sequence[Group],
    prepared: Sequence[Group],
    layouts: Mapping[Tensor, Layout],
    aliases: Mapping[Tensor, Tensor],
) -> str:
    """A line for each kernel: the elements of its output, and the reduction in it; then what shares memory."""
    lines = [line for g in prepared for line in _group(g, {}, ["prepared"])]
    lines += [line for g in groups for line in _group(g, layouts, [])]
    lines += [f"  {t.name} in the memory of {owner.name}" for t, owner in aliases.items()]
    return "\n".join(("groups", *lines)) + "\n"


def _group(g: Group, layouts: Mapping[Tensor, Layout], marks: list[str]) -> Iterator[str]:
    layout, marks = layouts.get(g.output), [*marks]
    if layout is not None and not layout.is_row_major:
        marks += [f"order={list(layout.order)}"] if layout.order != tuple(range(g.output.rank)) else []
        marks += [f"pad={list(layout.pad)}"] if any(map(any, layout.pad)) else []
        marks += [f"align={list(layout.align)}"] if any(n > 1 for n in layout.align) else []
    yield from _equation("  ", _element(g.output, g.axes), g.body, _comment(g.origin, marks))
    if g.reduce is not None and g.anchor is not None:
        yield from _equation("    ", f"where {g.anchor.name}", g.reduce)


def _equation(pad: str, name: str, value: Expr, comment: str = "") -> Iterator[str]:
    """The lines of an equation: the parts of a long value stand below it, further in."""
    text, parts = print_expression(value)
    yield f"{pad}{name} = {text}{comment}"
    yield from (f"{pad}  where {part}" for part in parts)


def _typed(t: Tensor) -> str:
    return f"{t.name}: {t.dtype}{shown(t.shape)}"


def _element(t: Tensor, axes: Sequence[Var]) -> str:
    """A tensor with the names and the extents of its indices."""
    indices = ", ".join(_index(v) for v in axes)
    return f"{t.name}[{indices}]: {t.dtype}"


def _index(v: Var) -> str:
    length: Expr | None = v.length
    return f"{v.name}<{v.extent}" if length is None else f"{v.name}<{print_node(length)} of {v.extent}"


def _comment(origin: Origin | None, marks: Sequence[str]) -> str:
    nodes = ", ".join(origin.nodes) if origin is not None else ""
    return "".join(f"  {m}" for m in marks) + (f"  # {nodes}" if nodes else "")
