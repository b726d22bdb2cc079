"""A lowered kernel as text, but for the head that each language writes in its own way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..codegen.source import Dialect, Writer
from ..dtypes import DType
from ..ir.grid import Extents, find_grid
from ..ir.nodes import Buffer, Kernel, Var
from ..ir.rewrite import walk


@dataclass(frozen=True, slots=True)
class Shared:
    """An array of the workgroup: `parts` scalars or vectors of `lanes`."""

    name: str
    dtype: DType
    lanes: int
    parts: int


@dataclass(frozen=True, slots=True)
class Written:
    """`lines` are the body, indented. They use the names in `groups` and `threads`: of coordinates of the workgroup and
    of the invocation in it, by axis (0 to 2)."""

    lines: list[str]
    shared: tuple[Shared, ...]
    groups: Mapping[int, str]
    threads: Mapping[int, str]
    workgroup: Extents


def name_parameters(kernel: Kernel) -> dict[Buffer, str]:
    """b0, b1, ... in order."""
    return {b: f"b{i}" for i, b in enumerate(kernel.params)}


def name_scalars(kernel: Kernel) -> dict[Var, str]:
    """s0, s1, ... in order."""
    return {s: f"s{i}" for i, s in enumerate(kernel.scalars)}


def write_kernel(kernel: Kernel, dialect: Dialect, scalars: Mapping[Var, str]) -> Written:
    """Prints the body of `kernel`, whose parameters `dialect` names, and `scalars` those."""
    grid = find_grid(kernel)
    groups, threads = (
        {v: f"{prefix}_{axis}" for v, axis in zip(part, "xyz", strict=False)}
        for prefix, part in (("group", grid.blocks), ("thread", grid.threads))
    )
    writer = Writer(dialect, groups | threads | dict(scalars))
    placed = [(b, *writer.share(b, grid.body)) for b in grid.shared]
    lines = writer.write(grid.body)
    shared = tuple(Shared(name, b.dtype, local.lanes, local.parts) for b, name, local in placed)
    used = {n for n in walk(kernel.body) if isinstance(n, Var)}
    by_axis = [{i: name for i, (v, name) in enumerate(part.items()) if v in used} for part in (groups, threads)]
    return Written(lines, shared, by_axis[0], by_axis[1], grid.workgroup_size)


def outputs_of(kernel: Kernel) -> tuple[Buffer, ...]:
    """The parameters that are written."""
    return kernel.params[len(kernel.params) - kernel.outputs :]
